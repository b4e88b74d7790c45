// SPDX-License-Identifier: MIT
#include "atled/nn/loss.hpp"

#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <memory>

namespace {

using namespace atled;

constexpr auto loss = [](auto logits, auto labels) { return nn::cross_entropy(logits, labels); };

}  // namespace

TEST_CASE("cross_entropy: exact in f32 for logits far apart", "[nn]") {
  const auto [value, gradient] =
      jit(value_and_grad(loss))(tensor<f32, 1, 3>{1000, 0, -1000}, tensor<i32, 1>{1});
  CHECK(value.item() == 1000);
  CHECK(same_bits(gradient, tensor<f32, 1, 3>{1, -1, 0}));
}

TEST_CASE("cross_entropy: equal logits give log V, and softmax less one hot", "[nn]") {
  const auto [value, gradient] =
      jit(value_and_grad(loss))(tensor<f64, 2, 4>{}, tensor<i32, 2>{3, 0});
  CHECK(value.item() == Approx(std::log(4.0)).epsilon(1e-14));
  CHECK(near(gradient,
             tensor<f64, 2, 4>{{0.125, 0.125, 0.125, -0.375}, {-0.375, 0.125, 0.125, 0.125}}));
}

TEST_CASE("cross_entropy: rows of weight 0 do not count", "[nn]") {
  const auto weighted = jit([](auto logits, auto labels, auto weights) {
    return nn::cross_entropy(logits, labels, weights);
  });
  const tensor<f64, 3, 2> logits{{1, 2}, {50, -3}, {0, 0}};
  const auto all = weighted(logits, tensor<i32, 3>{0, 1, 1}, tensor<f64, 3>{1, 0, 1});
  const auto rest = jit(loss)(tensor<f64, 2, 2>{{1, 2}, {0, 0}}, tensor<i32, 2>{0, 1});
  CHECK(all.item() == Approx(rest.item()).epsilon(1e-14));
}

TEST_CASE("cross_entropy: labels of another shape are a sentence", "[nn]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const expr logits(b, b.parameter({dtype::f32, shape::of({8, 16})}));
  const expr labels(b, b.parameter({dtype::i32, shape::of({4})}));
  CHECK(nn::cross_entropy(logits, labels, {"t.cpp", 2, ""}).is_poison());
  CHECK(b.problem.view() ==
        "t.cpp:2: cross_entropy: logits f32[8,16] and labels i32[4]: labels must be i32[8]");
}

TEST_CASE("mean_squared_error: the mean of the squared differences", "[nn]") {
  const auto error = jit([](auto x, auto y) { return nn::mean_squared_error(x, y); });
  CHECK(error(tensor<f32, 2>{1, 5}, tensor<f32, 2>{2, 2}).item() == 5);
}
