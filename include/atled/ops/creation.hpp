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

/// start, start + step ... up to, without, `stop`.
///
/// Ill-formed: a step of 0, or away from `stop`.
[[nodiscard]] constexpr expr arange(const expr& x, double start, double stop, double step,
                                    dtype element = dtype::f32, call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  at = at.in("arange");
  b.site = at;
  const double count = step == 0 ? -1 : (stop - start) / step;
  if (!(count > -1 && count < 9e15)) {
    text why;
    return ir::fail(b, why << "the step must lead from the start to the stop");
  }
  auto size = static_cast<std::int64_t>(count);
  size += static_cast<double>(size) < count ? 1 : 0;
  const dtype wide = is_half(element) || !is_floating(element) ? dtype::f32 : element;
  const ir::operand places(b,
                           b.iota({is_floating(element) ? wide : element, shape::of({size})}, 0));
  return (places * step + start).as(element);
}

namespace detail {
/// 0 to 1 in `count` even steps, or to one step before 1.
constexpr ir::operand unit_steps(ir::builder& b, std::int64_t count, dtype element, bool ends) {
  const ir::operand places(b, b.iota({element, shape::of({count})}, 0));
  const std::int64_t steps = ends ? count - 1 : count;
  return places / static_cast<double>(steps > 0 ? steps : 1);
}
}  // namespace detail

/// `count` evenly spaced numbers from `start` to `stop`; the last is `stop`, or with `ends` false
/// would be the next.
///
///   linspace(x, 0, 1, 5)     [0, 0.25, 0.5, 0.75, 1]
///
/// Ill-formed: a negative count; a start or stop that is no scalar.
[[nodiscard]] constexpr expr linspace(const expr& x, const located& start, const located& stop,
                                      std::int64_t count, dtype element = dtype::f32,
                                      bool ends = true, call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  b.site = at.in("linspace");
  const ir::operand from = ir::as_operand(b, start, element);
  const ir::operand to = ir::as_operand(b, stop, element);
  if (from.is_poison() || to.is_poison()) return {b, ir::poison};
  text why;
  if (count < 0 || from.type().rank() != 0 || to.type().rank() != 0) {
    return ir::fail(b, why << count << " from " << from.type() << " to " << to.type()
                           << ": the ends must be scalars, the count 0 or more");
  }
  const dtype wide = is_half(element) || !is_floating(element) ? dtype::f32 : element;
  const ir::operand t = detail::unit_steps(b, count, wide, ends);
  const ir::operand out = from.as(wide) * (1.0 - t) + to.as(wide) * t;
  return (is_floating(element) ? out : out.apply(op::floor)).as(element);
}
/// base^linspace(start, stop).
[[nodiscard]] constexpr expr logspace(const expr& x, const located& start, const located& stop,
                                      std::int64_t count, double base = 10,
                                      dtype element = dtype::f32, bool ends = true,
                                      call_site at = call_site::here()) {
  at = at.in("logspace");
  const dtype wide = element == dtype::f64 ? element : dtype::f32;
  const ir::operand powers(linspace(x, start, stop, count, wide, ends, at), at);
  return ir::operand::combine(op::pow, powers.like(base), powers).as(element);
}
/// `count` numbers from `start` to `stop`, both positive, each the same multiple of the last.
[[nodiscard]] constexpr expr geomspace(const expr& x, double start, double stop, std::int64_t count,
                                       dtype element = dtype::f32, bool ends = true,
                                       call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  at = at.in("geomspace");
  b.site = at;
  if (!(start > 0 && stop > 0)) {
    text why;
    return ir::fail(b, why << "both ends must be positive");
  }
  const dtype wide = element == dtype::f64 ? element : dtype::f32;
  const ir::operand ratio(b, b.constant(stop / start, wide));
  const ir::operand t = detail::unit_steps(b, count, wide, ends);
  return (ir::operand::combine(op::pow, ratio, t) * start).as(element);
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
/// Ones on the diagonal j = i + k, in the program of `x`.
[[nodiscard]] constexpr expr eye(const expr& x, std::int64_t rows, std::int64_t columns,
                                 std::int64_t k = 0, dtype element = dtype::f32,
                                 call_site at = call_site::here()) {
  at = at.in("eye");
  const ir::operand row(iota(x, {rows, columns}, 0, dtype::i32, at), at);
  const ir::operand column(iota(x, {rows, columns}, 1, dtype::i32, at), at);
  return (row + static_cast<double>(k) == column).as(element);
}

}  // namespace atled
