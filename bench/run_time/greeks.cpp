// bench/run_time/greeks.cpp: the value of an option and five derivatives at many strikes, from the
// price alone and by the closed forms. Reads: examples/08_option_greeks.cpp, which explains them.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <array>
#include <benchmark/benchmark.h>
#include <cmath>
#include <tuple>

namespace {

using namespace atled;

constexpr double root_of_half = 0.70710678118654752440;

constexpr auto normal_cdf = [](auto x) { return 0.5 * erfc(-root_of_half * x); };
constexpr auto price = [](auto spot, auto volatility, auto strike, auto rate, auto years) {
  const auto spread = volatility * sqrt(years);
  const auto d1 = (log(spot / strike) + (rate + 0.5 * square(volatility)) * years) / spread;
  return spot * normal_cdf(d1) - strike * exp(-rate * years) * normal_cdf(d1 - spread);
};
constexpr auto greeks = [](auto... market) {
  const auto both = argnums<0, 1>;
  const auto [value, slopes] = value_and_grad(price, both)(market...);
  const auto [by_spot, by_volatility] = hessian(price, both)(market...);
  return std::tuple(value, slopes, by_spot, std::get<1>(by_volatility));
};

/// Value, delta, gamma, vega, vanna, volga.
/// Source: Black and Scholes, The pricing of options and corporate liabilities, 1973.
[[gnu::noinline]] std::array<double, 6> closed_form(double s, double v, double k, double rate,
                                                    double years) {
  const double t = std::sqrt(years);
  const double d1 = (std::log(s / k) + (rate + v * v / 2) * years) / (v * t);
  const double d2 = d1 - v * t;
  const auto below = [](double x) { return std::erfc(-x * root_of_half) / 2; };
  const double density = std::exp(-d1 * d1 / 2) * 0.39894228040143267794;
  return {s * below(d1) - k * std::exp(-rate * years) * below(d2),
          below(d1),
          density / (s * v * t),
          s * density * t,
          -density * d2 / v,
          s * density * t * d1 * d2 / v};
}

template <int N>
struct market {
  tensor<f64> spot = 100, volatility = 0.2, rate = 0.03, years = 0.75;
  tensor<f64, N> strike;

  market() {
    for (int i = 0; i < N; ++i) strike(i) = 80 + 40.0 * i / N;
  }
};

template <int N>
void greeks_by_derivatives(benchmark::State& state) {
  market<N> m;
  constexpr auto program = jit(vmap(greeks, in_axes<none, none, 0, none, none>));
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(m);
    benchmark::DoNotOptimize(program(m.spot, m.volatility, m.strike, m.rate, m.years));
  }
}

template <std::size_t N>
void greeks_by_hand(benchmark::State& state) {
  market<int{N}> m;
  std::array<double, 6> out[N];
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(m);
    for (std::size_t i = 0; i < N; ++i) {
      out[i] = closed_form(m.spot, m.volatility, m.strike.data()[i], m.rate, m.years);
    }
    benchmark::DoNotOptimize(out);
  }
}

BENCHMARK(greeks_by_derivatives<9>)->Name("greeks/9_strikes");
BENCHMARK(greeks_by_hand<9>)->Name("greeks/9_strikes/by_hand");
BENCHMARK(greeks_by_derivatives<256>)->Name("greeks/256_strikes");
BENCHMARK(greeks_by_hand<256>)->Name("greeks/256_strikes/by_hand");

}  // namespace

BENCHMARK_MAIN();
