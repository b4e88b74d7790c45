// atled/ops/matrix.hpp: diagonals, traces, grids, and products of matrices that are no contraction.
// Reads: ops/reduce.hpp, ops/slice.hpp. Products are in ops/linalg.hpp, triangles and eye in
// ops/creation.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/ops/slice.hpp"

#include <array>
#include <concepts>

namespace atled {

/// The diagonal j = i + k of the two axes, as a new last axis.
///
///   x  f32[B, N, N]     diagonal(x, 0, 1, 2)  f32[B, N]
///
/// Ill-formed: an axis out of range; one axis given twice; a diagonal outside.
[[nodiscard]] constexpr expr diagonal(const expr& x, std::int64_t k = 0, int rows = 0,
                                      int columns = 1, call_site at = call_site::here()) {
  at = at.in("diagonal");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  const int row_axis = ir::resolved_axis(b, type, rows);
  const int column_axis = ir::resolved_axis(b, type, columns);
  if (row_axis < 0 || column_axis < 0) return {b, ir::poison};
  text why;
  if (row_axis == column_axis) {
    return ir::fail(b, why << type << ": axis " << row_axis << " is given twice: each axis once");
  }
  const std::int64_t n = type.dims[row_axis];
  const std::int64_t m = type.dims[column_axis];
  if (k > m || -k > n) {
    return ir::fail(b, why << type << ": there is no diagonal " << k);
  }
  // Of the flattened matrix every (m + 1)-th element.
  axes order = axes{std::initializer_list<int>{}};
  shape starts{};
  shape flat{};
  shape strides{};
  for (int i = 0; i < type.rank(); ++i) {
    if (i == row_axis || i == column_axis) continue;
    order.push(i);
    starts.push(0);
    flat.push(type.dims[i]);
    strides.push(1);
  }
  order.push(row_axis);
  order.push(column_axis);
  const expr moved = transpose(in, order, at);
  shape sizes = flat;
  flat.push(n * m);
  const std::int64_t height = k < 0 ? n + k : n;
  const std::int64_t width = k > 0 ? m - k : m;
  sizes.push(height < width ? height : width);
  starts.push(sizes[sizes.rank - 1] == 0 ? 0 : k < 0 ? -k * m : k);
  strides.push(m + 1);
  return {b, b.slice(b.reshape(moved.id(), flat), starts, sizes, strides)};
}

/// The sum of a diagonal.
///
/// Ill-formed: as `diagonal`.
[[nodiscard]] constexpr expr trace(const expr& x, std::int64_t k = 0, int rows = 0, int columns = 1,
                                   call_site at = call_site::here()) {
  at = at.in("trace");
  return sum(diagonal(x, k, rows, columns, at), -1, kept{}, at);
}

/// The diagonal of a matrix, or the matrix with this diagonal and 0 elsewhere.
///
///   x  f32[N, N]     diag(x)  f32[N]     v  f32[N]     diag(v)  f32[N, N]
///
/// Ill-formed: neither one axis nor two.
[[nodiscard]] constexpr expr diag(const expr& x, std::int64_t k = 0,
                                  call_site at = call_site::here()) {
  at = at.in("diag");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  if (type.rank() == 2) return diagonal(x, k, 0, 1, at);
  if (type.rank() != 1) {
    text why;
    return ir::fail(b, why << type << ": it must have one axis or two");
  }
  const std::int64_t size = type.dims[0] + (k < 0 ? -k : k);
  const int zero = b.constant(0, type.element);
  const int flat = b.pad(in.id(), zero, shape::of({k < 0 ? -k * size : k}), shape::of({size}),
                         shape::of({size * size}));
  return {b, b.reshape(flat, shape::of({size, size}))};
}

/// Each element of `x` times the whole of `y`, block beside block.
///
///   x  f32[A, B]     y  f32[C, D]     out  f32[A C, B D]
///
/// Ill-formed: the ranks differ or are above 4.
[[nodiscard]] constexpr expr kron(const expr& x, const expr& y, call_site at = call_site::here()) {
  const ir::operand left(x, at.in("kron"));
  ir::builder& b = left.builder();
  const ir::operand right(b, y.id());
  if (left.is_poison() || right.is_poison()) return {b, ir::poison};
  const shape outer = left.type().dims;
  const shape inner = right.type().dims;
  if (outer.rank != inner.rank || outer.rank > max_rank / 2) {
    text why;
    return ir::fail(b, why << left.type() << " and " << right.type()
                           << ": the ranks must be equal, and 4 at most");
  }
  shape wide{};
  shape narrow{};
  shape out{};
  for (int i = 0; i < outer.rank; ++i) {
    wide.push(outer[i]);
    wide.push(1);
    narrow.push(1);
    narrow.push(inner[i]);
    out.push(outer[i] * inner[i]);
  }
  const ir::operand blocks(b, b.reshape(left.id(), wide));
  return {b, b.reshape((blocks * ir::operand(b, b.reshape(right.id(), narrow))).id(), out)};
}

/// The cross product of vectors of three along the last axis.
///
/// Ill-formed: the last axis of one of them is not 3; the other axes do not broadcast.
[[nodiscard]] constexpr expr cross(const expr& x, const expr& y, call_site at = call_site::here()) {
  at = at.in("cross");
  const ir::operand left(x, at);
  ir::builder& b = left.builder();
  const ir::operand right(b, y.id());
  if (left.is_poison() || right.is_poison()) return {b, ir::poison};
  const auto has_three = [](const tensor_type& t) {
    return t.rank() > 0 && t.dims[t.rank() - 1] == 3;
  };
  if (!has_three(left.type()) || !has_three(right.type())) {
    text why;
    return ir::fail(
        b, why << left.type() << " and " << right.type() << ": the last axis must have size 3");
  }
  const auto next = [&](const ir::operand& v) {  // v1, v2, v0
    return ir::operand(roll(v, -1, -1, at), at);
  };
  return next(left * next(right) - next(left) * right);
}

namespace detail {
/// Each of N vectors along an axis of its own, repeated along the others.
template <int N>
constexpr std::array<expr, std::size_t{N}> grid(const std::array<expr, std::size_t{N}>& vectors,
                                                bool rows_first, const call_site& at) {
  static_assert(N <= max_rank, "atled::meshgrid: at most 8 axes");
  std::array<expr, std::size_t{N}> out{};
  ir::builder& b = vectors[0].builder();
  b.site = at;
  out.fill({b, ir::poison});
  const auto axis_of = [&](int i) { return rows_first || N == 1 || i > 1 ? i : 1 - i; };
  shape dims{};
  dims.rank = N;
  for (int i = 0; i < N; ++i) {
    const expr& v = vectors[static_cast<std::size_t>(i)];
    if (v.is_poison()) return out;
    if (v.rank() > 1) {
      text why;
      ir::fail(b, why << v.type() << ": each must be a vector or a scalar");
      return out;
    }
    dims[axis_of(i)] = v.size();
  }
  for (int i = 0; i < N; ++i) {
    const int flat =
        b.reshape(vectors[static_cast<std::size_t>(i)].id(), shape::of({dims[axis_of(i)]}));
    out[static_cast<std::size_t>(i)] = {b, b.broadcast(flat, dims, std::int64_t{1} << axis_of(i))};
  }
  return out;
}
}  // namespace detail

/// The coordinates of a grid: `auto [u, v] = meshgrid(x, y);`, x along axis 1 and y along axis 0.
///
///   x  f32[N]     y  f32[M]     u, v  f32[M, N]
///
/// Ill-formed: one of them is no vector.
template <std::same_as<expr>... X>
[[nodiscard]] constexpr auto meshgrid(const expr& first, const X&... rest) {
  constexpr int count = 1 + static_cast<int>(sizeof...(X));
  return detail::grid<count>({first, rest...}, false, first.builder().site.in("meshgrid"));
}
/// `meshgrid` in the order of matrices: x along axis 0, y along axis 1.
template <std::same_as<expr>... X>
[[nodiscard]] constexpr auto meshgrid_ij(const expr& first, const X&... rest) {
  constexpr int count = 1 + static_cast<int>(sizeof...(X));
  return detail::grid<count>({first, rest...}, true, first.builder().site.in("meshgrid_ij"));
}

}  // namespace atled
