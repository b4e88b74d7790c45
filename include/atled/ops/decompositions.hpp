// atled/ops/decompositions.hpp: factors of matrices: cholesky, lu, qr, eigh, svd, and triangular
// systems. Reads: ops/linalg.hpp, ops/slice.hpp. Next: ops/solve.hpp. A program that calls one of
// them also includes atled/linalg.hpp, where the kernels are.
//
// Leading axes are batches. Integers, booleans, bf16 and f16 become f32. A matrix without the
// factors that are asked for gives NaN.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/creation.hpp"
#include "atled/ops/index.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/slice.hpp"

#include <tuple>
#include <utility>

namespace atled::linalg {

namespace detail {

/// Matrices of f32 or f64; poison with a sentence where `x` is none, or not square if it must be.
constexpr ir::operand begin_matrix(const expr& x, const call_site& at, bool is_square = false) {
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  text why;
  const expr poison(in.builder(), ir::poison);
  if (type.rank() < 2) {
    static_cast<void>(
        ir::fail(in.builder(), why << type << ": it takes matrices, of two axes or more"));
    return {poison, at};
  }
  if (is_square && type.dims[type.rank() - 2] != type.dims[type.rank() - 1]) {
    static_cast<void>(ir::fail(in.builder(), why << type << ": the matrix must be square"));
    return {poison, at};
  }
  return in.as(type.element == dtype::f64 ? dtype::f64 : dtype::f32);
}

constexpr std::int64_t rows_of(const ir::operand& x) {
  return x.type().dims[x.type().rank() - 2];
}
constexpr std::int64_t cols_of(const ir::operand& x) {
  return x.type().dims[x.type().rank() - 1];
}

constexpr ir::operand block_of(const ir::operand& x, std::int64_t row, std::int64_t rows,
                               std::int64_t col, std::int64_t cols) {
  ir::builder& b = x.builder();
  if (x.is_poison() || (rows_of(x) == rows && cols_of(x) == cols)) return x;
  shape dims = x.type().dims;
  shape starts{};
  starts.rank = dims.rank;
  shape ones = starts;
  for (int i = 0; i < dims.rank; ++i) ones[i] = 1;
  starts[dims.rank - 2] = row;
  starts[dims.rank - 1] = col;
  dims[dims.rank - 2] = rows;
  dims[dims.rank - 1] = cols;
  return {b, b.slice(x.id(), starts, dims, ones)};
}

/// The only column, or the only row, as a vector.
constexpr ir::operand as_vector(const ir::operand& x) {
  if (x.is_poison()) return x;
  shape dims = x.type().dims;
  const std::int64_t size = rows_of(x) * cols_of(x);
  --dims.rank;
  dims[dims.rank - 1] = size;
  return {x.builder(), x.builder().reshape(x.id(), dims)};
}

/// One op on matrices.
constexpr ir::operand factored(op code, const ir::operand& x) {
  return {x.builder(), x.builder().append(code, {x.id()})};
}
constexpr ir::operand triangle_solved(const ir::operand& a, const ir::operand& y,
                                      std::int64_t flags) {
  ir::builder& b = a.builder();
  return {b, b.append(op::triangular_solve, {a.id(), y.id()}, ir::attribute_list::of(flags))};
}

/// Square matrices and right sides with the same leading axes.
struct system {
  ir::operand a;
  ir::operand b;
  bool is_vector;  ///< the right side was given without an axis of columns

  [[nodiscard]] constexpr bool is_poison() const { return a.is_poison() || b.is_poison(); }
  [[nodiscard]] constexpr expr finished(const ir::operand& x) const {
    return is_vector ? as_vector(x) : x;
  }
};
constexpr system begin_system(const expr& a, const expr& b, const call_site& at,
                              bool is_square = true) {
  const ir::operand left = begin_matrix(a, at, is_square);
  ir::builder& into = left.builder();
  const ir::operand given(into, b.id());
  const ir::operand poison(into, ir::poison);
  if (left.is_poison() || given.is_poison()) return {poison, poison, false};
  const tensor_type l = left.type();
  tensor_type r = given.type();
  const bool is_vector = r.rank() == 1;
  if (is_vector) r.dims.push(1);
  text why;
  why << "a " << l << " and b " << given.type() << ": ";
  if (r.rank() == 0 || r.dims[r.rank() - 2] != rows_of(left)) {
    static_cast<void>(ir::fail(into, why << "b must have " << rows_of(left) << " rows"));
    return {poison, poison, false};
  }
  shape lead{};
  const int most = l.rank() > r.rank() ? l.rank() : r.rank();
  for (int i = 0; i < most - 2; ++i) {
    const int li = i - (most - l.rank());
    const int ri = i - (most - r.rank());
    const std::int64_t x = li >= 0 ? l.dims[li] : 1;
    const std::int64_t y = ri >= 0 ? r.dims[ri] : 1;
    if (x != y && x != 1 && y != 1) {
      static_cast<void>(ir::fail(into, why << "leading axes must be equal or 1"));
      return {poison, poison, false};
    }
    lead.push(x == 1 ? y : x);
  }
  const dtype element = promote(l.element, r.element == dtype::f64 ? dtype::f64 : dtype::f32);
  const auto fit = [&](const ir::operand& x, const shape& own) {
    shape dims = lead;
    dims.push(own[own.rank - 2]);
    dims.push(own[own.rank - 1]);
    const int shaped = into.reshape(into.convert(x.id(), element), own);
    return ir::operand(into, ir::broadcast_to(into, shaped, dims));
  };
  return {fit(left, l.dims), fit(given, r.dims), is_vector && lead.rank == 0};
}

/// The factors of op::lu, and the places of the rows.
struct lu_parts {
  ir::operand factors;
  ir::operand order;
};
constexpr lu_parts lu_of(const ir::operand& a) {
  const std::int64_t rows = rows_of(a);
  const std::int64_t cols = cols_of(a);
  const ir::operand both = factored(op::lu, a);
  const ir::operand order = as_vector(block_of(both, 0, rows, cols, 1));
  return {block_of(both, 0, rows, 0, cols), order.as(dtype::i32)};
}
constexpr ir::operand with_rows(const ir::operand& x, const ir::operand& order) {
  ir::builder& b = x.builder();
  const int rank = x.type().rank();
  return {b, b.gather(x.id(), order.id(), rank - 2, rank - 2, index_mode::clip)};
}
constexpr ir::operand lu_solved(const lu_parts& lu, const ir::operand& b) {
  const ir::operand half =
      triangle_solved(lu.factors, with_rows(b, lu.order), triangle::lower + triangle::unit);
  return triangle_solved(lu.factors, half, 0);
}

/// U, s, V with A = U diag(s) V^T.
struct svd_parts {
  ir::operand u;
  ir::operand s;
  ir::operand v;
};
constexpr svd_parts svd_of(const ir::operand& a, const call_site& at) {
  const std::int64_t rows = rows_of(a);
  const std::int64_t cols = cols_of(a);
  if (rows < cols) {  // A^T = V diag(s) U^T
    const svd_parts other = svd_of(ir::operand(matrix_transpose(a, at), at), at);
    return {other.v, other.s, other.u};
  }
  const ir::operand all = factored(op::svd, a);
  return {block_of(all, 0, rows, 0, cols), as_vector(block_of(all, rows + cols, 1, 0, cols)),
          block_of(all, rows, cols, 0, cols)};
}

}  // namespace detail

/// The lower triangle L with L L^T = a.
///
///   a  f32[..., N, N]     out  f32[..., N, N]
///
/// Only the symmetric part of `a` counts. NaN where `a` is not positive definite.
/// Cost: N^3 / 3 flops for each matrix.
/// Gradient: by triangular solves; symmetric.
/// Ill-formed: a is no square matrix.
/// Source: Murray, Differentiation of the Cholesky decomposition, 2016.
[[nodiscard]] constexpr expr cholesky(const expr& a, call_site at = call_site::here()) {
  const ir::operand in = detail::begin_matrix(a, at.in("cholesky"), true);
  return in.is_poison() ? in : detail::factored(op::cholesky, in);
}

/// Which triangle `solve_triangular` reads: `{.lower = true}`.
struct triangular {
  bool lower = false;
  bool transposed = false;     ///< solve T^T x = b
  bool unit_diagonal = false;  ///< the diagonal is 1 and not read
};

/// The solution x of T x = b, T the upper (lower) triangle of `a`; leading axes broadcast.
///
///   a  f32[..., N, N]     b  f32[N] or f32[..., N, K]     out  as b
///
/// Cost: N^2 flops for each right side.
/// Gradient: d_b = T^-T d_out, d_a = -d_b x^T in that triangle.
/// Ill-formed: a is not square; b has not N rows; leading axes do not broadcast.
[[nodiscard]] constexpr expr solve_triangular(const expr& a, const expr& b, triangular how = {},
                                              call_site at = call_site::here()) {
  const detail::system s = detail::begin_system(a, b, at.in("solve_triangular"));
  if (s.is_poison()) return s.a;
  const std::int64_t flags = (how.lower ? triangle::lower : 0) +
                             (how.transposed ? triangle::transposed : 0) +
                             (how.unit_diagonal ? triangle::unit : 0);
  return s.finished(detail::triangle_solved(s.a, s.b, flags));
}

/// L and U in one matrix, and the row of `a` that each of their rows is: a[p] = L U.
///
///   a  f32[..., M, N]     out  f32[..., M, N], i32[..., M]
///
/// Gradient: through L and U, where U has no zero on its diagonal.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr std::pair<expr, expr> lu_factor(const expr& a,
                                                        call_site at = call_site::here()) {
  const ir::operand in = detail::begin_matrix(a, at.in("lu_factor"));
  if (in.is_poison()) return {in, in};
  const detail::lu_parts lu = detail::lu_of(in);
  return {lu.factors, lu.order};
}

/// P, L and U with a = P L U: a permutation, ones on the diagonal of L, pivots on that of U.
///
///   a  f32[..., M, N]     out  f32[..., M, M], f32[..., M, K], f32[..., K, N], K = min(M, N)
///
/// Cost: 2 N^3 / 3 flops for each matrix.
/// Gradient: where U has no zero on its diagonal.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr std::tuple<expr, expr, expr> lu(const expr& a,
                                                        call_site at = call_site::here()) {
  at = at.in("lu");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return {in, in, in};
  const std::int64_t rows = detail::rows_of(in);
  const std::int64_t cols = detail::cols_of(in);
  const std::int64_t least = rows < cols ? rows : cols;
  const detail::lu_parts parts = detail::lu_of(in);
  const expr turned = one_hot(parts.order, rows, in.type().element, at);  // P^T
  const ir::operand below = detail::block_of(parts.factors, 0, rows, 0, least);
  const ir::operand strict(tril(below, -1, at), at);
  const ir::operand ones(eye(below, rows, in.type().element, at), at);
  shape corner = shape::of({rows, least});
  const ir::operand unit(slice(ones, {0, 0}, corner, {1, 1}, at), at);
  return {matrix_transpose(turned, at), strict + unit,
          triu(detail::block_of(parts.factors, 0, least, 0, cols), 0, at)};
}

/// Q with orthonormal columns and an upper R with a = Q R.
///
///   a  f32[..., M, N]     out  f32[..., M, K], f32[..., K, N], K = min(M, N)
///
/// Cost: 4 M N^2 flops for each matrix.
/// Gradient: where the first K columns are independent.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr std::pair<expr, expr> qr(const expr& a, call_site at = call_site::here()) {
  at = at.in("qr");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return {in, in};
  const std::int64_t rows = detail::rows_of(in);
  const std::int64_t cols = detail::cols_of(in);
  const std::int64_t least = rows < cols ? rows : cols;
  const ir::operand both = detail::factored(op::qr, detail::block_of(in, 0, rows, 0, least));
  const ir::operand q = detail::block_of(both, 0, rows, 0, least);
  const ir::operand r = detail::block_of(both, rows, least, 0, least);
  if (cols == least) return {q, r};
  const ir::operand rest = detail::block_of(in, 0, rows, least, cols - least);  // Q^T of it
  const expr right = matmul(matrix_transpose(q, at), rest, at);
  return {q, concatenate({r, right}, -1, at)};
}

/// The eigenvalues, ascending, and the eigenvectors as columns of the symmetric part of `a`.
///
///   a  f32[..., N, N]     out  f32[..., N], f32[..., N, N]
///
/// Cost: about 9 N^3 flops for each matrix.
/// Gradient: symmetric. Equal eigenvalues turn their vectors by nothing, so that the gradient of
/// what depends on the values alone is right and nothing is NaN; a second order lacks that turn.
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr std::pair<expr, expr> eigh(const expr& a,
                                                   call_site at = call_site::here()) {
  const ir::operand in = detail::begin_matrix(a, at.in("eigh"), true);
  if (in.is_poison()) return {in, in};
  const std::int64_t size = detail::rows_of(in);
  const ir::operand both = detail::factored(op::eigh, in);
  return {detail::as_vector(detail::block_of(both, size, 1, 0, size)),
          detail::block_of(both, 0, size, 0, size)};
}
/// The eigenvalues alone; all else as `eigh`.
[[nodiscard]] constexpr expr eigvalsh(const expr& a, call_site at = call_site::here()) {
  return eigh(a, at.in("eigvalsh")).first;
}

/// U, s and V^T with a = U diag(s) V^T: orthonormal columns, values descending, orthonormal rows.
///
///   a  f32[..., M, N]     out  f32[..., M, K], f32[..., K], f32[..., K, N], K = min(M, N)
///
/// Cost: about 20 M N^2 flops for each matrix.
/// Gradient: as of `eigh`; a value of 0 has the derivative of its sign, and moves no vector.
/// Ill-formed: a is no matrix.
[[nodiscard]] constexpr std::tuple<expr, expr, expr> svd(const expr& a,
                                                         call_site at = call_site::here()) {
  at = at.in("svd");
  const ir::operand in = detail::begin_matrix(a, at);
  if (in.is_poison()) return {in, in, in};
  const detail::svd_parts parts = detail::svd_of(in, at);
  return {parts.u, parts.s, matrix_transpose(parts.v, at)};
}
/// The singular values alone; all else as `svd`.
[[nodiscard]] constexpr expr svdvals(const expr& a, call_site at = call_site::here()) {
  return std::get<1>(svd(a, at.in("svdvals")));
}

}  // namespace atled::linalg
