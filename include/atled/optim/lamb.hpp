// atled/optim/lamb.hpp: LAMB: Adam's direction at a length in proportion to the parameters, for
// large batches. Reads: optim/adam.hpp, ops/reduce.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/optim/adam.hpp"

namespace atled::optim {

/// Each leaf moves by `rate` times its own norm.
///
///   u = m' / (sqrt(v') + eps) + decay p          p = p - rate |p| / |u| u
///
/// The quotient is 1 where a norm is 0. State as of `adamw`; `is_decayed(leaf)` says which leaves
/// decay; without it, those with two axes or more. Numbers as of Optax.
/// Source: You et al., Large Batch Optimization for Deep Learning, ICLR 2020, algorithm 2.
struct lamb {
  static constexpr const char* name = "lamb";
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-6;
  double decay = 0;

  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    return adamw::init(params);
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
  constexpr void step(Params& params, const Params& gradients, adam_state<Params, expr>& state,
                      const ir::operand& rate, const call_site& at,
                      const Mask& is_decayed = {}) const {
    auto& [means, squares, steps] = state;
    const ir::operand t = detail::next_step(steps, rate.type().element, at);
    const detail::adam_direction direction(beta1, beta2, eps, t);
    const auto norm_of = [&](const ir::operand& x) {
      return ir::operand(sum(x * x, {}, {}, at), at).apply(op::sqrt);
    };
    for_each_leaf(
        [&](expr& p_leaf, expr& m, expr& v, const expr& g) {
          const ir::operand p(p_leaf, at);
          const ir::operand along = direction(m, v, ir::operand(g, at), at);
          const ir::operand u = decay != 0 && is_decayed(p_leaf) ? along + p * decay : along;
          const ir::operand length = norm_of(p);
          const ir::operand wanted = norm_of(u);
          const ir::operand ratio =
              ir::select(length * wanted == 0.0, length.like(1), length / wanted);
          p_leaf = p - rate.as(p_leaf.element()) * ratio * u;
        },
        params, means, squares, gradients);
  }
};

}  // namespace atled::optim
