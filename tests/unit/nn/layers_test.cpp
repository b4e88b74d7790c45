// SPDX-License-Identifier: MIT
#include "atled/nn/attention.hpp"
#include "atled/nn/dropout.hpp"
#include "atled/nn/lora.hpp"
#include "atled/nn/loss.hpp"
#include "atled/nn/mlp.hpp"
#include "atled/nn/norm.hpp"
#include "atled/nn/recurrent.hpp"
#include "atled/nn/rotary.hpp"
#include "atled/ops/indexing.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <tuple>

namespace {

using namespace atled;

constexpr std::int64_t B = 1, T = 5, H = 4, G = 2, D = 2;
constexpr nn::attention_options local{
    .is_causal = true, .window = 2, .soft_cap = 1.5, .scale = 0.8};

const auto q = random::normal<f64, B, T, H, D>(random::key(1));
const auto k = random::normal<f64, B, T, G, D>(random::key(2));
const auto v = random::normal<f64, B, T, G, D>(random::key(3));

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

constexpr auto attend = [](auto x, auto y, auto z) {
  return std::tuple(nn::attention(x, y, z, local), nn::rotary(x), grad([](auto a, auto b, auto c) {
                      return sum(nn::attention(a, b, c, local)(0, 1, 0));
                    })(x, y, z));
};

}  // namespace

TEST_CASE("attention: shared key heads, a window and a cap agree with the definition", "[nn]") {
  const auto [out, turned, gradient] = jit(attend)(q, k, v);
  tensor<f64, B, T, H, D> plain;
  for (std::int64_t h = 0; h < H; ++h) {
    const std::int64_t g = h * G / H;
    for (std::int64_t t = 0; t < T; ++t) {
      double total = 0;
      for (std::int64_t s = t < 2 ? 0 : t - 2; s <= t; ++s) {
        double score = 0;
        for (std::int64_t d = 0; d < D; ++d) score += q(0, t, h, d) * k(0, s, g, d);
        const double weight = std::exp(1.5 * std::tanh(score * 0.8 / 1.5));
        total += weight;
        for (std::int64_t d = 0; d < D; ++d) plain(0, t, h, d) += weight * v(0, s, g, d);
      }
      for (std::int64_t d = 0; d < D; ++d) plain(0, t, h, d) /= total;
    }
  }
  CHECK(near(out, plain));
  CHECK(gradient(0, 0, 0, 0) == 0);  // the second place does not read the first query
  CHECK(gradient(0, 1, 0, 0) != 0);
  for (std::int64_t t = 0; t < T; ++t) {  // of D = 2 the angle is the position
    const auto angle = static_cast<double>(t);
    const double x = q(0, t, 3, 0);
    const double y = q(0, t, 3, 1);
    CHECK(turned(0, t, 3, 0) == Approx(x * std::cos(angle) - y * std::sin(angle)));
    CHECK(turned(0, t, 3, 1) == Approx(y * std::cos(angle) + x * std::sin(angle)));
  }
}

namespace {

constexpr auto cells = [](auto gru, auto lstm, auto h, auto c, auto x) {
  return std::tuple(gru(h, x), lstm(std::pair(h, c), x));
};
template <std::int64_t N>
nn::linear<values, f64, 1, N> counting(double from) {
  nn::linear<values, f64, 1, N> out;
  for (std::int64_t i = 0; i < N; ++i) {
    out.weight(0, i) = from + 0.1 * static_cast<double>(i);
    out.bias(i) = 0.05 * static_cast<double>(i) - from;
  }
  return out;
}

}  // namespace

TEST_CASE("gru_cell, lstm_cell: one step by hand", "[nn]") {
  const nn::gru_cell<values, f64, 1, 1> gru{counting<3>(0.5), counting<3>(-0.3)};
  const nn::lstm_cell<values, f64, 1, 1> lstm{counting<4>(0.5), counting<4>(-0.3)};
  const double h = 0.7;
  const double c = -0.4;
  const double x = 1.3;
  const auto [next, pair] =
      jit(cells)(gru, lstm, tensor<f64, 1, 1>(h), tensor<f64, 1, 1>(c), tensor<f64, 1, 1>(x));
  const auto in = [&](int i) { return x * (0.5 + 0.1 * i) + 0.05 * i - 0.5; };
  const auto own = [&](int i) { return h * (-0.3 + 0.1 * i) + 0.05 * i + 0.3; };
  const double z = sigmoid_of(in(1) + own(1));
  const double n = std::tanh(in(2) + sigmoid_of(in(0) + own(0)) * own(2));
  CHECK(next(0, 0) == Approx((1 - z) * n + z * h).epsilon(1e-12));
  const auto gate = [&](int i) { return sigmoid_of(in(i) + own(i)); };
  const double memory = gate(1) * c + gate(0) * std::tanh(in(2) + own(2));
  CHECK(pair.second(0, 0) == Approx(memory).epsilon(1e-12));
  CHECK(pair.first(0, 0) == Approx(gate(3) * std::tanh(memory)).epsilon(1e-12));
}

namespace {

constexpr auto losses = [](auto logits, auto labels, auto x, auto y) {
  return std::tuple(
      nn::cross_entropy(logits, labels, nn::cross_entropy_options{.label_smoothing = 0.1}),
      nn::cross_entropy(logits, labels, nn::cross_entropy_options{.z_loss = 0.5}),
      nn::sigmoid_binary_cross_entropy(x, y), nn::huber_loss(x, y, 1.0),
      nn::kl_divergence(log_softmax(logits), softmax(logits * 2.0)));
};
using column_norm = nn::batch_norm<values, f64, 2>;
constexpr auto normalize = [](auto norm, auto kept, auto x) {
  const auto [y, next] = norm.train(x, kept);
  return std::tuple(y, next, norm(x, kept));
};
constexpr auto small_layers = [](auto gated, auto adapted, auto x, auto key) {
  const auto learned = grad([](auto layer, auto in) { return sum(layer(in)); })(adapted, x);
  return std::tuple(gated(x), adapted(x), adapted.merged()(x), learned,
                    nn::dropout(x(0, 0) + zeros(x, {1000}), key, 0.25));
};

}  // namespace

TEST_CASE("losses: smoothed, capped, binary, divergence and huber by hand", "[nn]") {
  const tensor<f64, 1, 3> logits{1, 2, 3};
  const auto [smooth, capped, binary, huber, divergence] = jit(losses)(
      logits, tensor<i32, 1>{2}, tensor<f64, 3>{0.5, -3, 800}, tensor<f64, 3>{1, 0.25, 1});
  const double total = std::log(std::exp(1) + std::exp(2) + std::exp(3));
  CHECK(smooth.item() == Approx(0.9 * (total - 3) + 0.1 * (total - 2)).epsilon(1e-12));
  CHECK(capped.item() == Approx(total - 3 + 0.5 * total * total).epsilon(1e-12));
  CHECK(binary(0) == Approx(-std::log(sigmoid_of(0.5))).epsilon(1e-12));
  CHECK(binary(1) == Approx(-0.25 * std::log(sigmoid_of(-3)) - 0.75 * std::log(sigmoid_of(3))));
  CHECK(binary(2) == 0);
  CHECK(huber(0) == 0.125);
  CHECK(huber(1) == 2.75);
  double expected = 0;
  const double twice = std::log(std::exp(2) + std::exp(4) + std::exp(6));
  for (int i = 1; i <= 3; ++i) expected += std::exp(2 * i - twice) * (2 * i - twice - i + total);
  CHECK(divergence(0) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("batch_norm: columns of the batch, and what is kept of them", "[nn]") {
  const auto norm = nn::init<column_norm>(random::key(0));
  const auto kept = nn::init<column_norm::statistics>(random::key(0));
  const auto [y, next, still] = jit(normalize)(norm, kept, tensor<f64, 2, 2>{{1, 10}, {3, -10}});
  CHECK(near(y, tensor<f64, 2, 2>{{-1, 1}, {1, -1}}, {1e-5, 0}));
  CHECK(near(next.mean, tensor<f64, 2>{0.2, 0}));
  CHECK(near(next.variance, tensor<f64, 2>{0.9 + 0.2, 0.9 + 20}));
  CHECK(near(still, tensor<f64, 2, 2>{{1, 10}, {3, -10}}, {1e-5, 0}));
}

TEST_CASE("swiglu, lora, dropout: values, what learns, and what is left out", "[nn]") {
  const nn::swiglu<values, f64, 2, 1> gated{{1, 2}, {3, -1}, {0.5, 2}};
  nn::lora<values, f64, 2, 1, 1> adapted;
  adapted.base.weight = tensor<f64, 2, 1>{1, -1};
  adapted.base.bias = tensor<f64, 1>(0.5);
  adapted.down = tensor<f64, 2, 1>{0.25, 1};
  adapted.up = tensor<f64, 1, 1>(3);
  const auto [y, z, merged, learned, dropped] =
      jit(small_layers)(gated, adapted, tensor<f64, 1, 2>{1, 2}, random::key(7));
  CHECK(y(0, 1) == Approx(2 * 5 * sigmoid_of(5)).epsilon(1e-12));  // 5 silu, 3 - 2 up
  CHECK(z(0, 0) == -0.5 + 2 * 2.25 * 3);
  CHECK(merged(0, 0) == Approx(z(0, 0)));
  CHECK(learned.base.weight(0, 0) == 0);
  CHECK(learned.up(0, 0) == 2 * 2.25);
  CHECK(learned.down(1, 0) == 2 * 2 * 3);
  int kept = 0;
  for (const f64 x : dropped) {
    CHECK((x == 0 || x == 1 / 0.75));
    kept += x != 0;
  }
  CHECK(std::abs(kept - 750) < 50);
}
