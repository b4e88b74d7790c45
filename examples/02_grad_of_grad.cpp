// 02_grad_of_grad.cpp: a gradient is a function like any other and has a gradient itself.
// Next: 03_print_the_graph.cpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <cmath>
#include <cstdio>

using namespace atled;

constexpr auto wave = [](auto x) { return square(x) * sin(x); };

constexpr auto valley = [](auto x) {
  const auto cube = x * x * x;
  return x * cube - 3 * cube + 2;  // x^4 - 3 x^3 + 2, lowest at 9/4
};

bool is_near(double found, double wanted) {
  return std::abs(found - wanted) <= 1e-12 * (1 + std::abs(wanted));
}

int main() {
  bool is_right = true;

  // Three orders beside what one would write by hand.
  const tensor<f64> at = 1.25;
  const double x = at;
  const double first = grad(wave)(at);
  const double second = grad(grad(wave))(at);
  const double third = grad(grad(grad(wave)))(at);
  std::printf("x^2 sin x at %.2f: derivatives %.12f %.12f %.12f\n", x, first, second, third);
  is_right &= is_near(first, 2 * x * std::sin(x) + x * x * std::cos(x));
  is_right &= is_near(second, (2 - x * x) * std::sin(x) + 4 * x * std::cos(x));
  is_right &= is_near(third, (6 - x * x) * std::cos(x) - 6 * x * std::sin(x));

  // Newton's method: the slope goes to 0 where the slope of the slope says.
  constexpr auto newton =
      jit([](auto place) { return place - grad(valley)(place) / grad(grad(valley))(place); });
  tensor<f64> place = 4;
  for (int i = 1; i <= 7; ++i) {
    place = newton(place);
    std::printf("newton %d: %.15f\n", i, place.item());
  }
  is_right &= is_near(place, 2.25);
  return is_right ? 0 : 1;
}
