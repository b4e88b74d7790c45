// SPDX-License-Identifier: MIT
#include "atled/optim/accumulate.hpp"

#include "atled/ops/reduce.hpp"
#include "atled/optim/clip.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include <tuple>

namespace {

using namespace atled;

constexpr auto add = [](auto total, auto gradient, auto tokens) {
  return optim::accumulate(total, gradient, tokens);
};
constexpr auto mean_of = [](auto total) { return optim::mean_gradient(total); };

}  // namespace

TEST_CASE("accumulate: each token counts once, whatever batch it is in", "[optim]") {
  const auto summed_loss = [](auto w, auto x) { return sum(w * x); };
  const auto of_three = jit(grad(summed_loss))(2.0F, tensor<f32, 3>{1, 2, 3});
  const auto of_one = jit(grad(summed_loss))(2.0F, tensor<f32, 1>{10});
  auto total = std::pair(tensor<f32>(0), tensor<i32>(0));
  total = jit(add)(total, of_three, 3);
  total = jit(add)(total, of_one, 1);
  CHECK(jit(mean_of)(total).item() == 4);  // not 6, the mean of the means 2 and 10
}

TEST_CASE("accumulate: tokens are counted as integers", "[optim]") {
  auto total = std::pair(tensor<f32>(0), tensor<i32>(16'777'216));
  total = jit(add)(total, tensor<f32>(0), 1);
  CHECK(total.second.item() == 16'777'217);
}

TEST_CASE("accumulate: clipping acts once, on the accumulated gradient", "[optim]") {
  auto total = std::pair(tensor<f32>(0), tensor<i32>(0));
  total = jit(add)(total, tensor<f32>(6), 1);
  total = jit(add)(total, tensor<f32>(0), 1);
  const auto clip = jit([](auto x) { return optim::clip_by_global_norm(x, 1.0); });
  CHECK(clip(jit(mean_of)(total)).item() == 1);  // not 0.5
}
