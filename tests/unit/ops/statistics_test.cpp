// unit/ops/statistics_test.cpp: norms, averages, differences, counts, sums without NaN.
// SPDX-License-Identifier: MIT
#include "atled/ops/statistics.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using vec4 = tensor<f64, 4>;
using matrix = tensor<f64, 2, 3>;

static_assert(types_of<tensor<f32, 4, 3>, tensor<i32, 3>>([](auto x, auto y) {
                return std::tuple{norm(x, ord<1>, 0),      norm(y, ord_inf), ptp(y),
                                  average(x, y, 1),        count_nonzero(x), diff(y),
                                  nanmean(x, 0, keepdims), nansum(y),        isclose(x, 1)};
              }).view() == "f32[3] f32[] i32[] f32[4] i32[] i32[2] f32[1,3] i32[] boolean[4,3]");
}  // namespace

TEST_CASE("norm: other orders, with gradient 0 at 0", "[ops]") {
  const vec3 x{3, -4, 0};
  CHECK(values_of([](auto y) { return norm(y, ord<1>); }, x) == numbers{7});
  CHECK(values_of([](auto y) { return norm(y, ord<2>); }, x) == numbers{5});
  CHECK(values_of([](auto y) { return norm(y, ord_inf); }, x) == numbers{4});
  CHECK(gradient_of([](auto y) { return norm(y, ord<1>); }, x) == numbers{1, -1, 0});
  CHECK(gradient_of([](auto y) { return norm(y, ord_inf); }, x) == numbers{0, -1, 0});
  CHECK(gradient_of([](auto y) { return norm(y, ord_inf); }, vec2{2, -2}) == numbers{0.5, -0.5});
  for (const auto& slope : {gradient_of([](auto y) { return norm(y, ord<1>); }, vec2{}),
                            gradient_of([](auto y) { return norm(y, ord<2>); }, vec2{}),
                            gradient_of([](auto y) { return norm(y, ord_inf); }, vec2{})}) {
    CHECK(slope == numbers{0, 0});
  }
}

TEST_CASE("ptp, average, count_nonzero: along an axis", "[ops]") {
  const matrix m{1, 5, 3, 0, -2, 0};
  CHECK(values_of([](auto x) { return ptp(x, 1); }, m) == numbers{4, 2});
  CHECK(gradient_of([](auto x) { return ptp(x, 1); }, m) == numbers{-1, 1, 0, 0.5, -1, 0.5});
  CHECK(values_of([](auto x) { return count_nonzero(x, 0); }, m) == numbers{1, 2, 1});
  const auto f = [](auto x, auto w) { return average(x, w, 1); };
  CHECK(values_of(f, m, vec3{1, 1, 2}) == numbers{3, -0.5});
  CHECK(gradient_of(f, m, vec3{1, 1, 2}) == numbers{0.25, 0.25, 0.5, 0.25, 0.25, 0.5});
}

TEST_CASE("diff: repeated, and of booleans", "[ops]") {
  CHECK(values_of([](auto x) { return diff(x); }, vec4{1, 4, 9, 16}) == numbers{3, 5, 7});
  CHECK(values_of([](auto x) { return diff(x, 2); }, vec4{1, 4, 9, 16}) == numbers{2, 2});
  CHECK(values_of([](auto x) { return diff(x > 4); }, vec4{1, 4, 9, 16}) == numbers{0, 1, 0});
  CHECK(values_of([](auto x) { return diff(x, 1, 0); }, matrix{1, 2, 3, 4, 6, 8}) ==
        numbers{3, 4, 5});
}

TEST_CASE("nansum and its kin: NaN is left out, of values and of gradients", "[ops]") {
  const vec4 x{1, not_a_number, 3, -2};
  CHECK(values_of([](auto y) { return nansum(y); }, x) == numbers{2});
  CHECK(values_of([](auto y) { return nanprod(y); }, x) == numbers{-6});
  CHECK(values_of([](auto y) { return nanmax(y); }, x) == numbers{3});
  CHECK(values_of([](auto y) { return nanmin(y); }, x) == numbers{-2});
  CHECK(are_near(values_of([](auto y) { return nanmean(y); }, x), {2 / 3.0}));
  CHECK(gradient_of([](auto y) { return nansum(y * y); }, x) == numbers{2, 0, 6, -4});
  CHECK(gradient_of([](auto y) { return nanmax(y); }, x) == numbers{0, 0, 1, 0});
  CHECK(are_near(values_of([](auto y) { return nanmean(y); }, vec2{not_a_number, not_a_number}),
                 {not_a_number}));
}

TEST_CASE("isclose: relative and absolute, infinities equal, NaN never", "[ops]") {
  const vec4 x{1, infinity, not_a_number, 0};
  CHECK(values_of([](auto u, auto v) { return isclose(u, v); }, x,
                  vec4{1 + 1e-6, infinity, not_a_number, 1e-9}) == numbers{1, 1, 0, 1});
  CHECK(values_of([](auto u, auto v) { return isclose(u, v); }, x, vec4{1.1, -infinity, 0, 1e-7}) ==
        numbers{0, 0, 0, 0});
  CHECK(values_of([](auto u) { return allclose(u, u); }, vec2{1, 2}) == numbers{1});
}
