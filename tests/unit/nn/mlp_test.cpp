// SPDX-License-Identifier: MIT
#include "atled/nn/mlp.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

TEST_CASE("mlp: up, gelu, down", "[nn]") {
  using namespace atled;
  const nn::mlp<values, f64, 1, 2> layer{{{1, -2}, {0.5, 0}}, {{3, 5}, tensor<f64, 1>(0.25)}};
  const auto run = jit([](auto net, auto x) { return net(x); });
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  const double expected = 3 * gelu(1.5) + 5 * gelu(-2) + 0.25;
  CHECK(near(run(layer, tensor<f64, 1, 1>{1}), tensor<f64, 1, 1>{expected}, {1e-13, 0}));
}

TEST_CASE("mlp: four times as wide inside, unless said otherwise", "[nn]") {
  using namespace atled;
  STATIC_REQUIRE(decltype(nn::mlp<values, f32, 8>{}.up.weight)::type ==
                 tensor_type{dtype::f32, shape::of({8, 32})});
}
