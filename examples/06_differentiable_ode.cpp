// 06_differentiable_ode.cpp: an ordinary differential equation as a scan, and its sensitivities.
//
// A damped oscillator, x'' = -w^2 x - 2 c x', is integrated by the classical Runge-Kutta method.
// The gradient of its final place by where it begins, by w and by c comes from the same scan, run
// backwards; the closed form says what it must be.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>

using namespace atled;

namespace {

template <class K>
struct state {
  typename K::template leaf<f64> place, speed;
  ATLED_TREE(state, place, speed)
};

/// Its derivative in time.
constexpr auto motion = [](auto s, auto w, auto c) {
  return state<tracing>{s.speed, -w * w * s.place - 2.0 * c * s.speed};
};

/// s + h d, member by member.
constexpr auto moved = [](auto s, auto h, auto d) {
  return state<tracing>{s.place + h * d.place, s.speed + h * d.speed};
};

/// The place after `Steps` steps of length h, and the way there.
template <std::int64_t Steps>
constexpr auto integrate = [](auto begin, auto w, auto c, auto h) {
  const auto step = [&](auto s) {
    const auto k1 = motion(s, w, c);
    const auto k2 = motion(moved(s, 0.5 * h, k1), w, c);
    const auto k3 = motion(moved(s, 0.5 * h, k2), w, c);
    const auto k4 = motion(moved(s, h, k3), w, c);
    const auto mean = [](auto a, auto b, auto d, auto e) { return (a + 2.0 * (b + d) + e) / 6.0; };
    const state<tracing> slope{mean(k1.place, k2.place, k3.place, k4.place),
                               mean(k1.speed, k2.speed, k3.speed, k4.speed)};
    const auto next = moved(s, h, slope);
    return std::pair(next, next.place);
  };
  return scan(step, begin, length<Steps>);
};

constexpr std::int64_t steps = 200;
constexpr auto final_place = [](auto begin, auto w, auto c, auto h) {
  return integrate<steps>(begin, w, c, h).first.place;
};

/// The place at time t of an oscillator that begins at x0 with speed v0.
double exact(double x0, double v0, double w, double c, double t) {
  const double d = std::sqrt(w * w - c * c);
  return std::exp(-c * t) * (x0 * std::cos(d * t) + (v0 + c * x0) / d * std::sin(d * t));
}

/// Prints a number beside what it must be; 1 if they differ.
int compare(const char* name, double computed, double expected) {
  std::printf("%-22s %.10f   exact %.10f\n", name, computed, expected);
  return std::abs(computed - expected) < 1e-6 ? 0 : 1;
}

}  // namespace

int main() {
  const state<values> begin{tensor<f64>(1.0), tensor<f64>(0.5)};
  const tensor<f64> w(2.0);
  const tensor<f64> c(0.1);
  const tensor<f64> h(0.02);
  const auto solve = jit(value_and_grad(final_place, argnums<0, 1, 2>));
  const auto [place, slopes] = solve(begin, w, c, h);
  const auto& [by_begin, by_w, by_c] = slopes;

  const double t = 0.02 * steps;
  const double e = 1e-6;
  const auto slope = [&](auto f) { return (f(e) - f(-e)) / (2 * e); };
  int wrong = compare("x(t)", static_cast<double>(place), exact(1, 0.5, 2, 0.1, t));
  wrong += compare("by x(0)", static_cast<double>(by_begin.place), exact(1, 0, 2, 0.1, t));
  wrong += compare("by x'(0)", static_cast<double>(by_begin.speed), exact(0, 1, 2, 0.1, t));
  wrong += compare("by w", static_cast<double>(by_w),
                   slope([&](double d) { return exact(1, 0.5, 2 + d, 0.1, t); }));
  wrong += compare("by c", static_cast<double>(by_c),
                   slope([&](double d) { return exact(1, 0.5, 2, 0.1 + d, t); }));
  return wrong;
}
