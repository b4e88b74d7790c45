// unit/ops/elementwise_test.cpp: functions of each element.
// SPDX-License-Identifier: MIT
#include "atled/ops/elementwise.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec5 = tensor<f64, 5>;

static_assert(types_of<tensor<i32, 3>>([](auto x) { return exp(x); }).view() == "f32[3]");
static_assert(types_of<tensor<i32, 3>>([](auto x) {
                return std::tuple{floor(x),      abs(x),        square(x),  power(x, 2),
                                  power(x, 2.0), reciprocal(x), isfinite(x)};
              }).view() == "i32[3] i32[3] i32[3] i32[3] f32[3] f32[3] boolean[3]");
static_assert(types_of<tensor<bf16, 3>, tensor<f32, 2, 1>>([](auto x, auto y) {
                return std::tuple{maximum(x, y), where(x > 0, y, 1.5), clip(x, 0, 1), hypot(x, y)};
              }).view() == "f32[2,3] f32[2,3] bf16[3] f32[2,3]");
static_assert(types_of<tensor<boolean, 3>>([](auto x) {
                return std::tuple{where(x, 1, 0), where(x, 1.0, 0), where(x, true, false)};
              }).view() == "i32[3] f32[3] boolean[3]");
static_assert(types_of<tensor<f32, 3>>([](auto x) {
                return std::tuple{astype<bf16>(x), convert(x, dtype::i32), astype<boolean>(x)};
              }).view() == "bf16[3] i32[3] boolean[3]");
}  // namespace

TEST_CASE("where: the branch that was not taken gets exactly 0", "[ops]") {
  const vec3 x{-1, 0, 2};
  const auto f = [](auto y) { return where(y > 0, log(y), 0); };
  CHECK(gradient_of(f, x) == numbers{0, 0, 0.5});
  CHECK(second_of(f, x) == numbers{0, 0, -0.25});

  const auto g = [](auto y) { return where(y > 0, 1 / y, 0); };
  CHECK(gradient_of(g, x) == numbers{0, 0, -0.25});
  CHECK(second_of(g, x) == numbers{0, 0, 0.25});
}

TEST_CASE("where: a condition that is no boolean is compared with 0", "[ops]") {
  CHECK(values_of([](auto x) { return where(x, 1, 2); }, vec3{0, -1, 3}) == numbers{2, 1, 1});
}

TEST_CASE("maximum: equal operands share the gradient, NaN stays", "[ops]") {
  const vec3 x{3.14, -1, 0};
  CHECK(gradient_of([](auto y) { return max(y, y); }, x) == numbers{1, 1, 1});
  CHECK(gradient_of([](auto y) { return max(y, 0); }, x) == numbers{1, 0, 0.5});
  CHECK(gradient_of([](auto y) { return max(y, 0) + min(y, 0); }, x) == numbers{1, 1, 1});
  const auto with_nan =
      values_of([](auto y) { return max(y, 1) + min(1, y); }, vec3{not_a_number, 1, 2});
  CHECK(are_near(with_nan, {not_a_number, 2, 3}));
}

TEST_CASE("clip: the derivative is 1 on the closed interval", "[ops]") {
  const vec5 x{-1, 0, 0.5, 1, 2};
  const auto f = [](auto y) { return clip(y, 0, 1); };
  CHECK(values_of(f, x) == numbers{0, 0, 0.5, 1, 1});
  CHECK(gradient_of(f, x) == numbers{0, 1, 1, 1, 0});
  CHECK(gradient_of([](auto y) { return min(max(y, 0), 1); }, x) == numbers{0, 0.5, 1, 0.5, 0});
  CHECK(values_of([](auto y) { return clip(y, 2, 1); }, vec3{0, 1.5, 3}) == numbers{1, 1, 1});
}

TEST_CASE("abs, floor, round, sign: flat or 0 at their kinks", "[ops]") {
  const vec5 x{-3, 0, 3, 0.5, 2.5};
  CHECK(gradient_of([](auto y) { return abs(y); }, x) == numbers{-1, 0, 1, 1, 1});
  CHECK(gradient_of([](auto y) { return floor(y) + round(y) + sign(y) + ceil(y); }, x) ==
        numbers{0, 0, 0, 0, 0});
  CHECK(values_of([](auto y) { return round(y); }, x) == numbers{-3, 0, 3, 0, 2});
  CHECK(gradient_of([](auto y) { return max(y, -y); }, x) == numbers{-1, 0, 1, 1, 1});
}

TEST_CASE("power: a whole exponent has the derivatives of its product", "[ops]") {
  const vec3 x{0, -3, 2};
  CHECK(gradient_of([](auto y) { return power(y, 2); }, x) == numbers{0, -6, 4});
  CHECK(second_of([](auto y) { return power(y, 2.0); }, x) == numbers{2, 2, 2});
  CHECK(values_of(gradient_function(
                      gradient_function(gradient_function([](auto y) { return pow(y, 3); }))),
                  x) == numbers{6, 6, 6});
  CHECK(values_of([](auto y) { return pow(y, 0); }, x) == numbers{1, 1, 1});
  CHECK(gradient_of([](auto y) { return pow(y, 0); }, x) == numbers{0, 0, 0});
  CHECK(gradient_of([](auto y) { return pow(y, 1); }, x) == numbers{1, 1, 1});
  CHECK(values_of([](auto y) { return pow(y, -1); }, x).at(0) == infinity);
  CHECK(gradient_of([](auto y) { return pow(y, -1); }, vec3{-2, 1, 0}) ==
        numbers{-0.25, -1, -infinity});
  CHECK(values_of([](auto y) { return power(y, 13); }, vec3{2, -1, 3}) ==
        numbers{8192, -1, 1594323});
}

TEST_CASE("hypot: neither overflows nor loses its gradient at the origin", "[ops]") {
  const vec5 x{3, 0, 3e200, 3e-200, infinity};
  const vec5 y{4, 0, 4e200, 4e-200, 1};
  const auto f = [](auto u, auto v) { return hypot(u, v); };
  CHECK(are_near(values_of(f, x, y), {5, 0, 5e200, 5e-200, infinity}));
  CHECK(are_near(
      gradient_of(f, tensor<f64, 4>{3, 0, 3e200, 3e-200}, tensor<f64, 4>{4, 0, 4e200, 4e-200}),
      {0.6, 0, 0.6, 0.6}));
}

TEST_CASE("logaddexp: safe for huge and for infinite operands", "[ops]") {
  const vec5 x{1000, 0, -infinity, -infinity, 2};
  const vec5 y{1000, 0, 0, -infinity, 1};
  const auto f = [](auto u, auto v) { return logaddexp(u, v); };
  const double log2 = std::log(2.0);
  CHECK(are_near(values_of(f, x, y),
                 {1000 + log2, log2, 0, -infinity, std::log(std::exp(2) + std::exp(1))}));
  CHECK(are_near(gradient_of(f, x, y), {0.5, 0.5, 0, 0, 1 / (1 + std::exp(-1))}));
  CHECK(are_near(second_of(f, x, y),
                 {0.25, 0.25, 0, 0, std::exp(-1) / std::pow(1 + std::exp(-1), 2)}));
}

TEST_CASE("xlogy: 0 where x is 0, with the true slopes", "[ops]") {
  const vec3 x{0, 0, 2};
  const vec3 y{0, 3, 4};
  const auto f = [](auto u, auto v) { return xlogy(u, v); };
  CHECK(are_near(values_of(f, x, y), {0, 0, 2 * std::log(4.0)}));
  CHECK(are_near(gradient_of(f, x, y), {-infinity, std::log(3.0), std::log(4.0)}));
  CHECK(are_near(gradient_of([](auto v, auto u) { return xlogy(u, v); }, y, x), {0, 0, 0.5}));
}

TEST_CASE("stop_gradient: x * stop_gradient(x) has the derivatives x and 0", "[ops]") {
  const auto f = [](auto x) { return x * stop_gradient(x); };
  CHECK(values_of(f, vec3{3, 0, 1}) == numbers{9, 0, 1});
  CHECK(gradient_of(f, vec3{3, 0, 1}) == numbers{3, 0, 1});
  CHECK(second_of(f, vec3{3, 0, 1}) == numbers{0, 0, 0});
}

TEST_CASE("isnan, isinf, isfinite: each value is one of three kinds", "[ops]") {
  const vec5 x{not_a_number, infinity, -infinity, 0, 1};
  CHECK(values_of([](auto y) { return isnan(y); }, x) == numbers{1, 0, 0, 0, 0});
  CHECK(values_of([](auto y) { return isinf(y); }, x) == numbers{0, 1, 1, 0, 0});
  CHECK(values_of([](auto y) { return is_finite(y); }, x) == numbers{0, 0, 0, 1, 1});
}

TEST_CASE("elementwise: the gradient is the central difference", "[ops]") {
  const vec3 x{0.3, 0.7, 1.2};
  const vec3 y{0.4, -0.2, 0.9};
  const auto check = [&](auto f) {
    CHECK(are_near(gradient_of(f, x, y), difference_of(f, x, y), 1e-8));
  };
  check([](auto u, auto) { return exp(u) + expm1(u) + log(u) + log1p(u) + tanh(u) + sigmoid(u); });
  check([](auto u, auto) { return sin(u) + cos(u) + sqrt(u) + rsqrt(u) + erf(u) + reciprocal(u); });
  check([](auto u, auto v) { return atan2(u, v) + hypot(u, v) + logaddexp(u, v) + power(u, v); });
  check([](auto u, auto v) { return xlogy(u, abs(v)) + u / v - square(u) * v; });
}

TEST_CASE("elementwise: the graph has no more nodes than it needs", "[ops]") {
  // Whole exponents are products; others are op::pow.
  CHECK(count_of<op::pow, tensor<f32, 3>>([](auto x) { return power(x, 5) + pow(x, -2.0); }) == 0);
  CHECK(count_of<op::mul, tensor<f32, 3>>([](auto x) { return power(x, 5); }) == 3);
  CHECK(count_of<op::pow, tensor<f32, 3>>([](auto x) { return power(x, 0.5); }) == 1);
}

TEST_CASE("elementwise: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tensor<f32, 3>, tensor<f32, 2>>([](auto x, auto y) { return maximum(x, y); }) ==
        "maximum: f32[3] and f32[2]: axis 0 (3) against 2: sizes "
        "must be equal or 1");
}
