// atled/passes/jvp_linalg.hpp: derivative rules of decompositions, for passes/jvp.hpp.
// Reads: passes/ids.hpp. Each rule is made of products, masks and triangular solves, which are
// linear in the tangent, so that reverse mode and higher orders follow.
//
// Source: Giles, An extended collection of matrix derivative results, 2008 (cholesky, eigh, svd);
// Seeger et al., Auto-differentiating linear algebra, 2017 (lu, qr); Walter and Lehmann,
// Algorithmic differentiation of linear algebra functions, 2010 (qr).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes::detail {

constexpr std::int64_t rows_of(const ir::builder& b, int x) {
  return b.type(x).dims[b.type(x).rank() - 2];
}
constexpr std::int64_t cols_of(const ir::builder& b, int x) {
  return b.type(x).dims[b.type(x).rank() - 1];
}

/// x y for each pair of matrices, or with an operand transposed.
constexpr int matrix_product(ir::builder& b, int x, int y, bool turns_x = false,
                             bool turns_y = false) {
  if (x < 0 || y < 0) return ir::poison;
  const int last = b.type(x).rank() - 1;
  ir::dot_axes axes{};
  for (int i = 0; i + 1 < last; ++i) axes.batch(i, i);
  axes.contract(turns_x ? last - 1 : last, turns_y ? last : last - 1);
  return b.dot(x, y, axes);
}

constexpr int turned(ir::builder& b, int x) {
  if (x < 0) return ir::poison;
  const int rank = b.type(x).rank();
  std::int64_t order = 0;
  for (int i = 0; i < rank; ++i) {
    const int from = i < rank - 2 ? i : 2 * rank - 3 - i;
    order = ir::with_permuted_axis(order, i, from);
  }
  return b.transpose(x, order);
}

/// Rows from `row` on and columns from `col` on.
constexpr int block_of(ir::builder& b, int x, std::int64_t row, std::int64_t rows, std::int64_t col,
                       std::int64_t cols) {
  if (x < 0) return ir::poison;
  shape dims = b.type(x).dims;
  if (dims[dims.rank - 2] == rows && dims[dims.rank - 1] == cols) return x;
  shape starts{};
  starts.rank = dims.rank;
  shape ones = starts;
  for (int i = 0; i < dims.rank; ++i) ones[i] = 1;
  starts[dims.rank - 2] = row;
  starts[dims.rank - 1] = col;
  dims[dims.rank - 2] = rows;
  dims[dims.rank - 1] = cols;
  return b.slice(x, starts, dims, ones);
}

/// The matrix with zeros below and to the right.
constexpr int enlarged(ir::builder& b, int x, std::int64_t rows, std::int64_t cols) {
  if (x < 0) return ir::poison;
  shape dims = b.type(x).dims;
  if (dims[dims.rank - 2] == rows && dims[dims.rank - 1] == cols) return x;
  dims[dims.rank - 2] = rows;
  dims[dims.rank - 1] = cols;
  shape none{};
  none.rank = dims.rank;
  return b.pad(x, b.constant(0, b.type(x).element), none, none, dims);
}

/// Matrices one above the other.
constexpr int stacked(ir::builder& b, int upper, int lower) {
  if (upper < 0 || lower < 0) return ir::poison;
  return b.append(op::concatenate, {upper, lower},
                  ir::attribute_list::of(b.type(upper).rank() - 2));
}

/// Where row `compare` column holds: ge is the lower triangle, le the upper, eq the diagonal.
constexpr int triangle_mask(ir::builder& b, int x, op compare) {
  const tensor_type index{dtype::i32, b.type(x).dims};
  return b.binary(compare, b.iota(index, index.rank() - 2), b.iota(index, index.rank() - 1));
}
/// `x` where row `compare` column holds, else 0.
constexpr int triangle_of(ir::builder& b, int x, op compare) {
  if (x < 0) return ir::poison;
  return b.select(triangle_mask(b, x, compare), x, zeros_like(b, x));
}
constexpr int with_diagonal(ir::builder& b, int x, double value, std::int64_t from) {
  if (x < 0) return ir::poison;
  const tensor_type type = b.type(x);
  const int row = b.iota({dtype::i32, type.dims}, type.rank() - 2);
  const int starts = b.binary(op::ge, row, b.splat(static_cast<double>(from), b.type(row)));
  const int chosen = b.binary(op::bit_and, triangle_mask(b, x, op::eq), starts);
  return b.select(chosen, b.splat(value, type), x);
}
constexpr int diagonal_of(ir::builder& b, int x) {
  if (x < 0) return ir::poison;
  const int last = b.type(x).rank() - 1;
  return b.reduce(op::reduce_sum, triangle_of(b, x, op::eq), std::int64_t{1} << last);
}

/// A vector along the columns of matrices like `like`: element j stands in each row of column j.
constexpr int along_columns(ir::builder& b, int row, int like) {
  if (row < 0 || like < 0) return ir::poison;
  const shape& dims = b.type(like).dims;
  const std::int64_t all = (std::int64_t{1} << dims.rank) - 1;
  return b.broadcast(row, dims, all & ~(std::int64_t{1} << (dims.rank - 2)));
}
constexpr int along_rows(ir::builder& b, int column, int like) {
  if (column < 0 || like < 0) return ir::poison;
  const shape& dims = b.type(like).dims;
  const std::int64_t all = (std::int64_t{1} << dims.rank) - 1;
  return b.broadcast(column, dims, all & ~(std::int64_t{1} << (dims.rank - 1)));
}
/// The only row of a matrix as a vector.
constexpr int as_vector(ir::builder& b, int row) {
  if (row < 0) return ir::poison;
  shape dims{};
  for (int i = 0; i < b.type(row).rank(); ++i) {
    if (i != b.type(row).rank() - 2) dims.push(b.type(row).dims[i]);
  }
  return b.reshape(row, dims);
}
constexpr int as_row(ir::builder& b, int vector) {
  if (vector < 0) return ir::poison;
  shape dims = b.type(vector).dims;
  const std::int64_t size = dims[dims.rank - 1];
  dims[dims.rank - 1] = 1;
  dims.push(size);
  return b.reshape(vector, dims);
}

/// The solution of T x = y, T a triangle of `matrix`; or with flags transposed, T^T x = y.
constexpr int solved(ir::builder& b, int matrix, int y, std::int64_t flags) {
  return b.append(op::triangular_solve, {matrix, y}, ir::attribute_list::of(flags));
}
/// The solution of x U = y: U^T x^T = y^T.
constexpr int solved_from_right(ir::builder& b, int y, int upper) {
  return turned(b, solved(b, upper, turned(b, y), triangle::transposed));
}

constexpr int symmetric_part(ir::builder& b, int x) {
  return b.scale(b.add(x, turned(b, x)), 0.5);
}

/// 1 / x, and 0 where x is 0.
constexpr int inverse_or_zero(ir::builder& b, int x) {
  if (x < 0) return ir::poison;
  const int zero = zeros_like(b, x);
  const int one = b.splat(1, b.type(x));
  const int is_zero = b.binary(op::eq, x, zero);
  return b.select(is_zero, zero, b.div(one, b.select(is_zero, one, x)));
}

/// dL = L phi(L^-1 dA L^-T), phi: the lower triangle with half of the diagonal.
constexpr int cholesky_rule(ir::builder& b, int z, int dx) {
  const int half = solved(b, z, symmetric_part(b, dx), triangle::lower);
  const int inner = solved(b, z, turned(b, half), triangle::lower);
  const int phi =
      b.select(triangle_mask(b, z, op::eq), b.scale(inner, 0.5), triangle_of(b, inner, op::ge));
  return matrix_product(b, z, phi);
}

/// T dz = dy - dT z
constexpr int triangular_solve_rule(ir::builder& b, int z, int dx, int dy) {
  const std::int64_t flags = b.g.attribute(z);
  int change = dy;
  if (dx != ir::no_node) {
    const bool is_lower = (flags & triangle::lower) != 0;
    const bool is_unit = (flags & triangle::unit) != 0;
    const int read =
        triangle_of(b, dx, is_lower ? (is_unit ? op::gt : op::ge) : (is_unit ? op::lt : op::le));
    const int moved = matrix_product(b, read, z, (flags & triangle::transposed) != 0);
    change = dy == ir::no_node ? b.neg(moved) : b.sub(dy, moved);
  }
  return solved(b, b.g.operand(z, 0), change, flags);
}

/// With W = L^-1 P dA U^-1: dL = L tril(W, -1), dU = triu(W) U, L and U made square by ones.
constexpr int lu_rule(ir::builder& b, int z, int dx) {
  const std::int64_t rows = rows_of(b, dx);
  const std::int64_t cols = cols_of(b, dx);
  const std::int64_t least = rows < cols ? rows : cols;
  const int rank = b.type(dx).rank();
  shape row_dims = b.type(dx).dims;
  row_dims.rank = rank - 1;
  const int order = b.convert(b.reshape(block_of(b, z, 0, rows, cols, 1), row_dims), dtype::i32);
  const int moved = b.gather(dx, order, rank - 2, rank - 2, index_mode::clip);
  const int below = triangle_of(b, block_of(b, z, 0, rows, 0, least), op::gt);
  const int above = triangle_of(b, block_of(b, z, 0, least, 0, cols), op::le);
  const int lower = with_diagonal(b, enlarged(b, below, rows, rows), 1, 0);
  const int upper = with_diagonal(b, enlarged(b, above, cols, cols), 1, least);
  const int left = solved(b, lower, moved, triangle::lower + triangle::unit);
  const int inner = solved_from_right(b, left, upper);
  const int both = b.add(matrix_product(b, lower, triangle_of(b, inner, op::gt)),
                         matrix_product(b, triangle_of(b, inner, op::le), upper));
  return enlarged(b, both, rows, cols + 1);
}

/// With C = dA R^-1, S = Q^T C and O = tril(S, -1) - tril(S, -1)^T: dQ = C + Q (O - S),
/// dR = (S - O) R.
constexpr int qr_rule(ir::builder& b, int z, int dx) {
  const std::int64_t rows = rows_of(b, dx);
  const std::int64_t cols = cols_of(b, dx);
  const int q = block_of(b, z, 0, rows, 0, cols);
  const int r = block_of(b, z, rows, cols, 0, cols);
  const int change = solved_from_right(b, dx, r);
  const int inner = matrix_product(b, q, change, true);
  const int below = triangle_of(b, inner, op::gt);
  const int turning = b.sub(below, turned(b, below));
  const int dq = b.add(change, matrix_product(b, q, b.sub(turning, inner)));
  const int dr = matrix_product(b, b.sub(inner, turning), r);
  return stacked(b, dq, triangle_of(b, dr, op::le));
}

/// With S = V^T dA V: dw = diag(S), dV = V (F * S), F_ij = 1 / (w_j - w_i), 0 for equal ones.
constexpr int eigh_rule(ir::builder& b, int z, int dx) {
  const std::int64_t size = cols_of(b, dx);
  const int v = block_of(b, z, 0, size, 0, size);
  const int w = as_vector(b, block_of(b, z, size, 1, 0, size));
  const int inner = matrix_product(b, v, matrix_product(b, symmetric_part(b, dx), v), true);
  const int gap = b.sub(along_columns(b, w, dx), along_rows(b, w, dx));
  const int dv = matrix_product(b, v, b.strong_mul(inner, inverse_or_zero(b, gap)));
  return stacked(b, dv, as_row(b, diagonal_of(b, inner)));
}

/// With S = U^T dA V and F_ij = 1 / (s_j^2 - s_i^2), 0 for equal ones:
/// ds = diag(S), dU = U (F * (S s_j + s_i S^T)), dV = V (F * (s_i S + S^T s_j)), and what of dA V
/// lies outside of the columns of U is added to dU, over s.
constexpr int svd_rule(ir::builder& b, int z, int dx) {
  const std::int64_t rows = rows_of(b, dx);
  const std::int64_t cols = cols_of(b, dx);
  const int u = block_of(b, z, 0, rows, 0, cols);
  const int v = block_of(b, z, rows, cols, 0, cols);
  const int s = as_vector(b, block_of(b, z, rows + cols, 1, 0, cols));
  const int moved = matrix_product(b, dx, v);
  const int inner = matrix_product(b, u, moved, true);
  const int other = turned(b, inner);
  const int s_row = along_rows(b, s, inner);
  const int s_column = along_columns(b, s, inner);
  const int gap = b.mul(b.sub(s_column, s_row), b.add(s_column, s_row));
  const int f = inverse_or_zero(b, gap);
  const auto turning = [&](int x, int y) {
    return b.strong_mul(b.add(b.mul(x, s_column), b.mul(y, s_row)), f);
  };
  int du = matrix_product(b, u, turning(inner, other));
  const int dv = matrix_product(b, v, turning(other, inner));
  if (rows > cols) {
    const int outside = b.sub(moved, matrix_product(b, u, inner));
    du = b.add(du, b.strong_mul(outside, along_columns(b, inverse_or_zero(b, s), outside)));
  }
  return stacked(b, stacked(b, du, dv), as_row(b, diagonal_of(b, inner)));
}

}  // namespace atled::passes::detail
