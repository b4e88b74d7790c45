// SPDX-License-Identifier: MIT
#include "atled/optim/clip.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <utility>

namespace {

using namespace atled;

constexpr auto clipped = [](auto tree) { return optim::clip_by_global_norm(tree, 1.0); };
std::pair<tensor<f32, 1>, tensor<f32, 1>> both(f32 x, f32 y) {
  return {tensor<f32, 1>(x), tensor<f32, 1>(y)};
}

}  // namespace

TEST_CASE("clip_by_global_norm: all leaves are scaled alike", "[optim]") {
  const auto [x, y] = jit(clipped)(both(3, 4));
  CHECK(x(0) == Approx(0.6));
  CHECK(y(0) == Approx(0.8));
}

TEST_CASE("clip_by_global_norm: what is short enough stays to the bit", "[optim]") {
  const auto [x, y] = jit(clipped)(both(0.3F, -0.4F));
  CHECK(x(0) == 0.3F);
  CHECK(y(0) == -0.4F);
}

TEST_CASE("clip_by_global_norm: zeros stay zeros", "[optim]") {
  const auto [x, y] = jit(clipped)(both(0, 0));
  CHECK(x(0) == 0);
  CHECK(y(0) == 0);
}

TEST_CASE("global_norm: the root of the sum of all squares", "[optim]") {
  const auto norm = jit([](auto tree) { return optim::global_norm(tree); });
  CHECK(norm(std::pair(tensor<f32, 2, 2>{1, 2, 2, 4}, tensor<f32>(12))).item() == 13);
}
