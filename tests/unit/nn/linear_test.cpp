// SPDX-License-Identifier: MIT
#include "atled/nn/linear.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <memory>

namespace {

using namespace atled;

constexpr auto apply = [](auto net, auto x) { return net(x); };

}  // namespace

TEST_CASE("linear: x weight + bias along the last axis", "[nn]") {
  const nn::linear<values, f32, 3, 2> layer{{{1, 2}, {3, 4}, {5, 6}}, {10, 20}};
  const tensor<f32, 2, 3> x{{1, 0, 2}, {0, -1, 1}};
  CHECK(same_bits(jit(apply)(layer, x), tensor<f32, 2, 2>{{21, 34}, {12, 22}}));
}

TEST_CASE("linear: a mistake is about the line of the call", "[nn]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const auto layer = ir::make_parameters<nn::linear<values, f32, 3, 2>>(b);
  const expr x(b, b.parameter({dtype::f32, shape::of({4, 5})}));
  CHECK(layer(x, {"net.cpp", 8, ""}).is_poison());
  CHECK(b.problem.view() ==
        "net.cpp:8: linear: lhs f32[4,5] and rhs f32[3,2]: lhs axis 1 (5) must equal rhs axis 0 "
        "(3)");
}
