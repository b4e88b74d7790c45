// SPDX-License-Identifier: MIT
#include "atled/nn/norm.hpp"

#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

namespace {

using namespace atled;

constexpr auto apply = [](auto net, auto x) { return net(x); };

}  // namespace

TEST_CASE("layer_norm: rows get mean 0 and deviation 1, then weight and bias", "[nn]") {
  const nn::layer_norm<values, f64, 4> layer{{1, 2, 1, 1}, {0, 0, 5, 0}};
  const auto y = jit(apply)(layer, tensor<f64, 2, 4>{{1, 2, 3, 4}, {7, 7, 7, 7}});
  const double unit = 1 / std::sqrt(1.25 + 1e-5);
  const tensor<f64, 2, 4> expected{{-1.5 * unit, -0.5 * unit * 2, 0.5 * unit + 5, 1.5 * unit},
                                   {0, 0, 5, 0}};
  CHECK(near(y, expected, {1e-14, 1e-14}));
}

TEST_CASE("layer_norm: its gradient has no part along the row's mean", "[nn]") {
  const nn::layer_norm<values, f64, 4> layer{{1, 1, 1, 1}, {0, 0, 0, 0}};
  const auto by_x =
      jit(grad([](auto net, auto x, auto seed) { return sum(net(x) * seed); }, argnums<1>));
  const auto d = by_x(layer, tensor<f64, 1, 4>{1, 2, 3, 5}, tensor<f64, 1, 4>{0.3, -1, 2, 0.7});
  CHECK(d(0, 0) + d(0, 1) + d(0, 2) + d(0, 3) == Approx(0).margin(1e-12));
}

TEST_CASE("layer_norm: weight and bias gradients are sums over rows", "[nn]") {
  const nn::layer_norm<values, f64, 2> layer{{1, 1}, {0, 0}};
  const auto gradient = jit(grad([](auto net, auto x) { return sum(net(x)); }));
  const auto d = gradient(layer, tensor<f64, 3, 2>{{0, 2}, {4, 2}, {-1, 1}});
  const double unit = 1 / std::sqrt(1 + 1e-5);
  CHECK(near(d.bias, tensor<f64, 2>{3, 3}, {1e-14, 0}));
  CHECK(near(d.weight, tensor<f64, 2>{-unit, unit}, {1e-14, 0}));
}

TEST_CASE("rms_norm: rows get a mean square of 1, then the weight", "[nn]") {
  const nn::rms_norm<values, f64, 2> layer{{1, 10}};
  const auto y = jit(apply)(layer, tensor<f64, 1, 2>{3, 4});
  const double unit = 1 / std::sqrt(12.5 + 1e-6);
  CHECK(near(y, tensor<f64, 1, 2>{3 * unit, 40 * unit}, {1e-14, 0}));
}
