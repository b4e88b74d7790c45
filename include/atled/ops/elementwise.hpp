// atled/ops/elementwise.hpp: functions of each element: exp to atan2, where, clip, powers, casts.
// Reads: ops/operand.hpp. Integers and booleans become f32 where only floating types make sense.
// Next: ops/trigonometry.hpp, ops/special.hpp (erfc, lgamma ...), ops/number.hpp (trunc, copysign),
// ops/integer.hpp (division, bits, truth values), ops/activation.hpp (relu, gelu, softplus).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/operand.hpp"

namespace atled {

namespace detail {
constexpr ir::operand floating_unary(op code, const expr& x, const call_site& at) {
  return ir::floating_operand(x, at).apply(code);
}
/// Ops that leave an integer as it is.
constexpr expr rounding(op code, const expr& x, const call_site& at) {
  const ir::operand in(x, at);
  return in.is_poison() || !is_floating(in.type().element) ? in : in.apply(code);
}
}  // namespace detail

// --- one operand -----------------------------------------------------------------------------

[[nodiscard]] constexpr expr exp(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::exp, x, at.in("exp"));
}
/// exp(x) - 1 without the loss of digits near 0.
[[nodiscard]] constexpr expr expm1(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::expm1, x, at.in("expm1"));
}
/// The natural logarithm; -inf at 0, NaN below.
///
/// Gradient: d_x = d_out / x, and exactly 0 where d_out is.
[[nodiscard]] constexpr expr log(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::log, x, at.in("log"));
}
/// 2^x, exact for whole x.
[[nodiscard]] constexpr expr exp2(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("exp2"));
  return ir::operand::combine(op::pow, in.like(2), in);
}
/// The logarithm to base 2.
[[nodiscard]] constexpr expr log2(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::log, x, at.in("log2")) / 0.69314718055994530942;
}
/// The logarithm to base 10.
[[nodiscard]] constexpr expr log10(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::log, x, at.in("log10")) / 2.3025850929940456840;
}
/// log(1 + x) without the loss of digits near 0.
[[nodiscard]] constexpr expr log1p(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::log1p, x, at.in("log1p"));
}
[[nodiscard]] constexpr expr tanh(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::tanh, x, at.in("tanh"));
}
/// 1 / (1 + exp(-x)).
[[nodiscard]] constexpr expr sigmoid(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::logistic, x, at.in("sigmoid"));
}
/// The same as `sigmoid`.
[[nodiscard]] constexpr expr logistic(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::logistic, x, at.in("logistic"));
}
/// Units: x in radians.
[[nodiscard]] constexpr expr sin(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::sin, x, at.in("sin"));
}
/// Units: x in radians.
[[nodiscard]] constexpr expr cos(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::cos, x, at.in("cos"));
}
/// Gradient: d_x = d_out / (2 sqrt(x)), and exactly 0 where d_out is.
[[nodiscard]] constexpr expr sqrt(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::sqrt, x, at.in("sqrt"));
}
/// 1 / sqrt(x).
[[nodiscard]] constexpr expr rsqrt(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::rsqrt, x, at.in("rsqrt"));
}
/// The cube root, also of negative numbers.
///
/// Gradient: d_out / (3 out^2), and exactly 0 where d_out is.
[[nodiscard]] constexpr expr cbrt(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::cbrt, x, at.in("cbrt"));
}
/// The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x.
[[nodiscard]] constexpr expr erf(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::erf, x, at.in("erf"));
}
/// 1 / x.
[[nodiscard]] constexpr expr reciprocal(const expr& x, call_site at = call_site::here()) {
  return 1.0 / ir::floating_operand(x, at.in("reciprocal"));
}
/// x * x.
[[nodiscard]] constexpr expr square(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("square"));
  return in * in;
}
/// Gradient: sign(x) d_out, so 0 at 0.
[[nodiscard]] constexpr expr abs(const expr& x, call_site at = call_site::here()) {
  return ir::operand(x, at.in("abs")).apply(op::abs);
}
/// -1, 0 or 1; NaN stays.
[[nodiscard]] constexpr expr sign(const expr& x, call_site at = call_site::here()) {
  return ir::operand(x, at.in("sign")).apply(op::sign);
}
[[nodiscard]] constexpr expr negative(const expr& x, call_site at = call_site::here()) {
  return -ir::operand(x, at.in("negative"));
}
/// Gradient: 0.
[[nodiscard]] constexpr expr floor(const expr& x, call_site at = call_site::here()) {
  return detail::rounding(op::floor, x, at.in("floor"));
}
/// Gradient: 0.
[[nodiscard]] constexpr expr ceil(const expr& x, call_site at = call_site::here()) {
  return detail::rounding(op::ceil, x, at.in("ceil"));
}
/// To the nearest whole number, halves to the even one.
///
/// Gradient: 0.
[[nodiscard]] constexpr expr round(const expr& x, call_site at = call_site::here()) {
  return detail::rounding(op::round, x, at.in("round"));
}
/// The value of `x`, which no derivative passes.
[[nodiscard]] constexpr expr stop_gradient(const expr& x, call_site at = call_site::here()) {
  return ir::operand(x, at.in("stop_gradient")).apply(op::stop_gradient);
}
/// Each leaf of a tree, which no derivative passes.
template <class Tree>
  requires(is_branch_v<Tree>)
[[nodiscard]] constexpr Tree stop_gradient(const Tree& tree, call_site at = call_site::here()) {
  return tree_map([&](const expr& leaf) { return stop_gradient(leaf, at); }, tree);
}

// --- element types ---------------------------------------------------------------------------

/// `x` as another element type; to boolean, whether it is not 0.
///
/// Gradient: d_x is d_out as the type of x; between floating types only.
[[nodiscard]] constexpr expr convert(const expr& x, dtype element,
                                     call_site at = call_site::here()) {
  const ir::operand in(x, at.in("convert"));
  return element == dtype::boolean ? ir::truth_of(in) : in.as(element);
}
/// `astype<bf16>(x)`.
template <element T>
[[nodiscard]] constexpr expr astype(const expr& x, call_site at = call_site::here()) {
  return convert(x, dtype_of<T>(), at.in("astype"));
}

// --- two operands and more -------------------------------------------------------------------

/// The larger of each two elements; NaN if one is.
///
/// Gradient: to the larger; equal operands share it evenly.
[[nodiscard]] constexpr expr maximum(const located& x, const located& y,
                                     call_site at = call_site::here()) {
  return ir::binary(op::max, at.in("maximum"), x, y);
}
/// The smaller of each two elements; NaN if one is. Gradient: as `maximum`.
[[nodiscard]] constexpr expr minimum(const located& x, const located& y,
                                     call_site at = call_site::here()) {
  return ir::binary(op::min, at.in("minimum"), x, y);
}
/// `maximum`; with axes instead of a second operand it is the reduction of ops/reduce.hpp.
[[nodiscard]] constexpr expr max(const located& x, const located& y,
                                 call_site at = call_site::here()) {
  return ir::binary(op::max, at.in("max"), x, y);
}
/// `minimum`; with axes instead of a second operand it is the reduction of ops/reduce.hpp.
[[nodiscard]] constexpr expr min(const located& x, const located& y,
                                 call_site at = call_site::here()) {
  return ir::binary(op::min, at.in("min"), x, y);
}

/// `x` where `condition` holds (is not 0), else `y`; all three broadcast together.
///
/// Gradient: to the operand that was chosen; the other gets exactly 0, whatever it holds.
/// Ill-formed: shapes that do not broadcast.
[[nodiscard]] constexpr expr where(const located& condition, const located& x, const located& y,
                                   call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({condition, x, y});
  b.site = at.in("where");
  const auto [left, right] = ir::promoted(b, x, y);
  const ir::operand predicate = ir::as_operand(b, condition, dtype::boolean);
  return ir::broadcast_select(ir::truth_of(predicate), left, right);
}

/// `x` moved into [low, high].
///
/// Gradient: to x on the closed interval, to the bound that was taken outside it.
/// Ill-formed: shapes that do not broadcast.
[[nodiscard]] constexpr expr clip(const located& x, const located& low, const located& high,
                                  call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, low, high});
  b.site = at.in("clip");
  const auto [from, bottom] = ir::promoted(b, x, low);
  const ir::operand raised = ir::broadcast_select(from < bottom, bottom, from);
  const auto [to, top] = ir::promoted(b, located(raised, at), high);
  return ir::broadcast_select(to > top, top, to);
}

/// `x` to the power `y`.
///
/// A whole exponent up to 16 that is written as a number becomes products (and a quotient, if it
/// is negative), so that x^2 at 0 has the derivatives 0, 2.
/// Gradient: by the class of the exponent; see passes/jvp.hpp.
[[nodiscard]] constexpr expr power(const located& x, const located& y,
                                   call_site at = call_site::here()) {
  at = at.in("power");
  constexpr double most = 16;
  if (y.is_literal() && y.literal() >= -most && y.literal() <= most) {
    const int whole = static_cast<int>(y.literal());
    const ir::operand given(x.value(), at);
    const bool exact_type = y.kind() == located::literal_kind::integer;
    const bool integer = !given.is_poison() && !is_floating(given.type().element);
    if (whole == y.literal() && !given.is_poison() && !(integer && whole < 0)) {
      const ir::operand in = exact_type ? given : ir::floating_operand(x.value(), at);
      int rest = whole < 0 ? -whole : whole;
      if (rest == 0) return in.like(1);
      ir::operand square = in;  // x, x^2, x^4 ...
      ir::operand out = in;
      bool begun = false;
      while (rest > 0) {
        if (rest % 2 == 1) out = begun ? out * square : square;
        begun = begun || rest % 2 == 1;
        rest /= 2;
        if (rest > 0) square = square * square;
      }
      return whole < 0 ? 1.0 / out : out;
    }
  }
  return ir::binary(op::pow, at, x, y);
}
/// The same as `power`.
[[nodiscard]] constexpr expr pow(const located& x, const located& y,
                                 call_site at = call_site::here()) {
  return power(x, y, at.in("pow"));
}

/// The angle of the point (x, y). Units: radians, from -pi to pi.
[[nodiscard]] constexpr expr atan2(const located& y, const located& x,
                                   call_site at = call_site::here()) {
  return ir::binary(op::atan2, at.in("atan2"), y, x);
}

/// sqrt(x^2 + y^2), also where the squares overflow.
///
/// Gradient: x / hypot d_out and y / hypot d_out; 0 at (0, 0).
[[nodiscard]] constexpr expr hypot(const located& x, const located& y,
                                   call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("hypot");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  const auto size = ir::operand::combine(op::max, u.apply(op::abs), v.apply(op::abs));
  if (size.is_poison()) return size;
  const auto unit = size.apply(op::stop_gradient);
  const auto usable = (unit != 0.0) & unit.apply(op::is_finite);
  const auto scale = ir::select(usable, unit, unit.like(1));
  const auto sum = (u / scale) * (u / scale) + (v / scale) * (v / scale);
  const auto at_origin = sum == 0.0;
  const auto root = ir::select(at_origin, sum.like(1), sum).apply(op::sqrt);
  return scale * ir::select(at_origin, sum.like(0), root);
}

/// log(exp(x) + exp(y)), also where they overflow; -inf of two -inf, with gradient 0.
[[nodiscard]] constexpr expr logaddexp(const located& x, const located& y,
                                       call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("logaddexp");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  const auto larger = u > v;
  const auto high = ir::broadcast_select(larger, u, v);
  const auto low = ir::broadcast_select(larger, v, u);
  if (high.is_poison()) return high;
  const auto finite = high.apply(op::is_finite);
  const auto distance = ir::select(finite, low - high, high.like(0));  // <= 0
  return ir::select(finite, high + distance.apply(op::exp).apply(op::log1p),
                    high.apply(op::stop_gradient));
}

/// x log(y), and 0 where x is 0.
///
/// Gradient: by x log(y), by y x / y, and exactly 0 there where x is 0.
[[nodiscard]] constexpr expr xlogy(const located& x, const located& y,
                                   call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("xlogy");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  return ir::operand::combine(op::strong_mul, u, v.apply(op::log));
}

/// log2(2^x + 2^y), also where they overflow.
[[nodiscard]] constexpr expr logaddexp2(const located& x, const located& y,
                                        call_site at = call_site::here()) {
  constexpr double log_of_two = 0.69314718055994530942;
  ir::builder& b = ir::builder_of({x, y});
  at = at.in("logaddexp2");
  b.site = at;
  const auto [u, v] = ir::promoted_floating(b, x, y);
  const expr natural = logaddexp(expr(u * log_of_two), expr(v * log_of_two), at);
  return ir::operand(natural, at) / log_of_two;
}

// --- questions -------------------------------------------------------------------------------

[[nodiscard]] constexpr expr isnan(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("isnan"));
  return in != in;
}
/// Neither infinite nor NaN.
[[nodiscard]] constexpr expr isfinite(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::is_finite, x, at.in("isfinite"));
}
/// The same as `isfinite`.
[[nodiscard]] constexpr expr is_finite(const expr& x, call_site at = call_site::here()) {
  return isfinite(x, at.in("is_finite"));
}
[[nodiscard]] constexpr expr isinf(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("isinf"));
  return (in == in) & !in.apply(op::is_finite);
}

}  // namespace atled
