// atled/ops/number.hpp: signs, whole parts and kinds of numbers: trunc, copysign, nan_to_num.
// Reads: ops/elementwise.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

namespace atled {

// --- whole parts -----------------------------------------------------------------------------

/// The whole part, towards 0; integers as they are.
///
/// Gradient: 0.
[[nodiscard]] constexpr expr trunc(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("trunc"));
  if (in.is_poison() || !is_floating(in.type().element)) return in;
  return ir::select(in < 0.0, in.apply(op::ceil), in.apply(op::floor));
}
/// The same as `trunc`.
[[nodiscard]] constexpr expr fix(const expr& x, call_site at = call_site::here()) {
  return trunc(x, at.in("fix"));
}
/// The same as `round`.
[[nodiscard]] constexpr expr rint(const expr& x, call_site at = call_site::here()) {
  return round(x, at.in("rint"));
}

// --- signs -----------------------------------------------------------------------------------

namespace detail {
/// 1 / -0 is -inf: what tells the zeros apart.
constexpr ir::operand has_sign(const ir::operand& x) {
  if (x.is_poison()) return x;
  if (!is_floating(x.type().element)) return x < 0.0;
  return ir::operand::combine(op::bit_or, x < 0.0, (x == 0.0) & (1.0 / x < 0.0));
}
}  // namespace detail

/// Whether a number is negative or -0; false of NaN.
[[nodiscard]] constexpr expr signbit(const expr& x, call_site at = call_site::here()) {
  return detail::has_sign(ir::operand(x, at.in("signbit")));
}
/// |x| with the sign of y; that of -0 counts.
///
/// Gradient: to x, with its sign.
[[nodiscard]] constexpr expr copysign(const located& x, const located& y,
                                      call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("copysign");
  const auto [size, sign] = ir::promoted_floating(b, x, y);
  const ir::operand positive = size.apply(op::abs);
  return ir::broadcast_select(detail::has_sign(sign), -positive, positive);
}
/// 0 below 0, 1 above it, and `middle` at 0; NaN stays.
///
/// Gradient: to `middle` at 0.
[[nodiscard]] constexpr expr heaviside(const located& x, const located& middle,
                                       call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, middle});
  b.site = at.in("heaviside");
  const auto [in, value] = ir::promoted_floating(b, x, middle);
  if (in.is_poison()) return in;
  const ir::operand step = ir::broadcast_select(in > 0.0, in.like(1), in.like(0));
  const ir::operand out = ir::broadcast_select(in == 0.0, value, step);
  const ir::operand fixed = in.apply(op::stop_gradient);
  return ir::broadcast_select(fixed == fixed, out, fixed);
}

// --- kinds of numbers ------------------------------------------------------------------------

[[nodiscard]] constexpr expr isposinf(const expr& x, call_site at = call_site::here()) {
  return ir::floating_operand(x, at.in("isposinf")) == __builtin_inf();
}
[[nodiscard]] constexpr expr isneginf(const expr& x, call_site at = call_site::here()) {
  return ir::floating_operand(x, at.in("isneginf")) == -__builtin_inf();
}

namespace detail {
constexpr double largest_of(dtype element) {
  switch (element) {
    case dtype::f64:
      return 0x1.fffffffffffffp+1023;
    case dtype::f16:
      return 65504;
    case dtype::bf16:
      return 0x1.fep+127;
    default:
      return 0x1.fffffep+127;
  }
}
}  // namespace detail

/// `x` with numbers in place of NaN and of the infinities: 0 and the largest of the type.
///
/// Gradient: to x where it is finite, else 0.
[[nodiscard]] constexpr expr nan_to_num(const expr& x, double nan = 0,
                                        call_site at = call_site::here()) {
  const ir::operand in(x, at.in("nan_to_num"));
  if (in.is_poison() || !is_floating(in.type().element)) return in;
  const double most = detail::largest_of(in.type().element);
  const ir::operand number = ir::select(in > 0.0, in.like(most), in.like(-most));
  const ir::operand other = ir::select(ir::operand::combine(op::eq, in, in), number, in.like(nan));
  return ir::select(in.apply(op::is_finite), in, other);
}
/// The larger of each two elements; of a number and NaN the number.
[[nodiscard]] constexpr expr fmax(const located& x, const located& y,
                                  call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("fmax");
  const auto [u, v] = ir::promoted(b, x, y);
  const ir::operand larger = ir::operand::combine(op::max, u, v);
  return ir::broadcast_select(u != u, v, ir::broadcast_select(v != v, u, larger));
}
/// The smaller of each two elements; of a number and NaN the number.
[[nodiscard]] constexpr expr fmin(const located& x, const located& y,
                                  call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("fmin");
  const auto [u, v] = ir::promoted(b, x, y);
  const ir::operand smaller = ir::operand::combine(op::min, u, v);
  return ir::broadcast_select(u != u, v, ir::broadcast_select(v != v, u, smaller));
}

}  // namespace atled
