// atled/kernels/linalg.hpp: decompositions of dense matrices, through Eigen; the only place of its
// solvers.
// Reads: kernels/decomposition.hpp. Included by atled/linalg.hpp, never by the umbrella.
// What is written: ir/op.hpp. A matrix that has no factors gives NaN, as in JAX.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/kernels/decomposition.hpp"

#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wuninitialized"  // GCC bug 105593, in its AVX-512 header
#  pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic pop
#endif

#ifdef _OPENMP
#  include <omp.h>
#endif
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace atled::kernels {

namespace detail {

template <class T>
using row_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using column_major = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using matrix_view = Eigen::Map<row_major<T>>;
template <class T>
using const_matrix_view = Eigen::Map<const row_major<T>>;

template <class T>
inline constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();

/// T x = x in place, T a triangle of `a`.
template <class T, class Matrix>
void solve_triangle(const Matrix& a, bool is_lower, bool is_unit, matrix_view<T> x) {
  if (is_lower && is_unit) {
    a.template triangularView<Eigen::UnitLower>().solveInPlace(x);
  } else if (is_lower) {
    a.template triangularView<Eigen::Lower>().solveInPlace(x);
  } else if (is_unit) {
    a.template triangularView<Eigen::UnitUpper>().solveInPlace(x);
  } else {
    a.template triangularView<Eigen::Upper>().solveInPlace(x);
  }
}

/// Gauss with the largest pivot of each column, in place; the last column keeps the places of rows.
template <class T, class Matrix>
void factor_lu(Matrix&& a) {
  constexpr Eigen::Index width = 32;  // columns that are done one by one before the rest follows
  const Eigen::Index rows = a.rows();
  const Eigen::Index cols = a.cols() - 1;
  const Eigen::Index least = rows < cols ? rows : cols;
  for (Eigen::Index i = 0; i < rows; ++i) a(i, cols) = static_cast<T>(i);
  for (Eigen::Index first = 0; first < least; first += width) {
    const Eigen::Index end = first + width < least ? first + width : least;
    for (Eigen::Index k = first; k < end; ++k) {
      Eigen::Index pivot = 0;
      a.col(k).segment(k, rows - k).cwiseAbs().maxCoeff(&pivot);
      if (pivot != 0) a.row(k).swap(a.row(k + pivot));
      if (a(k, k) == T{}) continue;
      const Eigen::Index below = rows - k - 1;
      a.col(k).segment(k + 1, below) /= a(k, k);
      a.block(k + 1, k + 1, below, end - k - 1).noalias() -=
          a.col(k).segment(k + 1, below) * a.row(k).segment(k + 1, end - k - 1);
    }
    if (end == cols) continue;
    auto right = a.block(first, end, end - first, cols - end);
    a.block(first, first, end - first, end - first)
        .template triangularView<Eigen::UnitLower>()
        .solveInPlace(right);
    a.block(end, end, rows - end, cols - end).noalias() -=
        a.block(end, first, rows - end, end - first) * right;
  }
}

/// Rotates pairs of columns of `u` until all are orthogonal, and those of `v` with them.
///
/// Each rotation needs neighbours in memory only; Eigen's own takes 27 s to compile, this 1 s.
/// Source: Hestenes, Inversion of matrices by biorthogonalization, 1958; Demmel and Veselic,
/// Jacobi's method is more accurate than QR, 1992.
template <class T>
void orthogonalize(column_major<T>& u, column_major<T>& v) {
  constexpr int most_sweeps = 60;
  const T enough = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<T>(u.rows()));
  bool has_turned = true;
  for (int sweep = 0; has_turned && sweep < most_sweeps; ++sweep) {
    has_turned = false;
    for (Eigen::Index p = 0; p < u.cols(); ++p) {
      for (Eigen::Index q = p + 1; q < u.cols(); ++q) {
        const T pp = u.col(p).squaredNorm();
        const T qq = u.col(q).squaredNorm();
        const T pq = u.col(p).dot(u.col(q));
        if (std::abs(pq) <= enough * std::sqrt(pp) * std::sqrt(qq)) continue;
        has_turned = true;
        const T ratio = (qq - pp) / (2 * pq);
        const T tangent = std::copysign(T{1}, ratio) / (std::abs(ratio) + std::hypot(T{1}, ratio));
        const T cosine = 1 / std::hypot(T{1}, tangent);
        const T sine = cosine * tangent;
        const auto turn = [&](T* x, T* y, Eigen::Index size) {
          for (Eigen::Index i = 0; i < size; ++i) {
            const T moved = cosine * x[i] - sine * y[i];
            y[i] = sine * x[i] + cosine * y[i];
            x[i] = moved;
          }
        };
        turn(&u(0, p), &u(0, q), u.rows());
        turn(&v(0, p), &v(0, q), v.rows());
      }
    }
  }
}

/// Gives column `at` of `u` a direction of its own, orthogonal to the columns in `done`.
template <class T, class Columns>
void complete_column(Columns& u, const std::vector<Eigen::Index>& done, Eigen::Index at) {
  for (Eigen::Index k = 0; k < u.rows(); ++k) {
    u.col(at).setZero();
    u(k, at) = 1;
    for (int pass = 0; pass < 2; ++pass) {
      for (const Eigen::Index j : done) u.col(at) -= u.col(j) * u.col(j).dot(u.col(at));
    }
    const T length = u.col(at).norm();
    if (length * length * static_cast<T>(2 * u.rows()) < 1) continue;
    u.col(at) /= length;
    return;
  }
}

}  // namespace detail

/// Keeps Eigen from cutting a product by the number of threads, on which the last bits of a sum
/// would depend; matrices of a batch run side by side instead.
template <>
struct one_thread_for_each<true> {
#ifdef _OPENMP
  int before = Eigen::nbThreads();
  one_thread_for_each() {
    Eigen::setNbThreads(1);
  }
  ~one_thread_for_each() {
    Eigen::setNbThreads(before == omp_get_max_threads() ? 0 : before);
  }
  one_thread_for_each(const one_thread_for_each&) = delete;
  one_thread_for_each& operator=(const one_thread_for_each&) = delete;
#endif
};

/// Cost: n^3 / 3 flops.
template <class T>
struct decomposer<decomposition::cholesky, T> {
  static void run(const matrix_shape& s, const T* in, T* out) {
    const std::int64_t size = s.rows * s.rows;
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      const detail::const_matrix_view<T> a(in + i * size, s.rows, s.rows);
      detail::matrix_view<T> lower(out + i * size, s.rows, s.rows);
      const Eigen::LLT<detail::row_major<T>> factors(T{0.5} * (a + a.transpose()));
      if (factors.info() == Eigen::Success) {
        lower = factors.matrixL();
      } else {
        lower.setZero();
        lower.template triangularView<Eigen::Lower>().setConstant(detail::not_a_number<T>);
      }
    }
  }
};

/// Cost: n^2 flops for each right side.
template <class T>
struct decomposer<decomposition::triangular_solve, T> {
  static void run(const matrix_shape& s, const T* in, const T* right, T* out) {
    const bool turns = (s.flags & 2) != 0;
    const bool is_lower = ((s.flags & 1) != 0) != turns;
    const bool is_unit = (s.flags & 4) != 0;
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      detail::matrix_view<T> x(out + i * s.rows * s.cols, s.rows, s.cols);
      x = detail::const_matrix_view<T>(right + i * s.rows * s.cols, s.rows, s.cols);
      const T* a = in + i * s.rows * s.rows;
      if (turns) {  // row-major read as column-major is the transpose
        const Eigen::Map<const detail::column_major<T>> view(a, s.rows, s.rows);
        detail::solve_triangle<T>(view, is_lower, is_unit, x);
      } else {
        const detail::const_matrix_view<T> view(a, s.rows, s.rows);
        detail::solve_triangle<T>(view, is_lower, is_unit, x);
      }
    }
  }
};

/// Cost: 2 n^3 / 3 flops.
template <class T>
struct decomposer<decomposition::lu, T> {
  static void run(const matrix_shape& s, const T* in, T* out) {
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      detail::matrix_view<T> factors(out + i * s.rows * (s.cols + 1), s.rows, s.cols + 1);
      factors.leftCols(s.cols) =
          detail::const_matrix_view<T>(in + i * s.rows * s.cols, s.rows, s.cols);
      detail::factor_lu<T>(factors);
    }
  }
};

/// Cost: 4 m n^2 flops.
template <class T>
struct decomposer<decomposition::qr, T> {
  static void run(const matrix_shape& s, const T* in, T* out) {
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      const detail::const_matrix_view<T> a(in + i * s.rows * s.cols, s.rows, s.cols);
      detail::matrix_view<T> both(out + i * (s.rows + s.cols) * s.cols, s.rows + s.cols, s.cols);
      const Eigen::HouseholderQR<detail::column_major<T>> factors(a);
      detail::column_major<T> q = detail::column_major<T>::Identity(s.rows, s.cols);
      q.applyOnTheLeft(factors.householderQ());
      both.topRows(s.rows) = q;
      both.bottomRows(s.cols) =
          factors.matrixQR().topRows(s.cols).template triangularView<Eigen::Upper>();
    }
  }
};

/// Cost: about 9 n^3 flops.
template <class T>
struct decomposer<decomposition::eigh, T> {
  static void run(const matrix_shape& s, const T* in, T* out) {
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      const detail::const_matrix_view<T> a(in + i * s.rows * s.rows, s.rows, s.rows);
      detail::matrix_view<T> both(out + i * (s.rows + 1) * s.rows, s.rows + 1, s.rows);
      const Eigen::SelfAdjointEigenSolver<detail::column_major<T>> factors(T{0.5} *
                                                                           (a + a.transpose()));
      if (factors.info() == Eigen::Success && a.allFinite()) {
        both.topRows(s.rows) = factors.eigenvectors();
        both.row(s.rows) = factors.eigenvalues().transpose();
      } else {
        both.setConstant(detail::not_a_number<T>);
      }
    }
  }
};

/// Cost: about 6 m n^2 flops for each of 5 to 10 sweeps.
template <class T>
struct decomposer<decomposition::svd, T> {
  static void run(const matrix_shape& s, const T* in, T* out) {
    const std::int64_t height = s.rows + s.cols + 1;
    for (std::int64_t i = s.begin; i < s.end; ++i) {
      const detail::const_matrix_view<T> a(in + i * s.rows * s.cols, s.rows, s.cols);
      detail::matrix_view<T> all(out + i * height * s.cols, height, s.cols);
      if (!a.allFinite()) {
        all.setConstant(detail::not_a_number<T>);
        continue;
      }
      const T scale = s.rows * s.cols == 0 ? T{} : a.cwiseAbs().maxCoeff();
      detail::column_major<T> u = a / (scale > 0 ? scale : T{1});  // squares stay in range
      detail::column_major<T> v = detail::column_major<T>::Identity(s.cols, s.cols);
      detail::orthogonalize(u, v);
      std::vector<T> sizes;
      std::vector<Eigen::Index> order;
      for (Eigen::Index j = 0; j < s.cols; ++j) {
        sizes.push_back(u.col(j).norm());
        order.push_back(j);
        for (auto k = order.size() - 1; k > 0 && size_at(sizes, order[k - 1]) < sizes.back(); --k) {
          std::swap(order[k], order[k - 1]);
        }
      }
      std::vector<Eigen::Index> done;
      for (Eigen::Index j = 0; j < s.cols; ++j) {
        const Eigen::Index from = order[static_cast<std::size_t>(j)];
        const T size = size_at(sizes, from);
        if (size > std::numeric_limits<T>::min()) {
          u.col(from) /= size;
        } else {
          detail::complete_column<T>(u, done, from);
        }
        done.push_back(from);
        all.col(j).head(s.rows) = u.col(from);
        all.col(j).segment(s.rows, s.cols) = v.col(from);
        all(s.rows + s.cols, j) = size * scale;
      }
    }
  }

 private:
  static T size_at(const std::vector<T>& sizes, Eigen::Index at) {
    return sizes[static_cast<std::size_t>(at)];
  }
};

}  // namespace atled::kernels
