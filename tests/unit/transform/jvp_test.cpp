// unit/transform/jvp_test.cpp: jvp and linearize: values, directions, trees, sentences.
// SPDX-License-Identifier: MIT
#include "atled/transform/jvp.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec2 = tensor<f64, 2>;
}  // namespace

TEST_CASE("jvp: the value and the derivative along a direction", "[transform]") {
  const auto f = [](auto x, auto y) { return sqrt(x) + y * y; };
  const auto along = [f](auto x, auto y, auto dx, auto dy) {
    return jvp(f, std::tuple(x, y), std::tuple(dx, dy));
  };
  CHECK(all_values(along, scalar{4}, scalar{3}, scalar{1}, scalar{1}) ==
        std::vector<numbers>{{11}, {6.25}});
  // a direction that is exactly 0 meets an infinite derivative
  CHECK(all_values(along, scalar{0}, scalar{3}, scalar{0}, scalar{1}) ==
        std::vector<numbers>{{9}, {6}});
}

TEST_CASE("jvp: one argument stands without a tuple, integers have no tangent", "[transform]") {
  const auto f = [](auto x) { return x * x; };
  CHECK(all_values([f](auto x, auto dx) { return jvp(f, x, dx); }, vec2{1, 2}, vec2{1, 10}) ==
        std::vector<numbers>{{1, 4}, {2, 40}});
  const auto g = [](auto x, auto n) { return std::pair(x * convert(n, dtype::f64), n); };
  const auto along = [g](auto x, auto n) { return jvp(g, std::tuple(x, n), std::tuple(x, n)); };
  CHECK(all_values(along, scalar{2}, tensor<i32>{3}) == std::vector<numbers>{{6}, {3}, {6}, {0}});
}

TEST_CASE("jvp: all nestings of a second derivative agree", "[transform]") {
  const auto f = [](auto x) { return sin(x * x); };
  const auto forward = [f](auto x) { return jvp(f, x, x * 0.0 + 1.0).second; };
  const auto ff = [forward](auto x) { return jvp(forward, x, x * 0.0 + 1.0).second; };
  const auto fr = [f](auto x) { return jvp(grad(f), x, x * 0.0 + 1.0).second; };
  const double expected = -2.285279327495307;
  CHECK(are_near(values_of(ff, scalar{1}), {expected}));
  CHECK(are_near(values_of(fr, scalar{1}), {expected}));
  CHECK(are_near(values_of(grad(forward), scalar{1}), {expected}));
  CHECK(are_near(values_of(grad(grad(f)), scalar{1}), {expected}));
}

TEST_CASE("jvp: a Hessian times a vector, forward over reverse and reverse over forward",
          "[transform]") {
  const auto f = [](auto x, auto y) { return x * x * y * y * y; };
  const auto fr = [f](auto x, auto y) {
    return jvp(grad(f, argnums<0, 1>), std::tuple(x, y), std::tuple(x * 0.0 + 1.0, x * 0.0 - 1.0))
        .second;
  };
  CHECK(all_values(fr, scalar{2}, scalar{3}) == std::vector<numbers>{{-54}, {36}});
  const auto slope = [f](auto x, auto y) {
    return jvp(f, std::tuple(x, y), std::tuple(x * 0.0 + 1.0, x * 0.0 - 1.0)).second;
  };
  const auto rf = [slope](auto x, auto y) {
    return grad([slope](auto u, auto v) { return slope(u, v); }, argnums<0, 1>)(x, y);
  };
  CHECK(all_values(rf, scalar{2}, scalar{3}) == std::vector<numbers>{{-54}, {36}});
}

TEST_CASE("linearize: the derivative is a function that may be used often", "[transform]") {
  const auto g = [](auto x) {
    const auto [value, derivative] = linearize([](auto v) { return v * v; }, x);
    return std::tuple(value, derivative(x), derivative(x * 10.0));
  };
  CHECK(all_values(g, scalar{3}) == std::vector<numbers>{{9}, {18}, {180}});
}

TEST_CASE("jvp: a tangent of another type is refused", "[transform]") {
  const auto b = oracle::make_builder();
  const expr x(*b, b->parameter({dtype::f64, shape::of({3})}));
  const expr dx(*b, b->parameter({dtype::f64, shape::of({4})}));
  const auto [value, tangent] = jvp([](auto v) { return v * 2.0; }, x, dx);
  CHECK(!value.is_poison());
  CHECK(b->problem.view() ==
        "jvp: leaf 0 is f64[3], its tangent f64[4]: their types must be equal");
}
