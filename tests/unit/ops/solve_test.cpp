// unit/ops/solve_test.cpp: systems, determinants, norms and functions of matrices.
// SPDX-License-Identifier: MIT
#include "atled/ops/solve.hpp"

#include "atled/ops/determinant.hpp"
#include "atled/ops/elementwise.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using small = tensor<f64, 2, 2>;
using matrix = tensor<f64, 4, 4>;
using tall = tensor<f64, 4, 2>;
const matrix some{4, 1, -1, 2, 5, 0.5, -2, 1, 3, 2, 7, -1, 0.5, 1, -3, 6};
const tall some_tall{1, 2, 3, -1, 0.5, 2, 4, 1};

template <class F, class... T>
bool has_right_gradient(F f, const T&... x) {
  const auto gradient = gradient_of(f, x...);
  const auto differences = difference_of(f, x...);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (!(std::abs(gradient[i] - differences[i]) <= 1e-6 * (1 + std::abs(gradient[i])))) {
      return false;
    }
  }
  return true;
}
}  // namespace

TEST_CASE("solve: the solution and its gradients", "[ops]") {  // CASES LA3
  const auto f = [](auto a, auto b) { return linalg::solve(a, b); };
  const small a{2, 1, 1, 3};
  const tensor<f64, 2> b{1, 2};
  CHECK(are_near(values_of(f, a, b), {0.2, 0.6}, 1e-14));
  CHECK(are_near(gradient_of(f, a, b), {-0.08, -0.24, -0.04, -0.12}, 1e-14));
  CHECK(are_near(gradient_of([f](auto y, auto x) { return f(x, y); }, b, a), {0.4, 0.2}, 1e-14));
  const auto stable = [](auto x, auto y) {
    return linalg::lu_solve(linalg::lu_factor(x), y) + linalg::cho_solve(linalg::cholesky(x), y) -
           2.0 * matmul(linalg::inv(x), y);
  };
  for (const double rest : values_of(stable, a, b)) CHECK(std::abs(rest) < 1e-14);
}

TEST_CASE("det, slogdet, logdet: values, signs and gradients", "[ops]") {
  const auto det = [](auto a) { return linalg::det(a); };
  CHECK(are_near(values_of(det, some), {-21.75}, 1e-13));
  CHECK(has_right_gradient(det, some));
  CHECK(are_near(gradient_of(det, tensor<f64, 3, 3>{1, 2, 3, 2, 4, 6, 0, 1, 1}),
                 {-2, -2, 2, 1, 1, -1, 0, 0, 0}));  // of rank 2
  CHECK(are_near(values_of(det, small{0, 1, 1, 0}), {-1}));
  const auto both = all_values([](auto a) { return linalg::slogdet(a); }, some);
  CHECK(both[0] == numbers{-1});
  CHECK(are_near(both[1], {std::log(21.75)}, 1e-13));
  CHECK(has_right_gradient([](auto a) { return linalg::slogdet(a).second; }, some));
  CHECK(are_near(values_of([](auto a) { return linalg::logdet(a); }, some), {not_a_number}));
}

TEST_CASE("pinv, lstsq: of full and of lower rank", "[ops]") {
  const auto pinv = [](auto a) { return linalg::pinv(a); };
  const auto left = values_of([](auto a) { return matmul(linalg::pinv(a), a); }, some_tall);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(left[i] - (i % 3 == 0 ? 1 : 0)) < 1e-14);
  CHECK(has_right_gradient(pinv, some_tall));
  const auto bent = [](auto a) { return sin(linalg::pinv(a)); };
  CHECK(has_right_gradient(bent, small{0.6, -0.8, 0.8, 0.6}));  // equal singular values
  CHECK(has_right_gradient([bent](auto a) { return bent(matrix_transpose(a)); }, some_tall));
  CHECK(are_near(values_of(pinv, small{1, 1, 1, 1}), {0.25, 0.25, 0.25, 0.25}, 1e-14));
  const tensor<f64, 4> b{1, 2, 3, 4};
  const auto x = [](auto a, auto y) { return linalg::lstsq(a, y).x; };
  CHECK(are_near(values_of(x, some_tall, b),
                 values_of([](auto a, auto y) { return matmul(linalg::pinv(a), y); }, some_tall, b),
                 1e-13));
  CHECK(has_right_gradient(x, some_tall, b));
  const auto rank = [](auto a) { return linalg::matrix_rank(a); };
  CHECK(values_of(rank, small{1, 1, 1, 1}) == numbers{1});
  CHECK(values_of(rank, some) == numbers{4});
}

TEST_CASE("matrix_norm, cond: each of them", "[ops]") {
  using linalg::norm_order;
  const small a{3, -4, 0, 2};
  const auto norm = [&](auto order) {
    return values_of([](auto x) { return linalg::matrix_norm(x, decltype(order)::value); }, a)[0];
  };
  CHECK(norm(std::integral_constant<norm_order, norm_order::frobenius>{}) == std::sqrt(29.0));
  CHECK(norm(std::integral_constant<norm_order, norm_order::one>{}) == 6);
  CHECK(norm(std::integral_constant<norm_order, norm_order::infinity>{}) == 7);
  const double two = norm(std::integral_constant<norm_order, norm_order::two>{});
  const double least = norm(std::integral_constant<norm_order, norm_order::minus_two>{});
  CHECK(are_near(numbers{two * least}, {6}, 1e-14));  // |det|
  CHECK(are_near(numbers{norm(std::integral_constant<norm_order, norm_order::nuclear>{})},
                 {two + least}, 1e-14));
  CHECK(are_near(values_of([](auto x) { return linalg::cond(x); }, a), {two / least}, 1e-13));
}

TEST_CASE("matrix_power, expm: values and gradients", "[ops]") {
  const small a{1, 2, 0, 3};
  CHECK(values_of([](auto x) { return linalg::matrix_power(x, 3); }, a) == numbers{1, 26, 0, 27});
  CHECK(values_of([](auto x) { return linalg::matrix_power(x, 0); }, a) == numbers{1, 0, 0, 1});
  CHECK(are_near(values_of([](auto x) { return linalg::matrix_power(x, -1); }, a),
                 {1, -2.0 / 3, 0, 1.0 / 3}, 1e-14));
  const auto expm = [](auto x) { return linalg::expm(x); };
  CHECK(are_near(values_of(expm, a), {std::exp(1), std::exp(3) - std::exp(1), 0, std::exp(3)},
                 1e-14));
  CHECK(are_near(values_of([](auto x) { return linalg::expm(20.0 * x); }, a),
                 {std::exp(20), std::exp(60) - std::exp(20), 0, std::exp(60)}, 1e-12));
  CHECK(has_right_gradient(expm, a));
}

TEST_CASE("solve: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tall, tensor<f64, 4>>([](auto a, auto b) { return linalg::solve(a, b); }) ==
        "solve: f64[4,2]: the matrix must be square");
  CHECK(sentence_of<small, tensor<f64, 3>>([](auto a, auto b) { return linalg::solve(a, b); }) ==
        "solve: a f64[2,2] and b f64[3]: b must have 2 rows");
  CHECK(sentence_of<tall>([](auto a) { return linalg::det(a); }) ==
        "det: f64[4,2]: the matrix must be square");
}
