// SPDX-License-Identifier: MIT
#include "atled/random/key.hpp"

#include "support/catch.hpp"
#include <memory>

namespace {

using namespace atled;

constexpr auto root = random::key(7);

}  // namespace

TEST_CASE("key: a seed that fits into 32 bits, signed or not, is the lower word", "[random]") {
  STATIC_REQUIRE(random::key(0)(0) == 0);
  STATIC_REQUIRE(random::key(42)(1) == 42);
  STATIC_REQUIRE(random::key(4294967295)(0) == 0);
  STATIC_REQUIRE(random::key(-1)(0) == 0);
  STATIC_REQUIRE(random::key(-1)(1) == 4294967295U);
  STATIC_REQUIRE(random::key(4294967296)(0) == 1);
}

TEST_CASE("split: fewer keys are the first of more", "[random]") {
  constexpr auto two = random::split<2>(root);
  constexpr auto five = random::split<5>(root);
  CHECK(array_equal(two[0], five[0]));
  CHECK(array_equal(two[1], five[1]));
  CHECK_FALSE(array_equal(two[0], two[1]));
}

TEST_CASE("fold_in: other numbers give other keys", "[random]") {
  CHECK_FALSE(array_equal(random::fold_in(root, 0), random::fold_in(root, 1)));
  CHECK(array_equal(random::fold_in(root, tensor<i32>(3)), random::fold_in(root, 3)));
}

TEST_CASE("key: what is not a key is a sentence", "[random]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const expr words(b, b.parameter({dtype::u32, shape::of({3})}));
  CHECK(random::split(words, 2, {"a.cpp", 5, ""}).is_poison());
  CHECK(b.problem.view() ==
        "a.cpp:5: split: key u32[3]: it must be u32[2]; make it with key, split or fold_in");
}
