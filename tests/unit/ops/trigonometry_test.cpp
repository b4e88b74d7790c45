// unit/ops/trigonometry_test.cpp: circular and hyperbolic functions and their inverses.
// SPDX-License-Identifier: MIT
#include "atled/ops/trigonometry.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec5 = tensor<f64, 5>;

static_assert(types_of<tensor<i32, 3>, tensor<bf16, 2>>([](auto x, auto y) {
                return std::tuple{tan(x), asin(x), sinc(y), asinh(y), deg2rad(x)};
              }).view() == "f32[3] f32[3] bf16[2] bf16[2] f32[3]");

numbers map(double (*f)(double), const numbers& x) {
  numbers out;
  for (const double at : x) out.push_back(f(at));
  return out;
}
template <class T>
numbers list(const T& x) {
  return numbers(x.begin(), x.end());
}
}  // namespace

TEST_CASE("trigonometry: values are those of the standard library", "[ops]") {
  const vec5 small{-0.999, -1e-9, 0.3, 0.75, 1};
  const auto check = [&](auto f, double (*exact)(double), const vec5& x) {
    CHECK(are_near(values_of(f, x), map(exact, list(x)), 1e-15));
  };
  check([](auto x) { return tan(x); }, std::tan, small);
  check([](auto x) { return asin(x); }, std::asin, small);
  check([](auto x) { return acos(x); }, std::acos, small);
  check([](auto x) { return atan(x); }, std::atan, vec5{-1e300, -1, 1e-300, 2, infinity});
  check([](auto x) { return atanh(x); }, std::atanh, small);
  const vec5 wide{-1e200, -3, 1e-10, 0.5, infinity};
  check([](auto x) { return asinh(x); }, std::asinh, wide);
  check([](auto x) { return acosh(x); }, std::acosh, vec5{1, 1 + 1e-12, 2, 1e9, 1e200});
  CHECK(are_near(values_of([](auto x) { return asin(x) + acosh(x - 1); }, vec3{2, 1.5, -3}),
                 {not_a_number, not_a_number, not_a_number}));
}

TEST_CASE("trigonometry: derivatives are right where functions bend", "[ops]") {
  CHECK(are_near(gradient_of([](auto x) { return asin(x); }, vec3{1, 0.6, -1}),
                 {infinity, 1.25, infinity}, 1e-15));
  CHECK(are_near(gradient_of([](auto x) { return acos(x); }, vec3{1, 0.6, -1}),
                 {-infinity, -1.25, -infinity}, 1e-15));
  CHECK(are_near(gradient_of([](auto x) { return atan(x); }, vec3{0, 1, 1e200}), {1, 0.5, 0}));
  CHECK(are_near(gradient_of([](auto x) { return asinh(x); }, vec5{0, -0.75, 0.75, 1e10, -1e200}),
                 {1, 0.8, 0.8, 1e-10, 1e-200}));
  CHECK(are_near(second_of([](auto x) { return asinh(x); }, vec3{0, 0.75, -0.75}),
                 {0, -0.384, 0.384}, 1e-14));
  CHECK(are_near(gradient_of([](auto x) { return acosh(x); }, vec3{1, 1.25, 1e100}),
                 {infinity, 4 / 3.0, 1e-100}));
  CHECK(are_near(gradient_of([](auto x) { return atanh(x); }, vec3{0, 0.6, 1}),
                 {1, 1.5625, infinity}));
  CHECK(are_near(gradient_of([](auto x) { return tan(x); }, vec3{0, 0.7853981633974483, 1}),
                 {1, 2, 3.425518820814759}, 1e-14));
}

TEST_CASE("trigonometry: a branch that was not taken adds nothing", "[ops]") {
  CHECK(gradient_of([](auto x) { return where(x < 1, asin(x), 2.0); }, vec3{1, 2, 0}) ==
        numbers{0, 0, 1});
  CHECK(gradient_of([](auto x) { return where(x > 1, acosh(x), 2.0); }, vec3{1, 0, -1}) ==
        numbers{0, 0, 0});
}

TEST_CASE("sinc: it is smooth at 0", "[ops]") {
  const auto f = [](auto x) { return sinc(x); };
  const vec3 x{0, 0.5, 1e-8};
  const auto y = jit(f)(x);
  CHECK(y(0) == 1);
  CHECK(are_near({y(1)}, {0.6366197723675814}));
  CHECK(are_near({y(2)}, {1}));
  CHECK(are_near(gradient_of(f, x), {0, -1.2732395447351628, -3.289868133696453e-8}));
  CHECK(are_near({second_of(f, x)[0]}, {-3.289868133696453}));
}
