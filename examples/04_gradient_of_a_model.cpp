// 04_gradient_of_a_model.cpp: a model is a struct; so is its gradient. A network learns exclusive
// or with AdamW. Next: gpt/, where the model is a language model.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace atled;

template <class K>
struct network {
  nn::linear<K, f32, 2, 8> hidden;
  nn::linear<K, f32, 8, 1> out;
  ATLED_TREE(network, hidden, out)

  constexpr expr operator()(const expr& x) const { return out(tanh(hidden(x))); }
};

constexpr auto loss = [](auto model, auto x, auto y) { return mean(square(model(x) - y)); };

constexpr optim::adamw optimizer{.learning_rate = 0.05, .decay = 0};
constexpr auto train_step = [](auto model, auto moments, auto x, auto y) {
  const auto gradient = grad(loss)(model, x, y);
  return optimizer.update(model, gradient, moments);
};

int main() {
  const tensor<f32, 4, 2> x{{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  const tensor<f32, 4, 1> y{0, 1, 1, 0};
  auto model = nn::init<network>(random::key(0));
  std::printf("%s\n", nn::summary(model).c_str());

  // The gradient is a network too. One of its numbers beside the slope between two points:
  constexpr auto loss_of = jit(loss);
  const auto gradient = grad(loss)(model, x, y);
  const f32 step_size = 1.0F / 64;
  auto above = model;
  auto below = model;
  above.hidden.weight(1, 3) += step_size;
  below.hidden.weight(1, 3) -= step_size;
  const f32 slope = (loss_of(above, x, y) - loss_of(below, x, y)) / (2 * step_size);
  const f32 found = gradient.hidden.weight(1, 3);
  std::printf("by hidden.weight(1, 3): gradient %.5f, slope %.5f\n", static_cast<double>(found),
              static_cast<double>(slope));
  bool is_right = std::abs(found - slope) < 1e-3F;

  constexpr auto step = jit(train_step);
  auto moments = optimizer.init(model);
  for (int i = 0; i < 300; ++i) {
    std::tie(model, moments) = step(std::move(model), std::move(moments), x, y);
  }
  constexpr auto predict = jit([](auto network, auto input) { return network(input); });
  const auto answers = predict(model, x);
  for (int i = 0; i < 4; ++i) {
    std::printf("%g xor %g: %.3f\n", static_cast<double>(x(i, 0)), static_cast<double>(x(i, 1)),
                static_cast<double>(answers(i, 0)));
    is_right &= std::abs(answers(i, 0) - y(i, 0)) < 0.05F;
  }
  return is_right ? 0 : 1;
}
