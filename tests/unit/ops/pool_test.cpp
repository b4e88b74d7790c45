// unit/ops/pool_test.cpp: pools: ties, and what is ill-formed. Numbers are compared in
// reference/conv_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/pool.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

TEST_CASE("max_pool: equal elements share evenly, beside one another and overlapping", "[ops]") {
  const tensor<f64, 1, 1, 6> x{1, 1, 1, 0, 2, 2};
  CHECK(are_near(gradient_of([](auto y) { return max_pool(y, {3}, {.strides = {3}}); }, x),
                 {1.0 / 3, 1.0 / 3, 1.0 / 3, 0, 0.5, 0.5}));
  CHECK(are_near(gradient_of([](auto y) { return max_pool(y, {3}, {.padding = same}); }, x),
                 {0.5 + 1.0 / 3, 0.5 + 1.0 / 3 + 0.5, 1.0 / 3 + 0.5, 0, 2, 1}));
  CHECK(values_of([](auto y) { return min_pool(y, {2}); }, x) == numbers{1, 1, 0, 0, 2});
  CHECK(values_of([](auto y) { return avg_pool(y, {2}, {.strides = {2}}); }, x) ==
        numbers{1, 0.5, 2});
}

TEST_CASE("pools: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tensor<f32, 1, 2, 8, 8>>([](auto x) { return max_pool(x, {2}); }) ==
        "max_pool: image f32[1,2,8,8] and window [2]: the window must have a size for each axis "
        "but batch and channels");
  CHECK(sentence_of<tensor<f32, 1, 2, 8, 8>>([](auto x) {
          return avg_pool(x, {9, 2});
        }) ==
        "avg_pool: image f32[1,2,8,8] and window [9,2]: the window must fit into the padded image");
}
