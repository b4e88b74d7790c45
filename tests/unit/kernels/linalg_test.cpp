// unit/kernels/linalg_test.cpp: factors give their matrix again, batch by batch.
// SPDX-License-Identifier: MIT
#include "atled/kernels/linalg.hpp"

#include "support/catch.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace atled::kernels;

namespace {

template <class T>
using matrix = detail::row_major<T>;

template <class T>
std::vector<T> some_numbers(std::int64_t count) {
  std::vector<T> out;
  std::uint32_t seed = 7;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    out.push_back(static_cast<T>(seed >> 8) / static_cast<T>(1 << 23) - T{1});
  }
  return out;
}

/// Runs a kernel on a batch of two and looks at the second.
template <decomposition Kind, class T>
struct run {
  matrix<T> a;
  matrix<T> out;

  run(std::int64_t rows, std::int64_t cols, std::int64_t height, std::int64_t width,
      T diagonal = 0) {
    std::vector<T> in = some_numbers<T>(2 * rows * cols);
    detail::matrix_view<T> second(in.data() + rows * cols, rows, cols);
    for (std::int64_t i = 0; i < std::min(rows, cols); ++i) second(i, i) += diagonal;
    std::vector<T> result(static_cast<std::size_t>(2 * height * width), T{-7});
    decomposer<Kind, T>::run({0, 2, rows, cols, 0}, in.data(), result.data());
    a = second;
    out = detail::matrix_view<T>(result.data() + height * width, height, width);
  }
};

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-4 : 2e-12;

}  // namespace

TEMPLATE_TEST_CASE("cholesky: L L^T is the symmetric part", "[kernels]", float, double) {
  for (const std::int64_t n : {1, 5, 70}) {
    const run<decomposition::cholesky, TestType> r(n, n, n, n, static_cast<TestType>(2 * n));
    const matrix<TestType> rest = r.out * r.out.transpose() - (r.a + r.a.transpose()) / 2;
    CHECK(static_cast<double>(rest.cwiseAbs().maxCoeff()) <
          tolerance<TestType> * static_cast<double>(n));
    CHECK(r.out.isLowerTriangular(0));
  }
  const run<decomposition::cholesky, TestType> r(3, 3, 3, 3, TestType{-9});
  CHECK(std::isnan(r.out(2, 0)));
  CHECK(r.out(0, 2) == TestType{0});
}

TEMPLATE_TEST_CASE("triangular_solve: the triangle that the flags name", "[kernels]", float,
                   double) {
  constexpr std::int64_t n = 40;
  constexpr std::int64_t k = 3;
  std::vector<TestType> a = some_numbers<TestType>(n * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] /= i % (n + 1) == 0 ? TestType(0.1) : TestType(n);
  const std::vector<TestType> b = some_numbers<TestType>(n * k);
  const detail::const_matrix_view<TestType> right(b.data(), n, k);
  for (std::int64_t flags = 0; flags < 8; ++flags) {
    std::vector<TestType> x(b.size());
    decomposer<decomposition::triangular_solve, TestType>::run({0, 1, n, k, flags}, a.data(),
                                                               b.data(), x.data());
    matrix<TestType> t = detail::const_matrix_view<TestType>(a.data(), n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        if ((flags & 1) != 0 ? i < j : i > j) t(i, j) = 0;
        if ((flags & 4) != 0 && i == j) t(i, j) = 1;
      }
    }
    if ((flags & 2) != 0) t.transposeInPlace();
    const matrix<TestType> rest = t * detail::matrix_view<TestType>(x.data(), n, k) - right;
    CHECK(static_cast<double>(rest.cwiseAbs().maxCoeff()) < tolerance<TestType>);
  }
}

TEMPLATE_TEST_CASE("lu: L U is the matrix with its rows moved", "[kernels]", double) {
  for (const auto& [m, n] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 5}, {90, 70}, {40, 80}}) {
    const run<decomposition::lu, TestType> r(m, n, m, n + 1);
    const std::int64_t k = std::min(m, n);
    matrix<TestType> lower = matrix<TestType>::Identity(m, k);
    lower.template triangularView<Eigen::StrictlyLower>() = r.out.leftCols(k);
    const matrix<TestType> upper =
        r.out.topLeftCorner(k, n).template triangularView<Eigen::Upper>();
    const matrix<TestType> product = lower * upper;
    CHECK(static_cast<double>(lower.cwiseAbs().maxCoeff()) <= 1);
    for (std::int64_t i = 0; i < m; ++i) {
      const auto from = static_cast<std::int64_t>(r.out(i, n));
      CHECK(static_cast<double>((product.row(i) - r.a.row(from)).cwiseAbs().maxCoeff()) <
            tolerance<TestType>);
    }
  }
}

TEMPLATE_TEST_CASE("qr: Q R is the matrix, Q^T Q is 1", "[kernels]", double) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 5}, {90, 60}}) {
    const run<decomposition::qr, TestType> r(m, n, m + n, n);
    const matrix<TestType> q = r.out.topRows(m);
    const matrix<TestType> upper = r.out.bottomRows(n);
    CHECK(upper.isUpperTriangular(0));
    CHECK(static_cast<double>((q * upper - r.a).cwiseAbs().maxCoeff()) < tolerance<TestType>);
    CHECK((q.transpose() * q).isIdentity(static_cast<TestType>(tolerance<TestType>)));
  }
}

TEMPLATE_TEST_CASE("eigh: V diag(w) V^T is the symmetric part", "[kernels]", double) {
  for (const std::int64_t n : {1, 5, 50}) {
    const run<decomposition::eigh, TestType> r(n, n, n + 1, n);
    const matrix<TestType> v = r.out.topRows(n);
    const matrix<TestType> w = r.out.bottomRows(1);
    const matrix<TestType> rest =
        v * w.row(0).asDiagonal() * v.transpose() - (r.a + r.a.transpose()) / 2;
    CHECK(static_cast<double>(rest.cwiseAbs().maxCoeff()) < tolerance<TestType>);
    for (std::int64_t i = 1; i < n; ++i) CHECK(w(0, i - 1) <= w(0, i));
  }
}

TEMPLATE_TEST_CASE("svd: U diag(s) V^T is the matrix", "[kernels]", float, double) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 5}, {60, 30}}) {
    const run<decomposition::svd, TestType> r(m, n, m + n + 1, n);
    const matrix<TestType> u = r.out.topRows(m);
    const matrix<TestType> v = r.out.middleRows(m, n);
    const matrix<TestType> s = r.out.bottomRows(1);
    const matrix<TestType> rest = u * s.row(0).asDiagonal() * v.transpose() - r.a;
    CHECK(static_cast<double>(rest.cwiseAbs().maxCoeff()) < tolerance<TestType>);
    CHECK((u.transpose() * u).isIdentity(static_cast<TestType>(tolerance<TestType>)));
    for (std::int64_t i = 1; i < n; ++i) CHECK(s(0, i - 1) >= s(0, i));
  }
}

TEST_CASE("svd: of zeros and of lower rank all vectors are orthonormal", "[kernels]") {
  for (const bool is_zero : {true, false}) {
    std::vector<double> in(12, is_zero ? 0.0 : 3e200);
    std::vector<double> out(24);
    decomposer<decomposition::svd, double>::run({0, 1, 4, 3, 0}, in.data(), out.data());
    const detail::matrix_view<double> all(out.data(), 8, 3);
    CHECK((all.topRows(4).transpose() * all.topRows(4)).isIdentity(1e-14));
    CHECK((all.middleRows(4, 3).transpose() * all.middleRows(4, 3)).isIdentity(1e-14));
    CHECK(std::abs(all(7, 0) / 3e200 - (is_zero ? 0 : std::sqrt(12.0))) < 1e-14);
  }
}
