// SPDX-License-Identifier: MIT
#include "atled/optim/mask.hpp"

#include "support/catch.hpp"
#include <memory>

TEST_CASE("rank_at_least: matrices, but neither vectors nor scalars", "[optim]") {
  using namespace atled;
  const auto b = std::make_unique<ir::builder>();
  const auto leaf = [&](const shape& dims) { return expr(*b, b->parameter({dtype::f32, dims})); };
  constexpr optim::rank_at_least<2> matrices;
  CHECK_FALSE(matrices(leaf({})));
  CHECK_FALSE(matrices(leaf(shape::of({4}))));
  CHECK(matrices(leaf(shape::of({4, 2}))));
  CHECK(optim::every_leaf{}(leaf({})));
}
