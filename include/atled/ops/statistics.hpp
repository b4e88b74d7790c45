// atled/ops/statistics.hpp: what is made of sums and extremes: average, ptp, differences, counts,
// norms of other orders, and sums that leave NaN out. Reads: ops/reduce.hpp, ops/slice.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/slice.hpp"

namespace atled {

// --- norms -----------------------------------------------------------------------------------

template <int N>
struct ord_tag {};
/// The order of a norm: `norm(x, ord<1>, axis<0>)`.
template <int N>
inline constexpr ord_tag<N> ord{};
struct ord_inf_tag {};
/// The order of the largest size: `norm(x, ord_inf)`.
inline constexpr ord_inf_tag ord_inf{};

/// The Euclidean length, as `norm(x, along)`.
[[nodiscard]] constexpr expr norm(const expr& x, ord_tag<2>, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  return norm(x, along, keep, at);
}
/// The sum of sizes along axes.
///
/// Gradient: sign(x) d_out, so 0 where x is 0.
[[nodiscard]] constexpr expr norm(const expr& x, ord_tag<1>, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  at = at.in("norm");
  return sum(abs(expr(ir::floating_operand(x, at)), at), along, keep, at);
}
/// The largest size along axes.
///
/// Gradient: to the largest, with its sign; equal ones share it evenly, and all 0 have none.
[[nodiscard]] constexpr expr norm(const expr& x, ord_inf_tag, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  at = at.in("norm");
  return reduce_max(abs(expr(ir::floating_operand(x, at)), at), along, keep, at);
}

// --- ranges, weights, counts -----------------------------------------------------------------

/// The largest element less the smallest.
///
/// Ill-formed: an axis out of range or given twice; nothing to reduce.
[[nodiscard]] constexpr expr ptp(const expr& x, axes along = {}, kept keep = {},
                                 call_site at = call_site::here()) {
  at = at.in("ptp");
  const ir::operand most(reduce_max(x, along, keep, at), at);
  return most - ir::operand(reduce_min(x, along, keep, at), at);
}

/// The mean of `x` weighted by `weights`, which broadcast to x.
///
/// Ill-formed: an axis out of range or given twice; weights that do not broadcast.
[[nodiscard]] constexpr expr average(const expr& x, const expr& weights, axes along = {},
                                     kept keep = {}, call_site at = call_site::here()) {
  at = at.in("average");
  const auto [in, w] = ir::promoted_floating(x.builder(), located(x, at), located(weights, at));
  const ir::operand weighted = in * w;
  if (weighted.is_poison()) return weighted;
  const int wide = ir::broadcast_to(w.builder(), w.id(), weighted.type().dims);
  const ir::operand total(sum(expr(w.builder(), wide), along, keep, at), at);
  return ir::operand(sum(weighted, along, keep, at), at) / total;
}

/// How many elements are not 0. The result is i32.
[[nodiscard]] constexpr expr count_nonzero(const expr& x, axes along = {}, kept keep = {},
                                           call_site at = call_site::here()) {
  at = at.in("count_nonzero");
  return sum(expr(ir::truth_of(ir::operand(x, at))), along, keep, at);
}

/// Each element less the one before it, along an axis; `count` times over.
///
///   x  f32[T, C]     diff(x, 1, 0)  f32[T - 1, C]
///
/// Ill-formed: the axis is out of range, or shorter than `count`.
[[nodiscard]] constexpr expr diff(const expr& x, int count = 1, int along = -1,
                                  call_site at = call_site::here()) {
  at = at.in("diff");
  ir::operand out(x, at);
  ir::builder& b = out.builder();
  if (out.is_poison()) return out;
  const int axis_id = ir::resolved_axis(b, out.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  for (int i = 0; i < count && !out.is_poison(); ++i) {
    const std::int64_t size = out.type().dims[axis_id];
    const ir::operand later(slice_in_dim(out, 1, size, 1, axis_id, at), at);
    const ir::operand earlier(slice_in_dim(out, 0, size - 1, 1, axis_id, at), at);
    const bool is_boolean = !out.is_poison() && out.type().element == dtype::boolean;
    out = is_boolean ? ir::operand::combine(op::ne, later, earlier) : later - earlier;
  }
  return out;
}

// --- without NaN -----------------------------------------------------------------------------

namespace detail {
/// `x` with `other` in place of each NaN.
constexpr ir::operand numbers_or(const ir::operand& x, double other) {
  if (x.is_poison() || !is_floating(x.type().element)) return x;
  return ir::select(ir::operand::combine(op::eq, x, x), x, x.like(other));
}
}  // namespace detail

/// The sum of what is a number; 0 where nothing is.
[[nodiscard]] constexpr expr nansum(const expr& x, axes along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  at = at.in("nansum");
  return sum(detail::numbers_or(ir::operand(x, at), 0), along, keep, at);
}
/// The product of what is a number; 1 where nothing is.
[[nodiscard]] constexpr expr nanprod(const expr& x, axes along = {}, kept keep = {},
                                     call_site at = call_site::here()) {
  at = at.in("nanprod");
  return prod(detail::numbers_or(ir::operand(x, at), 1), along, keep, at);
}
/// The mean of what is a number; NaN where nothing is.
[[nodiscard]] constexpr expr nanmean(const expr& x, axes along = {}, kept keep = {},
                                     call_site at = call_site::here()) {
  at = at.in("nanmean");
  const ir::operand in = ir::floating_operand(x, at);
  if (in.is_poison()) return in;
  const ir::operand is_number = ir::operand::combine(op::eq, in, in);
  const ir::operand total(sum(detail::numbers_or(in, 0), along, keep, at), at);
  const ir::operand count(sum(is_number, along, keep, at), at);
  return total / count.as(in.type().element);
}
/// The largest number; -inf where nothing is one.
[[nodiscard]] constexpr expr nanmax(const expr& x, axes along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  at = at.in("nanmax");
  return reduce_max(detail::numbers_or(ir::operand(x, at), -__builtin_inf()), along, keep, at);
}
/// The smallest number; inf where nothing is one.
[[nodiscard]] constexpr expr nanmin(const expr& x, axes along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  at = at.in("nanmin");
  return reduce_min(detail::numbers_or(ir::operand(x, at), __builtin_inf()), along, keep, at);
}

// --- near ------------------------------------------------------------------------------------

/// |x - y| <= absolute + relative |y|, and equal infinities; NaN is near nothing.
[[nodiscard]] constexpr expr isclose(const located& x, const located& y, double relative = 1e-5,
                                     double absolute = 1e-8, call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("isclose");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  const ir::operand far = (u - v).apply(op::abs);
  const ir::operand near = far <= absolute + relative * v.apply(op::abs);
  const ir::operand finite = u.apply(op::is_finite) & v.apply(op::is_finite);
  return ir::operand::combine(op::bit_or, near & finite, u == v);
}
/// Whether all elements are near; see `isclose`.
[[nodiscard]] constexpr expr allclose(const located& x, const located& y, double relative = 1e-5,
                                      double absolute = 1e-8, call_site at = call_site::here()) {
  at = at.in("allclose");
  return all(isclose(x, y, relative, absolute, at), axes{}, kept{}, at);
}

}  // namespace atled
