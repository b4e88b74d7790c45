// atled/ops/cumulative.hpp: running sums, products and extremes along an axis.
// Reads: ops/reduce.hpp. Their derivatives are in passes/jvp_cumulative.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"

namespace atled {

namespace detail {

/// `x` and the axis to run along; of all axes, the flattened tensor. The axis is -1 if ill-formed.
struct running {
  ir::operand x;
  int axis_id;
};
constexpr running begin_running(const expr& in, const axes& along, const call_site& at) {
  const ir::operand x(in, at);
  ir::builder& b = x.builder();
  if (x.is_poison()) return {x, -1};
  if (along.all) return {ir::flattened(x), 0};
  if (along.size != 1) {
    text why;
    b.fail(at.function, why << x.type() << " along " << along.size << " axes: one axis, or all");
    return {x, -1};
  }
  return {x, ir::resolved_axis(b, x.type(), along.list[0])};
}

/// The smallest (largest) value of a type, beside which every other wins.
constexpr double lowest_of(dtype element, bool lowest) {
  if (is_floating(element)) return lowest ? -__builtin_inf() : __builtin_inf();
  switch (element) {
    case dtype::i32:
      return lowest ? -2147483648.0 : 2147483647.0;
    case dtype::i64:
      return lowest ? -9223372036854775808.0 : 9223372036854774784.0;  // the last double below 2^63
    case dtype::u8:
      return lowest ? 0 : 255;
    case dtype::u32:
      return lowest ? 0 : 4294967295.0;
    default:
      return lowest ? 0 : 1;
  }
}

/// Which end a running result begins at.
struct running_order {
  bool is_reversed = false;

  constexpr running_order() = default;
  constexpr running_order(reversed_option) : is_reversed(true) {}  // NOLINT: converts
};

constexpr expr running_result(op code, const running& r, dtype element, running_order order) {
  ir::builder& b = r.x.builder();
  if (r.axis_id < 0) return {b, ir::poison};
  ir::attribute_list attributes = ir::attribute_list::of(r.axis_id);
  attributes.push(order.is_reversed ? 1 : 0);
  const ir::operand out(b, b.append(code, {r.x.as(element).id()}, attributes));
  return is_half(r.x.type().element) ? out.as(r.x.type().element) : out;
}

}  // namespace detail

/// The sums of each element and all before it along one axis, or `reversed` and all behind it;
/// without an axis, of the flattened tensor.
///
/// bf16 and f16 are summed in f32, booleans are counted as i32.
/// Gradient: the running sum of d_out from the other end.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cumsum(const expr& x, axes along = {},
                                    detail::running_order order = {},
                                    call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cumsum"));
  ir::builder& b = r.x.builder();
  if (r.axis_id < 0) return {b, ir::poison};
  const dtype element = r.x.type().element;
  const ir::operand in = r.x.as(detail::sum_type(element));
  const op code = order.is_reversed ? op::reverse_cumsum : op::cumsum;
  const ir::operand out(b, b.append(code, {in.id()}, ir::attribute_list::of(r.axis_id)));
  return is_half(element) ? out.as(element) : out;
}

/// The products of each element and all before it (`reversed`: behind it) along one axis.
///
/// Gradient: log2(n) products of the whole and no division, so right where factors are 0.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cumprod(const expr& x, axes along = {},
                                     detail::running_order order = {},
                                     call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cumprod"));
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  return detail::running_result(op::cumprod, r, detail::sum_type(r.x.type().element), order);
}

/// The largest of each element and all before it (`reversed`: behind it) along one axis.
///
/// Gradient: log2(n) selections of the whole; equal elements share evenly.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cummax(const expr& x, axes along = {},
                                    detail::running_order order = {},
                                    call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cummax"));
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  return detail::running_result(op::cummax, r, r.x.type().element, order);
}
/// The smallest of each element and all before it; all else as `cummax`.
[[nodiscard]] constexpr expr cummin(const expr& x, axes along = {},
                                    detail::running_order order = {},
                                    call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cummin"));
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  return detail::running_result(op::cummin, r, r.x.type().element, order);
}

/// log(sum(exp)) of each element and all before it (`reversed`: behind it) along one axis, without
/// overflow; -inf where all are. Integers become f32, bf16 and f16 are summed in f32.
///
/// Gradient: each element by its weight in the sum, from log2(n) steps of the whole.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr cumlogsumexp(const expr& x, axes along = {},
                                          detail::running_order order = {},
                                          call_site at = call_site::here()) {
  const detail::running r = detail::begin_running(x, along, at.in("cumlogsumexp"));
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  const bool is_wide = r.x.type().element == dtype::f64;
  return detail::running_result(op::cumlogsumexp, r, is_wide ? dtype::f64 : dtype::f32, order);
}

}  // namespace atled
