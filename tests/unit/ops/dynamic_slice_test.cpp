// unit/ops/dynamic_slice_test.cpp: windows whose start is computed, and clamped.
// SPDX-License-Identifier: MIT
#include "atled/ops/dynamic_slice.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec5 = tensor<f64, 5>;
using m = tensor<f32, 8, 16>;
using place = tensor<i32>;
static_assert(types_of<m, place>([](auto x, auto i) {
                return std::tuple{dynamic_slice(x, {i, 0}, {1, 4}),
                                  dynamic_slice_in_dim(x, i, 3, -1),
                                  dynamic_index_in_dim(x, i),
                                  dynamic_index_in_dim(x, i, 1, keepdims),
                                  dynamic_update_slice(x, dynamic_slice(x, {0, i}, {2, 2}), {i, i}),
                                  dynamic_update_slice_in_dim(x, dynamic_slice_in_dim(x, 0, 2), i)};
              }).view() == "f32[1,4] f32[8,3] f32[16] f32[8,1] f32[8,16] f32[8,16]");
}  // namespace

TEST_CASE("dynamic_slice: the start is clamped, the same backward", "[ops]") {
  const vec5 x{1, 2, 3, 4, 5};
  const auto f = [](auto y, auto i) { return dynamic_slice(y, {i}, {2}); };
  CHECK(values_of(f, x, place(4)) == numbers{4, 5});
  CHECK(gradient_of(f, x, place(4)) == numbers{0, 0, 0, 1, 1});
  CHECK(values_of(f, x, place(-7)) == numbers{1, 2});
  CHECK(values_of([](auto y, auto i) { return dynamic_index_in_dim(y, i); }, x, place(2)) ==
        numbers{3});
}

TEST_CASE("dynamic_update_slice: what is overwritten gets no gradient", "[ops]") {
  const vec5 x{1, 2, 3, 4, 5};
  const vec5 w{1, 2, 3, 4, 5};
  const tensor<f64, 2> u{8, 9};
  const place i(4);
  const auto f = [](auto y, auto v, auto j, auto c) { return dynamic_update_slice(y, v, {j}) * c; };
  const vec5 ones{1, 1, 1, 1, 1};
  CHECK(values_of(f, x, u, i, ones) == numbers{1, 2, 3, 8, 9});
  CHECK(gradient_of(f, x, u, i, w) == numbers{1, 2, 3, 0, 0});
  CHECK(gradient_of([&](auto v, auto y, auto j, auto c) { return f(y, v, j, c); }, u, x, i, w) ==
        numbers{4, 5});
}

TEST_CASE("dynamic_slice: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<m, place>([](auto x, auto i) {
          return dynamic_slice(x, {i}, {1, 4});
        }) == "dynamic_slice: f32[8,16] with 1 starts and a window [1,4]: one of each for an axis");
  CHECK(sentence_of<m, place>([](auto x, auto i) {
          return dynamic_slice(x, {i, 0}, {9, 4});
        }) == "dynamic_slice: f32[8,16] with a window [9,4]: axis 0 (8) must hold 9");
  CHECK(sentence_of<m>([](auto x) {
          return dynamic_slice(x, {x, 0}, {1, 4});
        }) == "dynamic_slice: start f32[8,16]: it must be one integer");
}
