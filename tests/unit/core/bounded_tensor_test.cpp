// Tests of core/bounded_tensor.hpp and core/bounded.hpp: sizes up to a bound.
// SPDX-License-Identifier: MIT
#include "atled/core/bounded_tensor.hpp"

#include "atled/core/print_tensor.hpp"

#include "support/catch.hpp"
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace atled;

namespace {

using bag = tensor<f32, upto<8>>;
using prompt = tensor<f32, upto<4, "tokens">, 3>;
using board = tensor<i32, 2, upto<3>>;

text written(const tensor_type& type) {
  text out;
  return out << type;
}

template <class Fn>
std::string message_of(const Fn& fn) {
  try {
    fn();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

static_assert(is_bounded(upto<8>) && !is_bounded(8) && bound_of(upto<8>) == 8 && bound_of(9) == 9);
static_assert(upto<8> != upto<9> && upto<8> != upto<8, "tokens">);
static_assert(upto<8, "a"> != upto<8, "b"> && upto<8, "a"> != upto<8, "a_">);
static_assert(bag::bounds == shape::of({8}) && prompt::bytes == 48);
static_assert(bag::is_contiguous && prompt::is_contiguous && !board::is_contiguous);
static_assert(!tensor_like<bag> && bounded_tensor_like<bag>);

constexpr std::int64_t size_of_three = bag{1, 2, 3}.size();
static_assert(size_of_three == 3);

}  // namespace

TEST_CASE("a bounded size is written with its bound and name", "[core]") {
  CHECK(written(bag::type).view() == "f32[upto<8>]");
  CHECK(written(prompt::type).view() == "f32[upto<4,tokens>,3]");
  CHECK(written({dtype::i32, shape::of({upto<7, "a_9z">})}).view() == "i32[upto<7,a_9z>]");
}

TEST_CASE("a bounded tensor has the size of its values", "[core]") {
  bag x{1, 2, 3};
  CHECK(x.size() == 3);
  CHECK(x.size(-1) == 3);
  CHECK(std::vector<f32>(x.begin(), x.end()) == std::vector<f32>{1, 2, 3});
  CHECK(to_string(x) == "[1. 2. 3.]");
  CHECK(bag().size() == 0);
  CHECK(to_string(bag()) == "[]");
  CHECK(bag::of_size(2).size() == 2);

  const std::vector<f32> rows{1, 2, 3, 4, 5, 6};
  const prompt y(rows);
  CHECK(y.sizes() == shape::of({2, 3}));
  CHECK(y(1, 2) == 6);
  CHECK(array_equal(y, prompt{{1, 2, 3}, {4, 5, 6}}));
  CHECK_FALSE(array_equal(y, prompt{{1, 2, 3}}));
}

TEST_CASE("a bounded tensor grows by zeros and keeps what was there", "[core][sanitize]") {
  bag x{1, 2, 3};
  x.resize(1);
  x.resize(4);
  CHECK(to_string(x) == "[1. 0. 0. 0.]");
  x.push_back(7);
  CHECK(x.size() == 5);
  CHECK(x(4) == 7);

  prompt y;
  y.push_back(tensor<f32, 3>{1, 2, 3});
  y.push_back(tensor<f32, 3>{4, 5, 6});
  CHECK(to_string(y) == "[[1. 2. 3.]\n [4. 5. 6.]]");

  board z{{1, 2}, {3, 4}};
  CHECK(to_string(z) == "[[1 2]\n [3 4]]");
  z.resize(1);
  z.resize(3);
  CHECK(to_string(z) == "[[1 0 0]\n [3 0 0]]");
}

TEST_CASE("a bounded tensor is made from a fixed one and made one again", "[core]") {
  const board x = tensor<i32, 2, 2>{1, 2, 3, 4};
  CHECK(x.sizes() == shape::of({2, 2}));
  CHECK(array_equal(x.to_fixed<2, 2>(), tensor<i32, 2, 2>{1, 2, 3, 4}));
  CHECK(message_of([&] { static_cast<void>(x.to_fixed<2, 3>()); }) ==
        "tensor i32[2,upto<3>] of sizes [2,2] as [2,3]: the sizes must be equal");
}

TEST_CASE("a bounded tensor is a value", "[core][sanitize]") {
  using wide = tensor<f64, upto<64>, 8>;  // on the heap
  wide x = wide::of_size(3);
  x(2, 7) = 5;
  wide y = x;
  y(2, 7) = 6;
  CHECK(x(2, 7) == 5);
  wide z = std::move(x);
  CHECK(z.size(0) == 3);
  CHECK(x.is_empty());
  const wide shared = z.share();
  z(0, 0) = 1;
  CHECK(shared(0, 0) == 0);
  CHECK(shared.size(0) == 3);
  swap(y, z);
  CHECK(z(2, 7) == 6);
}

TEST_CASE("a size beyond its bound and an index beyond the size are sentences", "[core]") {
  bag x{1, 2, 3};
  CHECK(message_of([&] { x.resize(9); }) ==
        "tensor f32[upto<8>]: size 9 on axis 0: it must be from 0 to 8");
  CHECK(message_of([&] { static_cast<void>(x(3)); }) ==
        "tensor f32[upto<8>] of sizes [3]: index 3 on axis 0: it must be >= 0 and < 3");
  x.resize(8);
  CHECK(message_of([&] { x.push_back(1); }) ==
        "tensor f32[upto<8>]: size 9 on axis 0: it must be from 0 to 8");
  const std::vector<f32> values(4);
  CHECK(message_of([&] { static_cast<void>(prompt(values)); }) ==
        "tensor f32[upto<4,tokens>,3]: 4 values: they must be rows of 3, at most 4");
}

TEST_CASE("a number as large as the token of a size is written as a number", "[core]") {
  const auto written = [](std::int64_t size) {
    text out;
    out << size_text{size};
    return std::string(out.view());
  };
  CHECK(written(upto<1024, "tokens">) == "upto<1024,tokens>");
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(written(largest) == "9223372036854775807");
  // What a file claims: every pattern of bits is a token or a number.
  for (std::uint64_t bits = 1, i = 0; i < 4096; ++i) {
    bits = bits * 6364136223846793005U + 1442695040888963407U;
    const auto size = static_cast<std::int64_t>((bits >> 1) | (std::uint64_t{1} << 62));
    const std::string out = written(size);
    CHECK((out == std::to_string(size) || out.starts_with("upto<")));
  }
}
