// unit/ops/special_test.cpp: erfc, erf_inv, lgamma, polygamma, logit, xlog1py.
// SPDX-License-Identifier: MIT
#include "atled/ops/special.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec4 = tensor<f64, 4>;

static_assert(types_of<tensor<i32, 3>, tensor<bf16, 2>>([](auto x, auto y) {
                return std::tuple{erfc(x), digamma(x), erf_inv(y), betaln(y, 1), xlog1py(x, 2)};
              }).view() == "f32[3] f32[3] bf16[2] bf16[2] f32[3]");
}  // namespace

TEST_CASE("erf_inv: it undoes erf, and is infinite at the ends", "[ops]") {
  const tensor<f64, 7> x{-3, -1.5, -0.25, 0, 0.1, 1, 2};
  const auto there = jit([](auto y) { return erf_inv(erf(y)); })(x);
  for (int i = 0; i < 7; ++i) CHECK(std::abs(there(i) - x(i)) <= 1e-11 * std::abs(x(i)));
  const auto y = jit([](auto v) { return erf_inv(v); })(tensor<f32, 4>{-1, 1, 2, -3});
  const auto wide = jit([](auto v) { return astype<f64>(v); })(y);
  CHECK(are_near({wide(0), wide(1), wide(2), wide(3)},
                 {-infinity, infinity, not_a_number, not_a_number}));
}

TEST_CASE("erf_inv: its gradient is sqrt(pi) / 2 exp(erf_inv(x)^2)", "[ops]") {
  const auto f = [](auto x) { return erf_inv(x); };
  const vec4 x{0, 0.5, -0.9, 1 - 0x1p-30};
  const numbers y = values_of(f, x);
  numbers slopes;
  for (const double at : y) slopes.push_back(0.8862269254527580 * std::exp(at * at));
  CHECK(are_near(gradient_of(f, x), slopes, 1e-13));
  CHECK(gradient_of([](auto v) { return where(v < 1, erf_inv(v), 0.0); }, vec3{1, 1, 0}) ==
        numbers{0, 0, 0.88622692545275801});
}

TEST_CASE("erfc: its tail has all digits, and so has its derivative", "[ops]") {
  const auto f = [](auto x) { return erfc(x); };
  CHECK(are_near(values_of(f, vec3{10, 0, -10}), {2.0884875837625446e-45, 1, 2}));
  CHECK(are_near(gradient_of(f, vec3{10, 0, 1}), {-1.1283791670955126 * std::exp(-100.0),
                                                  -1.1283791670955126, -0.41510749742059466}));
}

TEST_CASE("lgamma: its derivatives are the polygamma functions", "[ops]") {
  const auto f = [](auto x) { return lgamma(x); };
  const vec3 x{1, 0.5, 4};
  CHECK(are_near(values_of(f, x), {0, 0.5723649429247001, 1.791759469228055}));
  CHECK(are_near(gradient_of(f, x), {-0.5772156649015329, -1.9635100260214235, 1.2561176684318005},
                 1e-14));
  CHECK(are_near(second_of(f, x), {1.6449340668482264, 4.934802200544679, 0.2838229557371153},
                 1e-14));
  CHECK(are_near(second_of([](auto y) { return digamma(y); }, vec3{1, 1, 1}),
                 {-2.404113806319188, -2.404113806319188, -2.404113806319188}, 1e-14));
  CHECK(are_near(values_of([](auto y) { return polygamma(3, y); }, vec3{1, 1, 1}),
                 {6.493939402266829, 6.493939402266829, 6.493939402266829}, 1e-14));
  CHECK(sentence_of<tensor<f32, 3>>([](auto y) { return polygamma(-1, y); }) ==
        "polygamma: -1: the order must be 0 or more");
}

TEST_CASE("logit: it has all digits at 0, at 1/2 and at 1", "[ops]") {
  const auto f = [](auto x) { return logit(x); };
  CHECK(are_near(values_of(f, vec4{1e-300, 0.5 + 0x1p-40, 0.9, 0}),
                 {-690.7755278982137, 0x1p-38, 2.1972245773362196, -infinity}));
  CHECK(are_near(values_of(f, vec3{1, 0.5, 0.25}), {infinity, 0, -1.0986122886681098}));
  CHECK(are_near(gradient_of(f, vec4{0.5, 0.1, 0.9, 0.3}),
                 {4, 11.111111111111111, 11.111111111111111, 4.761904761904762}));
}

TEST_CASE("xlog1py: 0 where x is 0, with the true slopes", "[ops]") {
  const auto f = [](auto x, auto y) { return xlog1py(x, y); };
  CHECK(are_near(values_of(f, vec3{0, 2, 0}, vec3{-1, 1e-20, 3}), {0, 2e-20, 0}));
  CHECK(are_near(
      gradient_of([](auto y, auto x) { return xlog1py(x, y); }, vec3{-1, 1, 3}, vec3{0, 2, 0}),
      {0, 1, 0}));
}
