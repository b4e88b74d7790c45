// 09_newton.cpp: Newton's method, its Hessian by the same call as any derivative.
//
// Which gamma distribution explains the waiting times that were seen? The likelihood holds lgamma,
// its slope the digamma function, its curvature the trigamma function: all from the one line below.
// The curvature at the end also says how far the answer may be off. Next:
// 10_hamiltonian_monte_carlo.cpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/linalg.hpp"

#include <cmath>
#include <cstdio>
#include <random>
#include <tuple>

using namespace atled;

namespace {

constexpr std::int64_t N = 500;
using times = tensor<f64, N>;
using point = tensor<f64, 2>;  // logarithms of shape and scale, so that both stay positive

/// The mean negative logarithm of the density k -> x^(k-1) e^(-x/s) / (Gamma(k) s^k).
constexpr auto misfit = [](auto p, auto x) {
  const auto k = exp(p(0));
  return mean(x) * exp(-p(1)) - (k - 1.0) * mean(log(x)) + lgamma(k) + k * p(1);
};

/// One step: the value and the length of the slope where it begins, and where it ends.
constexpr auto newton = [](auto p, auto x) {
  const auto [value, slope] = value_and_grad(misfit)(p, x);
  const auto curvature = hessian(misfit)(p, x);
  return std::tuple(p - linalg::solve(curvature, slope), value, norm(slope));
};

/// The standard errors: the roots of the diagonal of the inverse of N times the curvature.
constexpr auto standard_errors = [](auto p, auto x) {
  return sqrt(diagonal(linalg::inv(static_cast<double>(N) * hessian(misfit)(p, x))));
};

}  // namespace

int main() {
  std::mt19937 bits(1);
  times x;
  for (double& t : x) {
    t = 0;  // three stages of mean 2 each: shape 3, scale 2
    for (int i = 0; i < 3; ++i) t -= 2 * std::log((static_cast<double>(bits()) + 0.5) / 4294967296);
  }

  constexpr auto step = jit(newton);
  point p{0.5, 1};
  tensor<f64> value;
  tensor<f64> length;
  std::puts("step   shape    scale    misfit         length of the slope");
  for (int i = 0; i < 8; ++i) {
    std::printf("%4d  %7.4f  %7.4f", i, std::exp(p(0)), std::exp(p(1)));
    std::tie(p, value, length) = step(p, x);
    std::printf("  %.10f   %.1e\n", value.item(), length.item());
  }

  const point off = jit(standard_errors)(p, x);
  const double k = std::exp(p(0));
  const double s = std::exp(p(1));
  std::printf("shape %.3f +- %.3f (made with 3), scale %.3f +- %.3f (made with 2)\n", k, k * off(0),
              s, s * off(1));

  // Where the likelihood is largest, the mean of the distribution is that of the data.
  const double mean_time = mean(x).item();
  const bool is_right = length.item() < 1e-12 && std::abs(k * s - mean_time) < 1e-12 * mean_time &&
                        std::abs(k - 3) < 3 * k * off(0) && std::abs(s - 2) < 3 * s * off(1);
  return is_right ? 0 : 1;
}
