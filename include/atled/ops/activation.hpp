// atled/ops/activation.hpp: what stands between the layers of a network: relu, gelu, silu,
// softplus. Reads: ops/elementwise.hpp. Each is stable for huge arguments and smooth where the
// function is: the two halves of a `select` meet with equal derivatives.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

namespace atled {

/// max(x, 0); NaN stays.
///
/// Gradient: d_out where x > 0, and 0 at 0.
[[nodiscard]] constexpr expr relu(const expr& x, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("relu"));
  return ir::select(in <= 0.0, in.like(0), in);
}

/// x where x > 0, else slope * x.
[[nodiscard]] constexpr expr leaky_relu(const expr& x, double slope = 0.01,
                                        call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("leaky_relu"));
  return ir::select(in > 0.0, in, slope * in);
}

/// x where x > 0, else alpha (exp(x) - 1).
[[nodiscard]] constexpr expr elu(const expr& x, double alpha = 1.0,
                                 call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("elu"));
  const ir::operand positive = in > 0.0;
  const ir::operand below = ir::select(positive, in.like(0), in);  // keeps expm1 finite
  return ir::select(positive, in, alpha * below.apply(op::expm1));
}

/// x times the normal distribution function, 0.5 x (1 + erf(x / sqrt(2))), or its usual
/// approximation 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
///
/// The approximation is computed as x sigmoid(2 u), u what tanh would take: the same function, with
/// one operation less and no loss of digits for negative x.
/// Source: Hendrycks and Gimpel, Gaussian Error Linear Units, 2016.
[[nodiscard]] constexpr expr gelu(const expr& x, bool approximate = true,
                                  call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("gelu"));
  if (!approximate) {
    constexpr double root_half = 0.70710678118654752440;
    return 0.5 * in * (1.0 + (in * root_half).apply(op::erf));
  }
  constexpr double twice_root = 1.5957691216057307117;  // 2 sqrt(2 / pi)
  const ir::operand u = in * (twice_root + (twice_root * 0.044715) * (in * in));
  return in * u.apply(op::logistic);
}

/// x sigmoid(x).
[[nodiscard]] constexpr expr silu(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("silu"));
  return in * in.apply(op::logistic);
}

namespace detail {
/// log(1 + exp(x)) as x + log1p(exp(-x)) above 0 and log1p(exp(x)) below.
constexpr ir::operand softplus_of(const ir::operand& x) {
  const ir::operand positive = x > 0.0;
  const ir::operand distance = ir::select(positive, -x, x);  // -|x|
  return ir::select(positive, x, x.like(0)) + distance.apply(op::exp).apply(op::log1p);
}
}  // namespace detail

/// log(1 + exp(x)), neither overflowing nor losing its tail.
///
/// Gradient: sigmoid(x) d_out.
[[nodiscard]] constexpr expr softplus(const expr& x, call_site at = call_site::here()) {
  return detail::softplus_of(ir::floating_operand(x, at.in("softplus")));
}

/// log(sigmoid(x)), neither -inf nor NaN for finite x.
///
/// Gradient: sigmoid(-x) d_out.
[[nodiscard]] constexpr expr log_sigmoid(const expr& x, call_site at = call_site::here()) {
  return -detail::softplus_of(-ir::floating_operand(x, at.in("log_sigmoid")));
}

}  // namespace atled
