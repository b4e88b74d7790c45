// atled/ops/trigonometry.hpp: angles and their functions, circular and hyperbolic, and their
// inverses. Reads: ops/elementwise.hpp. Integers and booleans become f32.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

namespace atled {

// --- circular --------------------------------------------------------------------------------

/// Units: x in radians.
[[nodiscard]] constexpr expr tan(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("tan"));
  return in.apply(op::sin) / in.apply(op::cos);
}

namespace detail {
/// sqrt(1 - x^2) without the loss of digits near 1.
constexpr ir::operand other_side(const ir::operand& x) {
  return ((1.0 - x) * (1.0 + x)).apply(op::sqrt);
}
}  // namespace detail

/// The angle whose sine is x; NaN outside [-1, 1]. Units: radians, from -pi / 2 to pi / 2.
///
/// Gradient: d_out / sqrt(1 - x^2): infinite at -1 and 1, and exactly 0 where d_out is.
[[nodiscard]] constexpr expr asin(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("asin"));
  return ir::operand::combine(op::atan2, in, detail::other_side(in));
}
/// The angle whose cosine is x; NaN outside [-1, 1]. Units: radians, from 0 to pi.
///
/// Gradient: -d_out / sqrt(1 - x^2), at the ends as `asin`.
[[nodiscard]] constexpr expr acos(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("acos"));
  return ir::operand::combine(op::atan2, detail::other_side(in), in);
}
/// The angle whose tangent is x. Units: radians, from -pi / 2 to pi / 2.
[[nodiscard]] constexpr expr atan(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("atan"));
  return ir::operand::combine(op::atan2, in, in.like(1));
}

/// sin(pi x) / (pi x), and 1 at 0, smooth there in all derivatives.
[[nodiscard]] constexpr expr sinc(const expr& x, call_site at = call_site::here()) {
  const ir::operand angle = ir::floating_operand(x, at.in("sinc")) * 3.14159265358979323846;
  return angle.apply(op::sin) / angle;  // the form that passes/removable.hpp knows
}

/// Units: degrees to radians.
[[nodiscard]] constexpr expr deg2rad(const expr& x, call_site at = call_site::here()) {
  return ir::floating_operand(x, at.in("deg2rad")) * 0.017453292519943295769;
}
/// Units: radians to degrees.
[[nodiscard]] constexpr expr rad2deg(const expr& x, call_site at = call_site::here()) {
  return ir::floating_operand(x, at.in("rad2deg")) * 57.295779513082320877;
}

// --- hyperbolic ------------------------------------------------------------------------------

[[nodiscard]] constexpr expr sinh(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::sinh, x, at.in("sinh"));
}
[[nodiscard]] constexpr expr cosh(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::cosh, x, at.in("cosh"));
}

namespace detail {
inline constexpr double log_of_two = 0.69314718055994530942;
/// From here on x^2 + 1 and x^2 are one number.
inline constexpr double huge_side = 1e8;
}  // namespace detail

/// The inverse of `sinh`, with all digits near 0 and without overflow.
[[nodiscard]] constexpr expr asinh(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("asinh"));
  const ir::operand is_negative = in < 0.0;
  const ir::operand size = ir::select(is_negative, -in, in);
  const ir::operand is_huge = size > detail::huge_side;
  const ir::operand side = ir::select(is_huge, in.like(1), size);
  const ir::operand square = side * side;
  const ir::operand near =
      (side + square / (1.0 + (square + 1.0).apply(op::sqrt))).apply(op::log1p);
  const ir::operand far = size.apply(op::log) + detail::log_of_two;
  const ir::operand out = ir::select(is_huge, far, near);
  return ir::select(is_negative, -out, out);
}
/// The inverse of `cosh` that is not negative; NaN below 1.
///
/// Gradient: d_out / sqrt(x^2 - 1): infinite at 1, and exactly 0 where d_out is.
[[nodiscard]] constexpr expr acosh(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("acosh"));
  const ir::operand is_huge = in > detail::huge_side;
  const ir::operand side = ir::select(is_huge, in.like(1), in);
  const ir::operand above = side - 1.0;
  const ir::operand near = (above + (above * (side + 1.0)).apply(op::sqrt)).apply(op::log1p);
  return ir::select(is_huge, in.apply(op::log) + detail::log_of_two, near);
}
/// The inverse of `tanh`; infinite at -1 and 1, NaN outside.
[[nodiscard]] constexpr expr atanh(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("atanh"));
  return 0.5 * (in.apply(op::log1p) - (-in).apply(op::log1p));
}

}  // namespace atled
