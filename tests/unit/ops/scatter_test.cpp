// unit/ops/scatter_test.cpp: elements written by index, segments and counts.
// SPDX-License-Identifier: MIT
#include "atled/ops/scatter.hpp"

#include "atled/ops/indexing.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec4 = tensor<f64, 4>;
using ids3 = tensor<i32, 3>;
using ids4 = tensor<i32, 4>;

static_assert(types_of<tensor<f32, 5, 2>, tensor<i32, 3>, tensor<u8, 4>>([](auto x, auto i,
                                                                            auto n) {
                return std::tuple{scatter(x, i, 1),        scatter_max(x, i, 1),
                                  scatter_min(x, i, 1, 0), segment_max(x(range(3)), i, 7),
                                  bincount(n, 9),          bincount(i, 9, x(range(3), 0))};
              }).view() == "f32[5,2] f32[5,2] f32[5,2] f32[7,2] i32[9] f32[9]");
}  // namespace

TEST_CASE("scatter: of several updates at one place the last stays", "[ops]") {
  const vec4 x{1, 2, 3, 4};
  const auto f = [](auto y, auto i, auto u) { return scatter(y, i, u); };
  CHECK(values_of(f, x, ids3{1, 3, 1}, vec3{10, 20, 30}) == numbers{1, 30, 3, 20});
  CHECK(values_of(f, x, ids3{-1, 4, 0}, vec3{10, 20, 30}) == numbers{30, 2, 3, 4});
  const tensor<f64, 2, 2> m{1, 2, 3, 4};
  CHECK(values_of([](auto y, auto i, auto u) { return scatter(y, i, u, 1); }, m, tensor<i32, 1>{1},
                  tensor<f64, 2, 1>{8, 9}) == numbers{1, 8, 3, 9});
}

TEST_CASE("scatter_max, scatter_min: integers at their ends, and NaN", "[ops]") {
  constexpr i32 low = std::numeric_limits<i32>::min();
  constexpr i32 high = std::numeric_limits<i32>::max();
  const ids4 x{low, 0, high, 5};
  const auto least = [](auto y, auto i, auto u) { return scatter_min(y, i, u); };
  const auto most = [](auto y, auto i, auto u) { return scatter_max(y, i, u); };
  CHECK(values_of(least, x, ids3{0, 1, 2}, ids3{3, low, high}) == numbers{low, low, high, 5});
  CHECK(values_of(most, x, ids3{0, 1, 2}, ids3{3, low, high}) == numbers{3, 0, high, 5});
  CHECK(are_near(values_of(most, vec3{not_a_number, 0, 1}, ids3{0, 1, 2}, vec3{1, not_a_number, 0}),
                 {not_a_number, not_a_number, 1}));
}

TEST_CASE("scatter_max: the compiled kernel and its gradient agree with the graph", "[ops]") {
  constexpr auto f = [](auto y, auto i, auto u) { return scatter_max(y, i, u, 0); };
  const tensor<f64, 3, 2> x{0, 5, 1, 1, 2, 2};
  const ids4 i{2, 0, 2, 7};
  const tensor<f64, 4, 2> u{3, 0, 0, 6, 3, 9, 9, 9};
  const auto y = jit(f)(x, i, u);
  CHECK(numbers(y.begin(), y.end()) == values_of(f, x, i, u));
  CHECK(values_of(f, x, i, u) == numbers{0, 6, 1, 1, 3, 9});
  CHECK(gradient_of(f, x, i, u) == numbers{0.5, 0, 1, 1, 0, 0});
  CHECK(gradient_of([f](auto w, auto z, auto j) { return f(z, j, w); }, u, x, i) ==
        numbers{0.5, 0, 0.5, 1, 0.5, 1, 0, 0});
}

TEST_CASE("segment_max, segment_min: what no row has is infinite", "[ops]") {
  const vec4 x{3, 1, 2, 7};
  const ids4 i{0, 2, 0, 5};
  CHECK(values_of([](auto y, auto j) { return segment_max(y, j, 3); }, x, i) ==
        numbers{3, -infinity, 1});
  CHECK(values_of([](auto y, auto j) { return segment_min(y, j, 3); }, x, i) ==
        numbers{2, infinity, 1});
  CHECK(gradient_of([](auto y, auto j) { return segment_max(y, j, 3); }, x, i) ==
        numbers{1, 1, 0, 0});
}

TEST_CASE("bincount: counts, or sums of weights", "[ops]") {
  const ids4 x{1, 3, 1, 9};
  CHECK(values_of([](auto y) { return bincount(y, 4); }, x) == numbers{0, 2, 0, 1});
  CHECK(values_of([](auto y, auto w) { return bincount(y, 4, w); }, x, vec4{0.5, 1, 2, 4}) ==
        numbers{0, 2.5, 0, 1});
}
