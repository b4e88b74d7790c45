// atled/random/continuous.hpp: numbers that are a formula of uniform ones: exponential, laplace,
// cauchy, logistic, pareto, rayleigh, weibull_min, triangular.
// Reads: random/distributions.hpp. Same bits as jax.random; inside a trace. Next: random/gamma.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/trigonometry.hpp"
#include "atled/random/distributions.hpp"

#include <limits>
#include <numbers>

namespace atled::random {

namespace detail {

/// The distance from 1 to the next number above, and half of it.
constexpr double step_at_one(dtype element) {
  return element == dtype::f64 ? 0x1p-52 : element == dtype::f32 ? 0x1p-23 : 0x1p-7;
}
constexpr double least_normal(dtype element) {
  return element == dtype::f64 ? std::numeric_limits<f64>::min()
                               : static_cast<double>(std::numeric_limits<f32>::min());
}
/// -log(1 - u)
constexpr ir::operand exponential_of(const ir::operand& u) {
  return u.is_poison() ? u : -(-u).apply(op::log1p);
}
constexpr ir::operand parameter(const ir::operand& drawn, const located& x) {
  const dtype element = drawn.type().element;
  return ir::as_operand(drawn.builder(), x, element).as(element);
}

}  // namespace detail

/// Numbers with density exp(-x), x >= 0.
///
/// Ill-formed: the key is not u32[2]; the element type is not floating.
[[nodiscard]] constexpr expr exponential(const expr& key, const sizes& dims,
                                         dtype element = dtype::f32,
                                         call_site at = call_site::here()) {
  at = at.in("exponential");
  return detail::exponential_of(detail::unit_uniform(key, dims.dims, element, at));
}

/// Numbers with density exp(-|x|) / 2.
///
/// Ill-formed: as `exponential`.
[[nodiscard]] constexpr expr laplace(const expr& key, const sizes& dims, dtype element = dtype::f32,
                                     call_site at = call_site::here()) {
  at = at.in("laplace");
  const double least = -1 + detail::step_at_one(element) / 2;
  const ir::operand u = detail::uniform_between(key, dims.dims, element, least, 1, at);
  return u.is_poison() ? u : u.apply(op::sign) * (-u.apply(op::abs)).apply(op::log1p);
}

/// Numbers with density 1 / (pi (1 + x^2)).
///
/// Ill-formed: as `exponential`.
[[nodiscard]] constexpr expr cauchy(const expr& key, const sizes& dims, dtype element = dtype::f32,
                                    call_site at = call_site::here()) {
  at = at.in("cauchy");
  const double least = detail::step_at_one(element);
  const ir::operand u = detail::uniform_between(key, dims.dims, element, least, 1, at);
  return u.is_poison() ? u : tan((u - 0.5) * detail::rounded(std::numbers::pi, element), at);
}

/// Numbers whose distribution is the sigmoid.
///
/// Ill-formed: as `exponential`.
[[nodiscard]] constexpr expr logistic(const expr& key, const sizes& dims,
                                      dtype element = dtype::f32,
                                      call_site at = call_site::here()) {
  at = at.in("logistic");
  const double least = detail::least_normal(element);
  const ir::operand u = detail::uniform_between(key, dims.dims, element, least, 1, at);
  return u.is_poison() ? u : u.apply(op::log) - (-u).apply(op::log1p);
}

/// Numbers with density b / x^(b + 1), x >= 1.
///
/// Gradient: to b.
/// Ill-formed: as `exponential`; b does not broadcast to the shape.
[[nodiscard]] constexpr expr pareto(const expr& key, const located& b, const sizes& dims,
                                    dtype element = dtype::f32, call_site at = call_site::here()) {
  at = at.in("pareto");
  const auto e = detail::exponential_of(detail::unit_uniform(key, dims.dims, element, at));
  return e.is_poison() ? e : (e / detail::parameter(e, b)).apply(op::exp);
}

/// The length of a vector of two normal numbers of deviation `scale`.
///
/// Gradient: to scale.
/// Ill-formed: as `exponential`; scale does not broadcast to the shape.
[[nodiscard]] constexpr expr rayleigh(const expr& key, const located& scale, const sizes& dims,
                                      dtype element = dtype::f32,
                                      call_site at = call_site::here()) {
  at = at.in("rayleigh");
  const ir::operand u = detail::unit_uniform(key, dims.dims, element, at);
  if (u.is_poison()) return u;
  return detail::parameter(u, scale) * (u.apply(op::log) * -2.0).apply(op::sqrt);
}

/// scale (-log(1 - u))^(1 / concentration) of uniform u.
///
/// Gradient: to scale and concentration.
/// Ill-formed: as `exponential`; a parameter does not broadcast to the shape.
[[nodiscard]] constexpr expr weibull_min(const expr& key, const located& scale,
                                         const located& concentration, const sizes& dims,
                                         dtype element = dtype::f32,
                                         call_site at = call_site::here()) {
  at = at.in("weibull_min");
  const auto e = detail::exponential_of(detail::unit_uniform(key, dims.dims, element, at));
  if (e.is_poison()) return e;
  const ir::operand exponent = 1.0 / detail::parameter(e, concentration);
  return ir::operand::combine(op::pow, e, exponent) * detail::parameter(e, scale);
}

/// Numbers whose density rises straight from `left` to `mode` and falls straight to `right`.
///
/// Gradient: to the three.
/// Ill-formed: as `exponential`; a parameter does not broadcast to the shape.
[[nodiscard]] constexpr expr triangular(const expr& key, const located& left, const located& mode,
                                        const located& right, const sizes& dims,
                                        dtype element = dtype::f32,
                                        call_site at = call_site::here()) {
  at = at.in("triangular");
  const ir::operand u = detail::unit_uniform(key, dims.dims, element, at);
  if (u.is_poison()) return u;
  const ir::operand from = detail::parameter(u, left);
  const ir::operand top = detail::parameter(u, mode);
  const ir::operand to = detail::parameter(u, right);
  const ir::operand rising = from + (u * (to - from) * (top - from)).apply(op::sqrt);
  const ir::operand falling = to - ((1.0 - u) * (to - from) * (to - top)).apply(op::sqrt);
  return ir::broadcast_select(u < (top - from) / (to - from), rising, falling);
}

}  // namespace atled::random
