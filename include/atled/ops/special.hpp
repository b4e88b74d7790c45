// atled/ops/special.hpp: erfc, erf_inv, the gamma function's logarithm and its derivatives, logit,
// x log(1 + y). Reads: ops/elementwise.hpp. Integers and booleans become f32.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

namespace atled {

/// 1 - erf(x), also where that is tiny.
[[nodiscard]] constexpr expr erfc(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::erfc, x, at.in("erfc"));
}
/// The inverse of `erf`: -inf at -1, inf at 1, NaN outside.
///
/// Gradient: sqrt(pi) / 2 exp(out^2) d_out.
/// Source: Giles, Approximating the Erfinv Function, GPU Computing Gems Jade Edition, 2011.
[[nodiscard]] constexpr expr erf_inv(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::erf_inv, x, at.in("erf_inv"));
}

/// The logarithm of |gamma(x)|; inf at 0, -1, -2 ...
///
/// Gradient: digamma(x) d_out.
[[nodiscard]] constexpr expr lgamma(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::lgamma, x, at.in("lgamma"));
}
/// The same as `lgamma`.
[[nodiscard]] constexpr expr gammaln(const expr& x, call_site at = call_site::here()) {
  return detail::floating_unary(op::lgamma, x, at.in("gammaln"));
}
/// The derivative of order n + 1 of `lgamma`; `polygamma(0, x)` is `digamma(x)`. NaN at 0, -1,
/// -2 ..., but inf where n is odd.
///
/// Gradient: polygamma(n + 1, x) d_out.
/// Ill-formed: n is negative.
[[nodiscard]] constexpr expr polygamma(int n, const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("polygamma"));
  ir::builder& b = in.builder();
  if (n < 0) {
    text why;
    b.fail("polygamma", why << n << ": the order must be 0 or more");
    return {b, ir::poison};
  }
  return {b, b.append(op::polygamma, {in.id()}, ir::attribute_list::of(n))};
}
/// The derivative of `lgamma`.
[[nodiscard]] constexpr expr digamma(const expr& x, call_site at = call_site::here()) {
  return polygamma(0, x, at.in("digamma"));
}
/// log(gamma(x) gamma(y) / gamma(x + y)).
[[nodiscard]] constexpr expr betaln(const located& x, const located& y,
                                    call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("betaln");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  return u.apply(op::lgamma) + v.apply(op::lgamma) - (u + v).apply(op::lgamma);
}

/// log(x / (1 - x)), the inverse of `sigmoid`: -inf at 0, inf at 1, all digits near 1/2.
[[nodiscard]] constexpr expr logit(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("logit"));
  const ir::operand centre = ((2.0 * in - 1.0) / (1.0 - in)).apply(op::log1p);
  const ir::operand outside = in.apply(op::log) - (-in).apply(op::log1p);
  return ir::select((in - 0.5).apply(op::abs) < 0.25, centre, outside);
}

/// x log(1 + y), and 0 where x is 0.
///
/// Gradient: by x log(1 + y), by y x / (1 + y), and exactly 0 there where x is 0.
[[nodiscard]] constexpr expr xlog1py(const located& x, const located& y,
                                     call_site at = call_site::here()) {
  ir::builder& b = ir::builder_of({x, y});
  b.site = at.in("xlog1py");
  const auto [u, v] = ir::promoted_floating(b, x, y);
  return ir::operand::combine(op::strong_mul, u, v.apply(op::log1p));
}

}  // namespace atled
