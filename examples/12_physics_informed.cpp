// 12_physics_informed.cpp: a network that must obey a law of nature, and a law with two unknown
// numbers.
//
// A pendulum with friction is seen seven times in its first seconds, inexactly. A network is fitted
// to these places and, at 48 moments, to theta'' + c theta' + k sin(theta) = 0; c and k are fitted
// with it. theta' and theta'' are derivatives of the network; L-BFGS wants derivatives of all that.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

constexpr std::int64_t seen = 7;
constexpr std::int64_t moments = 48;
constexpr double end_time = 6;

/// theta(t).
template <class K>
struct path {
  nn::linear<K, f64, 1, 20> first;
  nn::linear<K, f64, 20, 20> second;
  nn::linear<K, f64, 20, 1> out;
  ATLED_TREE(path, first, second, out)
  constexpr auto operator()(auto t) const {
    const auto scaled = reshape(t, {1}) * (2 / end_time) - 1.0;
    return out(tanh(second(tanh(first(scaled)))))(0);
  }
};

/// How far a path is from the law at a moment; `law` holds the logarithms of c and k.
constexpr auto residual = [](auto theta, auto law, auto t) {
  const auto speed = [&](auto at) { return jvp(theta, at, ones_like(at)).second; };
  const auto [v, a] = jvp(speed, t, ones_like(t));
  return a + exp(law(0)) * v + exp(law(1)) * sin(theta(t));
};

constexpr auto loss = [](auto model, auto times, auto places, auto law_times) {
  const auto [theta, law] = model;
  const auto misfit = vmap(theta)(times) - places;
  const auto broken = vmap(residual, in_axes<none, none, 0>)(theta, law, law_times);
  return mean(square(misfit)) + 0.01 * mean(square(broken));
};

constexpr optim::lbfgs<20> rule{};
constexpr auto improve = [](auto model, auto state, auto times, auto places, auto law_times) {
  return rule.update(loss, model, state, times, places, law_times);
};

constexpr auto places_of = [](auto theta, auto times) { return vmap(theta)(times); };

/// The true place at `t`: by the classical Runge-Kutta method, in small steps.
double truth(double t) {
  const auto force = [](double x, double v) { return -0.3 * v - 4 * std::sin(x); };
  double x = 1.5;
  double v = 0;
  const double h = t / 2000;
  for (int i = 0; i < 2000; ++i) {
    const double a1 = force(x, v);
    const double v2 = v + h / 2 * a1, a2 = force(x + h / 2 * v, v2);
    const double v3 = v + h / 2 * a2, a3 = force(x + h / 2 * v2, v3);
    const double v4 = v + h * a3, a4 = force(x + h * v3, v4);
    x += h / 6 * (v + 2 * v2 + 2 * v3 + v4);
    v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  return x;
}

}  // namespace

int main() {
  tensor<f64, seen> times, places;
  tensor<f64, moments> law_times, exact;
  for (int i = 0; i < seen; ++i) {
    times(i) = 0.4 * i;
    places(i) = truth(times(i)) + 0.005 * std::sin(40.0 * i);
  }
  for (int i = 0; i < moments; ++i) {
    law_times(i) = end_time * i / (moments - 1);
    exact(i) = truth(law_times(i));
  }

  auto model = std::pair(nn::init<path>(random::key(1)), tensor<f64, 2>{0, 0});
  const auto number = [&](int i) { return std::exp(model.second(i)); };
  auto state = rule.init(model);
  tensor<f64> value;
  std::puts("step   loss       c (0.3)   k (4)");
  for (int i = 0; i <= 900; ++i) {
    if (i % 150 == 0 && i > 0) {
      std::printf("%4d   %.1e   %.4f    %.4f\n", i, value.item(), number(0), number(1));
    }
    std::tie(model, state, value) =
        jit(improve)(std::move(model), std::move(state), times, places, law_times);
  }

  // The pendulum's swing from left to right: o the truth, * the network, + both, | what was seen.
  const auto found = jit(places_of)(model.first, law_times);
  double worst = 0;
  for (int i = 0; i < moments; ++i) {
    worst = std::fmax(worst, std::abs(found(i) - exact(i)));
    if (i % 2 != 0) continue;
    std::string line(61, ' ');
    const auto place = [](double x) { return static_cast<std::size_t>(30 + std::lround(18 * x)); };
    line[place(exact(i))] = 'o';
    line[place(found(i))] = place(found(i)) == place(exact(i)) ? '+' : '*';
    std::printf("%4.1f s %s%s\n", law_times(i), line.c_str(), law_times(i) <= 2.4 ? "|" : "");
  }
  std::printf("furthest from the truth: %.3f\n", worst);
  return worst < 0.1 && std::abs(number(0) - 0.3) < 0.05 && std::abs(number(1) - 4) < 0.1 ? 0 : 1;
}
