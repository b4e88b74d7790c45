// The bits themselves are compared with jax.random in tests/reference/random_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/random/distributions.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <memory>

namespace {

using namespace atled;

constexpr auto key = random::key(3);

template <class Tensor>
double mean_of(const Tensor& x) {
  double sum = 0;
  for (const auto value : x.span()) sum += atled::detail::to_element<f64>(value);
  return sum / static_cast<double>(x.size());
}
template <class Tensor>
double deviation_of(const Tensor& x) {
  const double centre = mean_of(x);
  double sum = 0;
  for (const auto value : x.span()) {
    const double distance = static_cast<double>(value) - centre;
    sum += distance * distance;
  }
  return std::sqrt(sum / static_cast<double>(x.size()));
}

}  // namespace

TEST_CASE("bits: fewer bits are the first of more", "[random]") {
  const auto two = random::bits<u32, 2>(key);
  const auto four = random::bits<u32, 4>(key);
  CHECK(two(0) == four(0));
  CHECK(two(1) == four(1));
}

TEST_CASE("uniform: the shape does not change the numbers", "[random]") {
  const auto flat = random::uniform<f32, 12>(key);
  const auto square = random::uniform<f32, 3, 4>(key);
  CHECK(same_bits(flat, square));
}

TEST_CASE("uniform: 0 <= u < 1 in each type, with mean 1/2", "[random]") {
  const auto check = [](const auto& u) {
    for (const auto value : u.span()) {
      const double x = atled::detail::to_element<f64>(value);
      REQUIRE((x >= 0 && x < 1));
    }
    CHECK(mean_of(u) == Approx(0.5).margin(0.02));
  };
  check(random::uniform<f32, 4096>(key));
  check(random::uniform<f64, 4096>(key));
  check(random::uniform<bf16, 4096>(key));
  check(random::uniform<f16, 4096>(key));
}

TEST_CASE("uniform: between bounds the lower is included, the upper never reached", "[random]") {
  const auto u = random::uniform<f32, 4096>(key, -3, 2);
  for (const f32 x : u.span()) REQUIRE((x >= -3 && x < 2));
  CHECK(mean_of(u) == Approx(-0.5).margin(0.1));
}

TEST_CASE("normal: mean 0 and deviation 1", "[random]") {
  const auto x = random::normal<f32, 64, 64>(key);
  CHECK(mean_of(x) == Approx(0).margin(0.06));
  CHECK(deviation_of(x) == Approx(1).margin(0.05));
}

TEST_CASE("truncated_normal: no number leaves its bounds", "[random]") {
  const auto draw = jit([](auto k) { return random::truncated_normal(k, -0.5, 2, {4096}); });
  const auto x = draw(key);
  for (const f32 value : x.span()) REQUIRE((value > -0.5F && value < 2));
}

TEST_CASE("randint: all numbers of the range and no other; its lower end if it is empty",
          "[random]") {
  const auto x = random::randint<i32, 1000>(key, -2, 3);
  int counts[5]{};
  for (const i32 value : x.span()) {
    REQUIRE((value >= -2 && value < 3));
    ++counts[value + 2];
  }
  for (const int count : counts) CHECK(count > 120);
  CHECK(array_equal(random::randint<i32, 3>(key, 4, 4), tensor<i32, 3>{4, 4, 4}));
}

TEST_CASE("bernoulli: true as often as its probability says", "[random]") {
  const auto x = random::bernoulli<4096>(key, 0.25F);
  int count = 0;
  for (const boolean value : x.span()) count += value ? 1 : 0;
  CHECK(count == Approx(1024).margin(150));
}

TEST_CASE("categorical: each index as often as softmax says", "[random]") {
  tensor<f32, 4096, 3> logits;
  for (std::int64_t i = 0; i < 4096; ++i) {
    logits(i, 0) = std::log(0.5F);
    logits(i, 1) = std::log(0.2F);
    logits(i, 2) = std::log(0.3F);
  }
  const auto drawn = random::categorical(key, logits);
  int counts[3]{};
  for (const i32 index : drawn.span()) ++counts[index];
  CHECK(counts[0] == Approx(2048).margin(170));
  CHECK(counts[1] == Approx(819).margin(130));
  CHECK(counts[2] == Approx(1229).margin(150));
}

TEST_CASE("random: a program that computes its bounds draws the same numbers", "[random]") {
  const auto draw = jit(
      [](auto k, auto low, auto high) { return random::uniform(k, {8}, dtype::f32, low, high); });
  CHECK(same_bits(draw(key, -3.0F, 2.0F), random::uniform<f32, 8>(key, -3, 2)));
}

TEST_CASE("random: element types that cannot be drawn are sentences", "[random]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const expr k(b, b.parameter(random::key_tensor::type));
  CHECK(random::uniform(k, {2}, dtype::i32, 0, 1, {"a.cpp", 3, ""}).is_poison());
  CHECK(b.problem.view() == "a.cpp:3: uniform: i32[]: it gives f32, f64, f16 or bf16");
}
