// 08_option_greeks.cpp: the price of an option, and its slopes and curvatures at many strikes.
//
// The price of a European call is written once, for one strike. grad and hessian make the Greeks of
// it, vmap takes them along the strikes, jit makes one program of all; the closed forms of Black
// and Scholes stand beside. Next: 09_newton.cpp, where the Hessian finds a minimum.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

constexpr double root_of_half = 0.70710678118654752440;

/// The chance that a standard normal number is below x.
constexpr auto normal_cdf = [](auto x) { return 0.5 * erfc(-root_of_half * x); };

/// The price of a call: f64[] each.
constexpr auto price = [](auto spot, auto volatility, auto strike, auto rate, auto years) {
  const auto spread = volatility * sqrt(years);
  const auto d1 = (log(spot / strike) + (rate + 0.5 * square(volatility)) * years) / spread;
  return spot * normal_cdf(d1) - strike * exp(-rate * years) * normal_cdf(d1 - spread);
};

/// The price and its derivatives by spot and volatility, to the second order.
constexpr auto greeks = [](auto... market) {
  const auto both = argnums<0, 1>;
  const auto [value, slopes] = value_and_grad(price, both)(market...);
  const auto [delta, vega] = slopes;
  const auto [by_spot, by_volatility] = hessian(price, both)(market...);
  const auto [gamma, vanna] = by_spot;
  const auto volga = std::get<1>(by_volatility);
  return std::tuple(value, delta, gamma, vega, vanna, volga);
};

/// The same six numbers as one finds them in a book.
std::array<double, 6> closed_form(double s, double v, double k, double rate, double years) {
  const double t = std::sqrt(years);
  const double d1 = (std::log(s / k) + (rate + v * v / 2) * years) / (v * t);
  const double d2 = d1 - v * t;
  const auto below = [](double x) { return std::erfc(-x * root_of_half) / 2; };
  const double density = std::exp(-d1 * d1 / 2) / std::sqrt(2 * std::acos(-1));
  return {s * below(d1) - k * std::exp(-rate * years) * below(d2),
          below(d1),
          density / (s * v * t),
          s * density * t,
          -density * d2 / v,
          s * density * t * d1 * d2 / v};
}

}  // namespace

int main() {
  constexpr int N = 9;
  tensor<f64, N> strike;
  for (int i = 0; i < N; ++i) strike(i) = 80 + 5 * i;
  const tensor<f64> spot = 100;
  const tensor<f64> volatility = 0.2;
  const tensor<f64> rate = 0.03;
  const tensor<f64> years = 0.75;

  constexpr auto program = jit(vmap(greeks, in_axes<none, none, 0, none, none>));
  const auto found = program(spot, volatility, strike, rate, years);

  std::puts("strike    value    delta    gamma     vega    vanna    volga   from closed form");
  double largest = 0;
  for (int i = 0; i < N; ++i) {
    std::printf("%6.0f", strike(i));
    double error = 0;
    const auto exact = closed_form(spot, volatility, strike(i), rate, years);
    const auto compare = [&](const auto&... greek) {
      std::size_t k = 0;
      ((std::printf(" %8.4f", greek(i)), error = std::max(error, std::abs(greek(i) - exact[k++]))),
       ...);
    };
    std::apply(compare, found);
    std::printf("   %.1e\n", error);
    largest = std::max(largest, error);
  }
  return largest < 1e-11 ? 0 : 1;
}
