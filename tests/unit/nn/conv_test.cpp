// SPDX-License-Identifier: MIT
#include "atled/nn/conv.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

namespace {

using namespace atled;

constexpr auto seen = [](auto layer, auto x) { return layer(x); };

}  // namespace

TEST_CASE("conv2d: the window times the weight, and the bias of the channel", "[nn]") {
  nn::conv2d<values, f32, 1, 2, 2> layer;
  layer.weight = tensor<f32, 2, 1, 2, 2>{1, 2, 3, 4, 0, 0, 0, 1};
  layer.bias = tensor<f32, 2>{10, -1};
  const tensor<f32, 1, 1, 2, 3> x{1, 0, 2, -1, 1, 3};
  const auto out = jit(seen)(layer, x);
  CHECK(same_bits(out, tensor<f32, 1, 2, 1, 2>{12, 29, 0, 2}));
  CHECK(nn::init<decltype(layer)>(random::key(0)).bias(1) == 0);
}
