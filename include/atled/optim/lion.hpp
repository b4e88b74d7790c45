// atled/optim/lion.hpp: Lion: steps of one size, in the direction of a sign.
// Reads: optim/rule.hpp, optim/mask.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/optim/mask.hpp"
#include "atled/optim/rule.hpp"

namespace atled::optim {

/// Lion: the sign of a mean of gradients, and weight decay.
///
///   p = p - rate (sign(beta1 m + (1 - beta1) g) + decay p)          m = beta2 m + (1 - beta2) g
///
/// State: m, like the parameters. `is_decayed(leaf)` says which leaves decay; without it,
/// those with two axes or more. Numbers as of Optax.
/// Source: Chen et al., Symbolic Discovery of Optimization Algorithms, 2023, algorithm 2.
struct lion {
  static constexpr const char* name = "lion";
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double decay = 1e-3;

  template <class Params>
  [[nodiscard]] static constexpr Params init(const Params& params) {
    return detail::filled_like(params, 0);
  }
  template <class Params, class State, class... Mask>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate,
                                      const Mask&... mask) const {
    return detail::updated(*this, params, gradients, state, rate, mask...);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return detail::updated(*this, params, gradients, state, located(learning_rate, at));
  }
  template <class Params, class Mask = rank_at_least<2>>
  constexpr void step(Params& params, const Params& gradients, Params& means,
                      const ir::operand& rate, const call_site& at,
                      const Mask& is_decayed = {}) const {
    for_each_leaf(
        [&](expr& p_leaf, expr& mean, const expr& g_leaf) {
          const ir::operand p(p_leaf, at);
          const ir::operand g(g_leaf, at);
          const ir::operand m(mean, at);
          const ir::operand sign = (m * beta1 + g * (1 - beta1)).apply(op::sign);
          p_leaf = p - rate.as(p_leaf.element()) *
                           (decay != 0 && is_decayed(p_leaf) ? sign + p * decay : sign);
          mean = m * beta2 + g * (1 - beta2);
        },
        params, means, gradients);
  }
};

}  // namespace atled::optim
