// atled/optim/average.hpp: a mean of the parameters over the last steps: smoother than they are.
// Reads: optim/rule.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/optim/rule.hpp"

namespace atled::optim {

/// A mean in which older parameters fade.
///
///   average = decay average + (1 - decay) params
///
/// It begins as zeros, and `value` divides by 1 - decay^t; with `is_debiased` false it begins as
/// the parameters. State: the pair of the average and the number of steps. Numbers as of Optax.
/// Source: Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, 1992.
struct ema {
  double decay = 0.999;
  bool is_debiased = true;

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return std::pair(is_debiased ? detail::filled_like(params, 0) : params,
                     detail::zero_steps(params));
  }
  /// The state after one step more.
  template <class Params>
  [[nodiscard]] constexpr std::pair<Params, expr> update(const std::pair<Params, expr>& state,
                                                         const Params& params,
                                                         call_site at = call_site::here()) const {
    at = at.in("ema");
    return {tree_map(
                [&](const expr& old, const expr& p) {
                  return expr(ir::operand(old, at) * decay + ir::operand(p, at) * (1 - decay));
                },
                state.first, params),
            ir::operand(state.second, at) + 1.0};
  }
  /// The mean; it has none before the first step.
  template <class Params>
  [[nodiscard]] constexpr Params value(const std::pair<Params, expr>& state,
                                       call_site at = call_site::here()) const {
    if (!is_debiased) return state.first;
    at = at.in("ema");
    const ir::operand t = ir::operand(state.second, at).as(detail::scalar_type(state.first));
    const ir::operand weight = -(t * detail::log_of(decay)).apply(op::expm1);
    return tree_map(
        [&](const expr& leaf) { return expr(ir::operand(leaf, at) / weight.as(leaf.element())); },
        state.first);
  }
};

}  // namespace atled::optim
