// unit/ops/number_test.cpp: signs, whole parts and kinds of numbers.
// SPDX-License-Identifier: MIT
#include "atled/ops/number.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec5 = tensor<f64, 5>;

static_assert(types_of<tensor<i32, 3>, tensor<bf16, 3>>([](auto x, auto y) {
                return std::tuple{trunc(x), signbit(y), copysign(x, y), nan_to_num(x), fmax(x, y)};
              }).view() == "i32[3] boolean[3] bf16[3] i32[3] bf16[3]");
}  // namespace

TEST_CASE("trunc: towards 0, and flat", "[ops]") {
  const vec5 x{-1.5, 1.5, -0.5, 2, -3};
  CHECK(values_of([](auto y) { return trunc(y); }, x) == numbers{-1, 1, 0, 2, -3});
  CHECK(values_of([](auto y) { return fix(y); }, x) == numbers{-1, 1, 0, 2, -3});
  CHECK(gradient_of([](auto y) { return trunc(y); }, x) == numbers{0, 0, 0, 0, 0});
  CHECK(values_of([](auto y) { return rint(y); }, vec3{0.5, 1.5, 2.5}) == numbers{0, 2, 2});
}

TEST_CASE("copysign: the sign of zeros counts", "[ops]") {
  const vec5 x{1, -2, 3, 4, -5};
  const vec5 y{-0.0, 0, -1, infinity, -infinity};
  CHECK(values_of([](auto u, auto v) { return copysign(u, v); }, x, y) ==
        numbers{-1, 2, -3, 4, -5});
  CHECK(values_of([](auto v) { return signbit(v); }, y) == numbers{1, 0, 1, 0, 1});
  CHECK(gradient_of([](auto u, auto v) { return copysign(u, v); }, x, y) ==
        numbers{-1, -1, -1, 1, 1});
}

TEST_CASE("heaviside: the middle is chosen at 0 only", "[ops]") {
  const auto f = [](auto x) { return heaviside(x, 0.5); };
  CHECK(are_near(values_of(f, vec5{-2, -0.0, 0, 3, not_a_number}), {0, 0.5, 0.5, 1, not_a_number}));
  CHECK(gradient_of([](auto h, auto x) { return heaviside(x, h); }, vec3{5, 5, 5},
                    vec3{-1, 0, 1}) == numbers{0, 1, 0});
}

TEST_CASE("nan_to_num: every result is a number, with the gradient of the finite ones", "[ops]") {
  const vec5 x{not_a_number, infinity, -infinity, 2, 0};
  const auto f = [](auto y) { return nan_to_num(y); };
  constexpr double most = std::numeric_limits<double>::max();
  CHECK(values_of(f, x) == numbers{0, most, -most, 2, 0});
  CHECK(gradient_of(f, x) == numbers{0, 0, 0, 1, 1});
  CHECK(values_of([](auto y) { return isposinf(y); }, x) == numbers{0, 1, 0, 0, 0});
  CHECK(values_of([](auto y) { return isneginf(y); }, x) == numbers{0, 0, 1, 0, 0});
}

TEST_CASE("fmax, fmin: a number wins against NaN", "[ops]") {
  const vec3 x{not_a_number, 1, not_a_number};
  const vec3 y{2, not_a_number, not_a_number};
  CHECK(are_near(values_of([](auto u, auto v) { return fmax(u, v) + fmin(u, v); }, x, y),
                 {4, 2, not_a_number}));
  CHECK(values_of([](auto u) { return fmax(u, 2.0); }, vec3{1, 2, 3}) == numbers{2, 2, 3});
}
