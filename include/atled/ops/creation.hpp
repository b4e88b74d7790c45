// atled/ops/creation.hpp: values made from a rule inside a trace: zeros_like, full, iota, tril.
// Reads: ops/arguments.hpp. Each takes an expression first, whose program the new value belongs to.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/arguments.hpp"

namespace atled {

namespace detail {
constexpr expr filled_like(const expr& x, double value, const call_site& at) {
  return ir::operand(x, at).like(value);
}
constexpr expr filled(const expr& x, const sizes& dims, double value, dtype element,
                      const call_site& at) {
  ir::builder& b = x.builder();
  b.site = at;
  if (!ir::are_sizes(b, dims)) return {b, ir::poison};
  return {b, b.splat(value, {element, dims.dims})};
}
}  // namespace detail

/// Zeros of the type and shape of `x`.
[[nodiscard]] constexpr expr zeros_like(const expr& x, call_site at = call_site::here()) {
  return detail::filled_like(x, 0, at.in("zeros_like"));
}
/// Ones of the type and shape of `x`.
[[nodiscard]] constexpr expr ones_like(const expr& x, call_site at = call_site::here()) {
  return detail::filled_like(x, 1, at.in("ones_like"));
}
/// `value` in the type and shape of `x`.
[[nodiscard]] constexpr expr full_like(const expr& x, double value,
                                       call_site at = call_site::here()) {
  return detail::filled_like(x, value, at.in("full_like"));
}

/// `value` in the given shape, in the program of `x`.
///
/// Ill-formed: a negative size; more than 8 axes.
[[nodiscard]] constexpr expr full(const expr& x, const sizes& dims, double value,
                                  dtype element = dtype::f32, call_site at = call_site::here()) {
  return detail::filled(x, dims, value, element, at.in("full"));
}
[[nodiscard]] constexpr expr zeros(const expr& x, const sizes& dims, dtype element = dtype::f32,
                                   call_site at = call_site::here()) {
  return detail::filled(x, dims, 0, element, at.in("zeros"));
}
[[nodiscard]] constexpr expr ones(const expr& x, const sizes& dims, dtype element = dtype::f32,
                                  call_site at = call_site::here()) {
  return detail::filled(x, dims, 1, element, at.in("ones"));
}

/// In each place its index along one axis.
///
///   iota(x, {2, 3}, 1)     [[0, 1, 2], [0, 1, 2]]
///
/// Ill-formed: the axis is out of range; a negative size.
[[nodiscard]] constexpr expr iota(const expr& x, const sizes& dims, int along = 0,
                                  dtype element = dtype::i32, call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  b.site = at.in("iota");
  if (!ir::are_sizes(b, dims)) return {b, ir::poison};
  const tensor_type type{element, dims.dims};
  const int axis_id = ir::resolved_axis(b, type, along);
  return {b, axis_id < 0 ? ir::poison : b.iota(type, axis_id)};
}
/// `iota` in the shape of `x`.
[[nodiscard]] constexpr expr iota_like(const expr& x, int along = 0, dtype element = dtype::i32,
                                       call_site at = call_site::here()) {
  at = at.in("iota_like");
  return x.is_poison() ? x : iota(x, x.dims(), along, element, at);
}
/// 0, 1 ... size - 1.
[[nodiscard]] constexpr expr arange(const expr& x, std::int64_t size, dtype element = dtype::i32,
                                    call_site at = call_site::here()) {
  return iota(x, {size}, 0, element, at.in("arange"));
}

/// True on the diagonal j = i + k of a matrix and below it.
///
///   tri(x, T, S)     boolean[T, S], true where j <= i: what a causal query i may see
[[nodiscard]] constexpr expr tri(const expr& x, std::int64_t rows, std::int64_t columns,
                                 std::int64_t k = 0, call_site at = call_site::here()) {
  at = at.in("tri");
  const ir::operand row(iota(x, {rows, columns}, 0, dtype::i32, at), at);
  const ir::operand column(iota(x, {rows, columns}, 1, dtype::i32, at), at);
  return column <= (k == 0 ? row : row + static_cast<double>(k));
}

namespace detail {
constexpr expr triangle(const expr& x, std::int64_t k, bool lower, const call_site& at) {
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const shape dims = in.type().dims;
  if (dims.rank < 2) {
    text why;
    return ir::fail(b, why << in.type() << ": it must have two axes or more");
  }
  const std::int64_t lead = (std::int64_t{1} << (dims.rank - 2)) - 1;
  const std::int64_t diagonal = lower ? k : k - 1;
  const ir::operand below(tri(x, dims[dims.rank - 2], dims[dims.rank - 1], diagonal, at), at);
  const ir::operand mask = ir::spread(below, dims, lead);
  return lower ? ir::select(mask, in, in.like(0)) : ir::select(mask, in.like(0), in);
}
}  // namespace detail

/// The last two axes with 0 above the diagonal j = i + k.
///
/// Ill-formed: fewer than two axes.
[[nodiscard]] constexpr expr tril(const expr& x, std::int64_t k = 0,
                                  call_site at = call_site::here()) {
  return detail::triangle(x, k, true, at.in("tril"));
}
/// The last two axes with 0 below the diagonal j = i + k.
///
/// Ill-formed: fewer than two axes.
[[nodiscard]] constexpr expr triu(const expr& x, std::int64_t k = 0,
                                  call_site at = call_site::here()) {
  return detail::triangle(x, k, false, at.in("triu"));
}

/// Ones on the main diagonal of a square matrix, in the program of `x`.
[[nodiscard]] constexpr expr eye(const expr& x, std::int64_t size, dtype element = dtype::f32,
                                 call_site at = call_site::here()) {
  at = at.in("eye");
  const ir::operand row(iota(x, {size, size}, 0, dtype::i32, at), at);
  const ir::operand column(iota(x, {size, size}, 1, dtype::i32, at), at);
  return (row == column).as(element);
}

}  // namespace atled
