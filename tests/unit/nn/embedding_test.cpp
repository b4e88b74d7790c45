// SPDX-License-Identifier: MIT
#include "atled/nn/embedding.hpp"

#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

namespace {

using namespace atled;

using table = nn::embedding<values, f32, 4, 2>;
const table layer{{{0, 1}, {10, 11}, {20, 21}, {30, 31}}};

}  // namespace

TEST_CASE("embedding: the row of each symbol, zeros outside", "[nn]") {
  const auto look_up = jit([](auto net, auto indices) { return net(indices); });
  const auto rows = look_up(layer, tensor<i32, 2, 2>{{3, 0}, {1, 4}});
  CHECK(same_bits(rows, tensor<f32, 2, 2, 2>{30, 31, 0, 1, 10, 11, 0, 0}));
}

TEST_CASE("embedding: its gradient adds the rows of repeated symbols", "[nn]") {
  const auto gradient =
      jit(grad([](auto net, auto indices, auto scale) { return sum(net(indices) * scale); }));
  const auto d = gradient(layer, tensor<i32, 3>{2, 0, 2}, tensor<f32, 3, 2>{1, 2, 4, 8, 16, 32});
  CHECK(same_bits(d.weight, tensor<f32, 4, 2>{{4, 8}, {0, 0}, {17, 34}, {0, 0}}));
}

TEST_CASE("embedding: as a head it scores each symbol", "[nn]") {
  const auto score = jit([](auto net, auto x) { return net.as_head(x); });
  CHECK(same_bits(score(layer, tensor<f32, 1, 2>{2, 1}), tensor<f32, 1, 4>{1, 31, 61, 91}));
}

TEST_CASE("embedding: a weight used twice gets the sum of both gradients", "[nn]") {
  const auto gradient = jit(grad([](auto w, auto x) { return w * (w * x); }));
  CHECK(gradient(3.0F, 1.0F).item() == 6.0F);
}
