// 11_policy_gradient.cpp: a pole is to be kept upright on a cart. Nothing says how: episodes are
// played by chance, and what went better than usual is made likelier (REINFORCE).
//
// An episode is a scan over time, vmap plays 32 of them at once, and one program plays, scores,
// differentiates and takes a step of Adam. Next: 12_physics_informed.cpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cstdio>
#include <string>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

constexpr std::int64_t T = 200;  // moments of 0.02 s in an episode
constexpr std::int64_t B = 32;   // episodes for each step

/// From place, speed, angle and angular speed to the logit of a push to the right.
template <class K>
struct player {
  nn::linear<K, f32, 4, 16> hidden;
  nn::linear<K, f32, 16, 1> out;
  ATLED_TREE(player, hidden, out)
  constexpr auto operator()(auto s) const { return out(tanh(hidden(s))); }
};

/// The cart after 0.02 s of a force. Units: SI.
/// Source: Barto, Sutton and Anderson, Neuronlike Adaptive Elements, 1983: pole 1 m, 0.1 kg; cart 1
/// kg.
constexpr auto moved = [](auto s, auto force) {
  const auto swing = (force + 0.05 * square(s(3)) * sin(s(2))) / 1.1;
  const auto turn =
      (9.8 * sin(s(2)) - cos(s(2)) * swing) / (0.5 * (4.0 / 3.0 - 0.1 * square(cos(s(2))) / 1.1));
  const auto push = swing - 0.05 * turn * cos(s(2)) / 1.1;
  return s + 0.02 * stack({s(1), push, s(3), turn});
};

/// One episode: the states, the pushes (1 is right) and whether the pole still stood, f32[T, ...].
constexpr auto episode = [](auto model, auto key) {
  const auto [for_start, for_pushes] = random::split<2>(key);
  const auto step = [&](auto now, auto u) {
    const auto [s, stands] = now;
    const auto to_right = astype<f32>(u < sigmoid(model(s)(0)));
    const auto next = moved(s, 20.0 * to_right - 10.0);
    const auto is_up = (abs(next(0)) < 2.4) & (abs(next(2)) < 0.2095);
    return std::pair(std::pair(next, stands * astype<f32>(is_up)), std::tuple(s, to_right, stands));
  };
  const auto start = random::uniform<f32, 4>(for_start, -0.05F, 0.05F);
  return scan(step, std::pair(start, ones_like(start(0))), random::uniform<f32, T>(for_pushes))
      .second;
};

/// Minus the likelihood of the pushes, each weighed by how much longer than usual the pole stood
/// from then on. Its gradient is that of the mean time upright.
constexpr auto loss = [](auto model, auto states, auto pushes, auto stands) {
  const auto logits = model(states)(ellipsis, 0);  // f32[B, T]
  const auto time_left = cumsum(stands, 1, reversed);
  const auto better = (time_left - mean(time_left, 0)) / (std_(time_left, 0) + 1e-3);
  return -sum(stands * better * log_sigmoid((2.0 * pushes - 1.0) * logits)) / sum(stands);
};

constexpr optim::adam rule{.learning_rate = 0.02};

/// Plays, learns; the model, the state of Adam, and the mean time for which the pole stood.
constexpr auto improve = [](auto model, auto state, auto key) {
  const auto keys = random::split(key, B);
  const auto [states, pushes, stands] = vmap(episode, in_axes<none, 0>)(model, keys);
  const auto slope = grad(loss)(model, states, pushes, stands);
  const auto [next, next_state] = rule.update(model, slope, state);
  return std::tuple(next, next_state, sum(stands) / static_cast<double>(B));
};

}  // namespace

int main() {
  const auto key = random::key(0);
  auto model = nn::init<player>(random::fold_in(key, 1));
  auto state = rule.init(model);
  tensor<f32> length;
  double late = 0;
  std::puts("step  moments upright, of 200");
  for (int i = 0; i < 100; ++i) {
    std::tie(model, state, length) =
        jit(improve)(std::move(model), std::move(state), random::fold_in(key, 100 + i));
    const double mean_length = static_cast<double>(length.item());
    if (i % 5 == 4) {
      const auto bar = static_cast<std::size_t>(mean_length / 4);
      std::printf("%4d  %5.1f %s\n", i + 1, mean_length, std::string(bar, '#').c_str());
    }
    if (i >= 90) late += mean_length / 10;
  }
  return late > 150 ? 0 : 1;
}
