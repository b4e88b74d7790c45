// 10_hamiltonian_monte_carlo.cpp: samples from a posterior. Gradients steer the walk, fori_loop
// takes its steps, scan makes a chain of walks, vmap runs four chains, and all of it is one
// program.
//
// The model is a logistic regression with two weights, so that a sum over a grid can check it.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

constexpr std::int64_t N = 60;  // observations
constexpr std::int64_t num_chains = 4;
constexpr std::int64_t num_samples = 1000;
constexpr int num_steps = 8;  // of a walk
constexpr double step_size = 0.25;

/// Minus the logarithm of the posterior: a normal prior of deviation 3; y is 1 or -1.
constexpr auto energy = [](auto w, auto x, auto y) {
  return sum(softplus(-y * (w(0) + w(1) * x))) + sum(square(w)) / 18.0;
};

/// A walk with a momentum of its own, by the leapfrog method; taken or not as the energies say.
constexpr auto walk = [](auto w, auto key, auto x, auto y) {
  const auto [for_momentum, for_choice] = random::split<2>(key);
  const auto slope = [&](auto at) { return grad(energy)(at, x, y); };
  const auto begin = random::normal<f64, 2>(for_momentum);
  const auto step = [&](auto, auto state) {
    const auto [place, momentum] = state;
    const auto next = place + step_size * momentum;
    return std::pair(next, momentum - step_size * slope(next));
  };
  const auto first = std::pair(w, begin - 0.5 * step_size * slope(w));
  const auto [end, late] = fori_loop(0, num_steps, step, first);
  const auto momentum = late + 0.5 * step_size * slope(end);  // the last half step was one too many
  const auto before = energy(w, x, y) + 0.5 * sum(square(begin));
  const auto after = energy(end, x, y) + 0.5 * sum(square(momentum));
  const auto is_taken = random::uniform<f64>(for_choice) < exp(before - after);
  return std::pair(where(is_taken, end, w), astype<f64>(is_taken));
};

/// All places of a chain of walks, and whether each walk was taken.
constexpr auto chain = [](auto start, auto key, auto x, auto y) {
  const auto next = [&](auto w, auto k) {
    const auto [place, is_taken] = walk(w, k, x, y);
    return std::pair(place, std::pair(place, is_taken));
  };
  return scan(next, start, random::split(key, num_samples)).second;
};

/// Means and deviations of all samples of all chains but the first hundred of each, and the share
/// of walks that were taken.
constexpr auto summary = [](auto starts, auto keys, auto x, auto y) {
  const auto [places, taken] = vmap(chain, in_axes<0, 0, none, none>)(starts, keys, x, y);
  const auto late = places(range(), range(100, num_samples));  // f64[chains, samples, 2]
  return std::tuple(mean(late, {0, 1}), std_(late, {0, 1}), mean(taken));
};

}  // namespace

int main() {
  tensor<f64, N> x;
  tensor<f64, N> y;
  for (int i = 0; i < N; ++i) {
    x(i) = 4.0 * i / (N - 1) - 2;
    y(i) = 1.5 * x(i) - 0.5 + 2 * std::sin(7.0 * i) > 0 ? 1 : -1;
  }
  const tensor<f64, num_chains, 2> starts{{0, 0}, {2, 2}, {-2, 0}, {0, 4}};
  tensor<u32, num_chains, 2> keys{};
  for (int i = 0; i < num_chains; ++i) keys(i, 1) = static_cast<u32>(i);
  const auto [means, deviations, taken] = jit(summary)(starts, keys, x, y);

  // The same numbers by a sum over a grid.
  double sums[5]{};  // of the weight, w0, w1, w0^2, w1^2
  for (double a = -4; a < 3; a += 0.02) {
    for (double b = -1; b < 6; b += 0.02) {
      double e = (a * a + b * b) / 18;
      for (int i = 0; i < N; ++i) e += std::log1p(std::exp(-y(i) * (a + b * x(i))));
      const double p = std::exp(20 - e);
      for (int k = 0; const double of : {1.0, a, b, a * a, b * b}) sums[k++] += p * of;
    }
  }
  std::printf("%.0f %% of the walks were taken\n          mean  by grid   deviation  by grid\n",
              100 * taken.item());
  bool is_right = taken.item() > 0.6;
  for (int k = 0; k < 2; ++k) {
    const double m = sums[1 + k] / sums[0];
    const double d = std::sqrt(sums[3 + k] / sums[0] - m * m);
    std::printf("weight %d %6.3f   %6.3f      %6.3f   %6.3f\n", k, means(k), m, deviations(k), d);
    is_right &= std::abs(means(k) - m) < 0.1 * d && std::abs(deviations(k) - d) < 0.1 * d;
  }
  return is_right ? 0 : 1;
}
