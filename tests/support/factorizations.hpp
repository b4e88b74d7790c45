// support/factorizations.hpp: factors of one matrix, as plainly as they can be had: the oracle of
// linear algebra. Reads: ir/op.hpp. Signs are those of LAPACK where there is a choice in qr only.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/op.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace atled::oracle {

struct matrix {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<double> at;

  matrix() = default;
  matrix(std::size_t m, std::size_t n) : rows(m), cols(n), at(m * n) {}
  matrix(std::size_t m, std::size_t n, const double* from)
      : rows(m), cols(n), at(from, from + m * n) {}
  double& operator()(std::size_t i, std::size_t j) { return at[i * cols + j]; }
  double operator()(std::size_t i, std::size_t j) const { return at[i * cols + j]; }
};

inline matrix symmetrized(const matrix& a) {
  matrix out(a.rows, a.cols);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.cols; ++j) out(i, j) = 0.5 * (a(i, j) + a(j, i));
  }
  return out;
}

inline matrix solved_triangle(const matrix& a, const matrix& y, std::int64_t flags) {
  const bool turns = (flags & triangle::transposed) != 0;
  const bool is_lower = ((flags & triangle::lower) != 0) != turns;
  const auto element = [&](std::size_t i, std::size_t j) { return turns ? a(j, i) : a(i, j); };
  matrix x = y;
  for (std::size_t c = 0; c < y.cols; ++c) {
    for (std::size_t step = 0; step < a.rows; ++step) {
      const std::size_t i = is_lower ? step : a.rows - 1 - step;
      for (std::size_t done = 0; done < step; ++done) {
        const std::size_t j = is_lower ? done : a.rows - 1 - done;
        x(i, c) -= element(i, j) * x(j, c);
      }
      if ((flags & triangle::unit) == 0) x(i, c) /= element(i, i);
    }
  }
  return x;
}

inline matrix cholesky_of(const matrix& given) {
  const matrix a = symmetrized(given);
  matrix l(a.rows, a.rows);
  for (std::size_t j = 0; j < a.rows; ++j) {
    for (std::size_t i = j; i < a.rows; ++i) {
      double sum = a(i, j);
      for (std::size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      l(i, j) = i == j ? (sum > 0 ? std::sqrt(sum) : std::numeric_limits<double>::quiet_NaN())
                       : sum / l(j, j);
    }
  }
  const bool fails = std::isnan(l(a.rows - 1, a.rows - 1));
  for (std::size_t i = 0; fails && i < a.rows; ++i) {
    for (std::size_t j = 0; j <= i; ++j) l(i, j) = std::numeric_limits<double>::quiet_NaN();
  }
  return l;
}

inline matrix lu_of(const matrix& given) {
  const std::size_t m = given.rows;
  const std::size_t n = given.cols;
  matrix out(m, n + 1);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) out(i, j) = given(i, j);
    out(i, n) = static_cast<double>(i);
  }
  for (std::size_t k = 0; k < std::min(m, n); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < m; ++i) {
      if (std::abs(out(i, k)) > std::abs(out(pivot, k))) pivot = i;
    }
    for (std::size_t j = 0; j <= n; ++j) std::swap(out(k, j), out(pivot, j));
    for (std::size_t i = k + 1; i < m; ++i) {
      if (out(k, k) != 0) out(i, k) /= out(k, k);
      for (std::size_t j = k + 1; j < n; ++j) out(i, j) -= out(i, k) * out(k, j);
    }
  }
  return out;
}

inline matrix qr_of(const matrix& a) {  // Gram and Schmidt, twice
  matrix out(a.rows + a.cols, a.cols);
  for (std::size_t j = 0; j < a.cols; ++j) {
    for (std::size_t i = 0; i < a.rows; ++i) out(i, j) = a(i, j);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        double along = 0;
        for (std::size_t i = 0; i < a.rows; ++i) along += out(i, k) * out(i, j);
        for (std::size_t i = 0; i < a.rows; ++i) out(i, j) -= along * out(i, k);
        out(a.rows + k, j) += along;
      }
    }
    double length = 0;
    for (std::size_t i = 0; i < a.rows; ++i) length += out(i, j) * out(i, j);
    length = -std::sqrt(length);
    for (std::size_t i = 0; i < a.rows; ++i) out(i, j) /= length;
    out(a.rows + j, j) = length;
  }
  return out;
}

/// Rotates pairs of columns of `u` until they are orthogonal, and those of `v` with them.
inline void orthogonalize(matrix& u, matrix& v) {
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::size_t p = 0; p < u.cols; ++p) {
      for (std::size_t q = p + 1; q < u.cols; ++q) {
        double pp = 0;
        double qq = 0;
        double pq = 0;
        for (std::size_t i = 0; i < u.rows; ++i) {
          pp += u(i, p) * u(i, p);
          qq += u(i, q) * u(i, q);
          pq += u(i, p) * u(i, q);
        }
        if (std::abs(pq) <= 1e-17 * std::sqrt(pp * qq)) continue;
        const double angle = (qq - pp) / (2 * pq);
        const double t = (angle < 0 ? -1 : 1) / (std::abs(angle) + std::hypot(1.0, angle));
        const double c = 1 / std::hypot(1.0, t);
        for (matrix* each : {&u, &v}) {
          for (std::size_t i = 0; i < each->rows; ++i) {
            const double x = (*each)(i, p);
            const double y = (*each)(i, q);
            (*each)(i, p) = c * (x - t * y);
            (*each)(i, q) = c * (t * x + y);
          }
        }
      }
    }
  }
}

/// Column `j` as a unit vector orthogonal to the columns before it.
inline void complete_column(matrix& u, std::size_t rows, std::size_t j) {
  double longest = -1;
  std::vector<double> best(rows);
  for (std::size_t k = 0; k < rows; ++k) {
    std::vector<double> x(rows);
    x[k] = 1;
    for (int twice = 0; twice < 2; ++twice) {
      for (std::size_t c = 0; c < j; ++c) {
        double along = 0;
        for (std::size_t i = 0; i < rows; ++i) along += x[i] * u(i, c);
        for (std::size_t i = 0; i < rows; ++i) x[i] -= along * u(i, c);
      }
    }
    double length = 0;
    for (const double value : x) length = std::hypot(length, value);
    if (length <= longest) continue;
    longest = length;
    for (std::size_t i = 0; i < rows; ++i) best[i] = x[i] / length;
  }
  for (std::size_t i = 0; i < rows; ++i) u(i, j) = best[i];
}

inline matrix svd_of(const matrix& a) {
  matrix u = a;
  matrix v(a.cols, a.cols);
  for (std::size_t i = 0; i < a.cols; ++i) v(i, i) = 1;
  orthogonalize(u, v);
  std::vector<double> s(a.cols);
  for (std::size_t j = 0; j < a.cols; ++j) {
    for (std::size_t i = 0; i < a.rows; ++i) s[j] = std::hypot(s[j], u(i, j));
  }
  std::vector<std::size_t> order(a.cols);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto l, auto r) { return s[l] > s[r]; });
  matrix out(a.rows + a.cols + 1, a.cols);
  for (std::size_t j = 0; j < a.cols; ++j) {
    const std::size_t from = order[j];
    if (s[from] <= 1e-14 * s[order[0]]) {
      complete_column(out, a.rows, j);
    } else {
      for (std::size_t i = 0; i < a.rows; ++i) out(i, j) = u(i, from) / s[from];
    }
    for (std::size_t i = 0; i < a.cols; ++i) out(a.rows + i, j) = v(i, from);
    out(a.rows + a.cols, j) = s[from];
  }
  return out;
}

/// By the singular vectors of A + c I, which is positive.
inline matrix eigh_of(const matrix& given) {
  matrix a = symmetrized(given);
  double shift = 1;
  for (const double x : a.at) shift += std::abs(x);
  for (std::size_t i = 0; i < a.rows; ++i) a(i, i) += shift;
  const matrix factors = svd_of(a);
  matrix out(a.rows + 1, a.rows);
  for (std::size_t j = 0; j < a.rows; ++j) {
    const std::size_t from = a.rows - 1 - j;
    for (std::size_t i = 0; i < a.rows; ++i) out(i, j) = factors(a.rows + i, from);
    out(a.rows, j) = factors(2 * a.rows, from) - shift;
  }
  return out;
}

inline matrix factorized(op code, const matrix& a) {
  if (code == op::cholesky) return cholesky_of(a);
  if (code == op::lu) return lu_of(a);
  if (code == op::qr) return qr_of(a);
  return code == op::eigh ? eigh_of(a) : svd_of(a);
}

}  // namespace atled::oracle
