// 07_external_solver.cpp: a sparse solver of Eigen as one node of a differentiated program.
// Heat flows along a bar; which conductivities explain the temperatures that were measured?
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <Eigen/SparseCholesky>

#include <cmath>
#include <cstdio>
#include <vector>

using namespace atled;

constexpr std::int64_t N = 64;  // inner points, between N + 1 pieces of the bar
using pieces = tensor<f64, N + 1>;
using points = tensor<f64, N>;

// A(k) u = f: point i gains k[i] (u[i-1] - u[i]) + k[i+1] (u[i+1] - u[i]); both ends are at 0.
void solve(tensor_view<f64, N> u, const tensor_view<const f64, N + 1>& k,
           const tensor_view<const f64, N>& f) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < N; ++i) {
    entries.emplace_back(i, i, k(i) + k(i + 1));
    if (i + 1 < N) entries.emplace_back(i + 1, i, -k(i + 1));
  }
  Eigen::SparseMatrix<double> lower(N, N);
  lower.setFromTriplets(entries.begin(), entries.end());
  const Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> factors(lower);
  Eigen::VectorXd::Map(u.data(), N) = factors.solve(Eigen::VectorXd::Map(f.data(), N));
}

// The differences across each piece, and the transpose of that.
constexpr auto across = [](auto u) {
  const auto zero = zeros_like(slice_in_dim(u, 0, 1));
  return concatenate(std::array{u, zero}, 0) - concatenate(std::array{zero, u}, 0);
};

// A is symmetric: with A l = d_u, the adjoint, d_f = l, and d_k = -across(l) across(u).
// The adjoint is a call of the same function, so that derivatives have derivatives.
struct bar {
  constexpr expr operator()(const expr& k, const expr& f) const;
};
struct bar_forward {
  constexpr auto operator()(const expr& k, const expr& f) const {
    const expr u = bar{}(k, f);
    return std::pair(u, std::pair(k, u));
  }
};
struct bar_backward {
  constexpr auto operator()(const std::pair<expr, expr>& kept, const expr& d_u) const {
    const auto [k, u] = kept;
    const expr l = bar{}(k, d_u);
    return std::pair(-across(l) * across(u), l);
  }
};
constexpr expr bar::operator()(const expr& k, const expr& f) const {
  const auto call = [](auto conductivity, auto heat) {
    return external_call<solve>(conductivity, heat);
  };
  return custom_vjp(call, bar_forward{}, bar_backward{})(k, f);
}

constexpr auto misfit = [](auto log_k, auto heat, auto measured) {
  return 1e4 * sum(square(bar{}(exp(log_k), heat) - measured)) +
         1e-4 * sum(square(across(slice_in_dim(log_k, 0, N))));
};
constexpr auto step = [](auto log_k, auto heat, auto measured, auto moments, auto rate) {
  const auto [value, slope] = value_and_grad(misfit)(log_k, heat, measured);
  moments = 0.95 * moments + square(slope) * 0.05;
  return std::tuple(log_k - rate * slope / (sqrt(moments) + 1e-12), moments, value);
};

int main() {
  points heat;
  pieces truth;
  for (int i = 0; i < N; ++i) heat(i) = 1.0 / N;
  for (int i = 0; i <= N; ++i) truth(i) = 1 + 0.5 * std::sin(6.0 * i / N);
  points measured;
  solve(measured, truth, heat);

  // One component of the gradient, and what two small steps find.
  pieces log_k{}, moved{}, back{}, moments{};
  moved(N / 3) = 1e-5;
  back(N / 3) = -1e-5;
  const auto slope = grad(misfit)(log_k, heat, measured);
  const auto at = jit(misfit);
  const double change = (at(moved, heat, measured).item() - at(back, heat, measured).item()) / 2e-5;
  std::printf("derivative %.8f, by differences %.8f\n", slope(N / 3), change);
  const bool is_right = std::abs(slope(N / 3) - change) < 1e-6 * (1 + std::abs(change));

  tensor<f64> value;
  double first = 0;
  for (int i = 0; i <= 4000; ++i) {
    const double rate = 0.02 * std::exp(-i / 1000.0);
    std::tie(log_k, moments, value) = jit(step)(log_k, heat, measured, moments, rate);
    if (i == 0) first = value.item();
    if (i % 1000 == 0) std::printf("step %4d: misfit %.4f\n", i, value.item());
  }
  return is_right && value.item() < 1e-3 * first ? 0 : 1;
}
