// 05_per_example_gradients.cpp: vmap makes a function of one example a function of many. Here each
// example of a batch has a gradient of its own, which is clipped before the mean is taken, so that
// no single one decides where the model goes (the core of differentially private training).
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>
#include <utility>

using namespace atled;

template <class K>
struct network {
  nn::linear<K, f32, 2, 16> hidden;
  nn::linear<K, f32, 16, 1> out;
  ATLED_TREE(network, hidden, out)

  constexpr expr operator()(const expr& x) const { return out(tanh(hidden(x))); }
};

// Of one example: x f32[2], y f32[].
constexpr auto loss = [](auto model, auto x, auto y) { return sum(square(model(x) - y)); };

constexpr auto squared_norm = [](auto tree) {
  expr total;
  for_each_leaf(
      [&](const expr& leaf) {
        total = total.is_traced() ? total + sum(square(leaf)) : sum(square(leaf));
      },
      tree);
  return total;
};

// The gradient of one example, no longer than 1, and how long it was.
constexpr auto clipped_gradient = [](auto model, auto x, auto y) {
  const auto gradient = grad(loss)(model, x, y);
  const auto length = sqrt(squared_norm(gradient));
  const auto factor = 1.0F / max(length, 1.0F);
  return std::pair(tree_map([&](auto g) { return factor * g; }, gradient), length);
};

// One step with the mean of the clipped gradients: in_axes says that the lanes share the model.
constexpr auto train_step = [](auto model, auto x, auto y) {
  const auto [gradients, lengths] = vmap(clipped_gradient, in_axes<none, 0, 0>)(model, x, y);
  const auto next =
      tree_map([](auto p, auto g) { return p - 0.5F * mean(g, 0); }, model, gradients);
  return std::pair(next, lengths);
};

int main() {
  constexpr int B = 8;
  tensor<f32, B, 2> x;
  tensor<f32, B> y;
  for (int i = 0; i < B; ++i) {
    x(i, 0) = static_cast<f32>(i % 4) / 2 - 0.75F;
    x(i, 1) = static_cast<f32>(i / 4) * 2 - 1;
    y(i) = x(i, 0) * x(i, 1);
  }
  y(5) = 20;  // a wrong label

  auto model = nn::init<network>(random::key(0));
  // One call gives all gradients: a network whose leaves have an axis of B in front.
  const network<stacked<B>> all = vmap(grad(loss), in_axes<none, 0, 0>)(model, x, y);
  std::printf("example 5 pulls at hidden.bias(0) with %.3f\n",
              static_cast<double>(all.hidden.bias(5, 0)));

  constexpr auto step = jit(train_step);
  tensor<f32, B> lengths;
  for (int i = 0; i < 200; ++i) std::tie(model, lengths) = step(std::move(model), x, y);
  std::printf("lengths of the gradients after training:");
  f32 largest_of_others = 0;
  for (int i = 0; i < B; ++i) {
    std::printf(" %.2f", static_cast<double>(lengths(i)));
    if (i != 5) largest_of_others = std::fmax(largest_of_others, lengths(i));
  }
  std::puts("");
  return lengths(5) > 5 * largest_of_others ? 0 : 1;
}
