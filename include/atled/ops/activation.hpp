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

/// x where x > 0, else alpha (exp(x / alpha) - 1).
[[nodiscard]] constexpr expr celu(const expr& x, double alpha = 1.0,
                                  call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("celu"));
  const ir::operand positive = in > 0.0;
  const ir::operand below = ir::select(positive, in.like(0), in);
  return ir::select(positive, in, alpha * (below / alpha).apply(op::expm1));
}
/// `elu` scaled so that a layer keeps mean 0 and variance 1.
///
/// Source: Klambauer et al., Self-Normalizing Neural Networks, 2017.
[[nodiscard]] constexpr expr selu(const expr& x, call_site at = call_site::here()) {
  at = at.in("selu");
  return 1.0507009873554804934 * ir::operand(elu(x, 1.6732632423543772848, at), at);
}

/// x times the normal distribution function, 0.5 x erfc(-x / sqrt(2)), or its usual
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
    return 0.5 * in * (in * -root_half).apply(op::erfc);
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
/// The same as `silu`.
[[nodiscard]] constexpr expr swish(const expr& x, call_site at = call_site::here()) {
  return silu(x, at.in("swish"));
}
/// x / (1 + |x|).
[[nodiscard]] constexpr expr softsign(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("softsign"));
  return in / (1.0 + in.apply(op::abs));
}

// Pieces of lines: 1 is the derivative on the closed interval where they rise, as of `clip`.

/// x moved into [-1, 1].
[[nodiscard]] constexpr expr hard_tanh(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("hard_tanh"));
  return ir::select(in > 1.0, in.like(1), ir::select(in < -1.0, in.like(-1), in));
}
/// x moved into [0, 6]; as of `relu`, the derivative at 0 is 0.
[[nodiscard]] constexpr expr relu6(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("relu6"));
  return ir::select(in > 6.0, in.like(6), ir::select(in <= 0.0, in.like(0), in));
}
/// relu6(x + 3) / 6.
[[nodiscard]] constexpr expr hard_sigmoid(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("hard_sigmoid")) + 3.0;
  return ir::operand(relu6(in, at.in("hard_sigmoid")), at.in("hard_sigmoid")) / 6.0;
}
/// x hard_sigmoid(x).
[[nodiscard]] constexpr expr hard_silu(const expr& x, call_site at = call_site::here()) {
  at = at.in("hard_silu");
  const ir::operand in = ir::floating_operand(x, at);
  return in * ir::operand(hard_sigmoid(in, at), at);
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

/// x tanh(softplus(x)).
///
/// Source: Misra, Mish: A Self Regularized Non-Monotonic Activation Function, 2019.
[[nodiscard]] constexpr expr mish(const expr& x, call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("mish"));
  return in * detail::softplus_of(in).apply(op::tanh);
}

/// log(sigmoid(x)), neither -inf nor NaN for finite x.
///
/// Gradient: sigmoid(-x) d_out.
[[nodiscard]] constexpr expr log_sigmoid(const expr& x, call_site at = call_site::here()) {
  return -detail::softplus_of(-ir::floating_operand(x, at.in("log_sigmoid")));
}

}  // namespace atled
