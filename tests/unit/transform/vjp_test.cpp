// unit/transform/vjp_test.cpp: vjp and linear_transpose: cotangents, trees, sentences.
// SPDX-License-Identifier: MIT
#include "atled/transform/vjp.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec3 = tensor<f64, 3>;
}  // namespace

TEST_CASE("vjp: the pullback gives a cotangent for each argument", "[transform]") {
  const auto f = [](auto x, auto y, auto ct) {
    const auto [value, pullback] = vjp([](auto u, auto v) { return u * v * v; }, x, y);
    return std::pair(value, pullback(ct));
  };
  CHECK(all_values(f, vec3{1, 2, 3}, vec3{1, 10, 100}, vec3{1, 1, 0}) ==
        std::vector<numbers>{{1, 200, 30000}, {1, 100, 0}, {2, 40, 0}});
}

TEST_CASE("vjp: a result that is a tree takes a cotangent of its structure", "[transform]") {
  const auto f = [](auto x) {
    const auto [value, pullback] = vjp([](auto u) { return std::pair(u * u, sum(u)); }, x);
    return pullback(std::pair(value.first * 0.0 + 1.0, value.second * 0.0 + 5.0));
  };
  CHECK(values_of(f, vec3{1, 2, 3}) == numbers{7, 9, 11});
}

TEST_CASE("vjp: the rows of a Jacobian, one for each element", "[transform]") {
  // (x, y) -> (x y, x^2, y) at (2, 3)
  const auto f = [](auto x, auto y) { return std::tuple(x * y, x * x, y * 1.0); };
  const auto row = [f](auto x, auto y, auto a, auto b, auto c) {
    return vjp(f, x, y).second(std::tuple(a, b, c));
  };
  const scalar x{2};
  const scalar y{3};
  CHECK(all_values(row, x, y, scalar{1}, scalar{0}, scalar{0}) == std::vector<numbers>{{3}, {2}});
  CHECK(all_values(row, x, y, scalar{0}, scalar{1}, scalar{0}) == std::vector<numbers>{{4}, {0}});
  CHECK(all_values(row, x, y, scalar{0}, scalar{0}, scalar{1}) == std::vector<numbers>{{0}, {1}});
}

TEST_CASE("vjp: an integer argument has cotangent zero", "[transform]") {
  const auto f = [](auto x, auto n) {
    return vjp([](auto u, auto k) { return u * convert(k, dtype::f64); }, x, n).second(x);
  };
  CHECK(all_values(f, scalar{2}, tensor<i32>{3}) == std::vector<numbers>{{6}, {0}});
}

TEST_CASE("linear_transpose: the adjoint of a linear function", "[transform]") {
  const auto f = [](auto x, auto ct) {
    return linear_transpose([](auto u) { return sum(u * 3.0); }, x)(ct);
  };
  CHECK(values_of(f, vec3{7, 7, 7}, scalar{2}) == numbers{6, 6, 6});
}

TEST_CASE("vjp: a cotangent of another type is refused", "[transform]") {
  const auto b = oracle::make_builder();
  const expr x(*b, b->parameter({dtype::f64, shape::of({3})}));
  const expr ct(*b, b->parameter({dtype::f64, {}}));
  const auto [d_x] = vjp([](auto v) { return v * 2.0; }, x).second(ct);
  CHECK(d_x.is_poison());
  CHECK(b->problem.view() ==
        "vjp: leaf 0 is f64[3], its cotangent f64[]: their types must be equal");
}
