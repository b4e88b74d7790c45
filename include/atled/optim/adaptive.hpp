// atled/optim/adaptive.hpp: steps divided by the size of past gradients: adagrad, rmsprop.
// Reads: optim/rule.hpp. Next: optim/adam.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/optim/rule.hpp"

namespace atled::optim {

/// Each element's step is divided by the root of the sum of its squared gradients.
///
///   s = s + g^2          p = p - rate g / sqrt(s + eps)
///
/// State: s, like the parameters, `initial` before the first step. Numbers as of Optax.
/// Source: Duchi, Hazan and Singer, Adaptive Subgradient Methods, JMLR 2011.
struct adagrad {
  static constexpr const char* name = "adagrad";
  double learning_rate = 1e-2;
  double initial = 0.1;
  double eps = 1e-7;

  template <class Params>
  [[nodiscard]] constexpr Params init(const Params& params) const {
    return detail::filled_like(params, initial);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate) const {
    return detail::updated(*this, params, gradients, state, rate);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return detail::updated(*this, params, gradients, state, located(learning_rate, at));
  }
  template <class Params>
  constexpr void step(Params& params, const Params& gradients, Params& sums,
                      const ir::operand& rate, const call_site& at) const {
    for_each_leaf(
        [&](expr& p, expr& sum, const expr& g_leaf) {
          const ir::operand g(g_leaf, at);
          const ir::operand s = ir::operand(sum, at) + g * g;
          const ir::operand size = ir::select(s > 0.0, (s + eps).apply(op::rsqrt), s.like(0));
          p = ir::operand(p, at) - rate.as(p.element()) * g * size;
          sum = s;
        },
        params, sums, gradients);
  }
};

/// Each element's step is divided by the root of the mean of its squared gradients.
///
///   v = decay v + (1 - decay) g^2          p = p - rate g / sqrt(v + eps)
///
/// State: v, like the parameters. Numbers as of Optax.
/// Source: Tieleman and Hinton, Lecture 6.5: RMSProp, 2012.
struct rmsprop {
  static constexpr const char* name = "rmsprop";
  double learning_rate = 1e-2;
  double decay = 0.9;
  double eps = 1e-8;

  template <class Params>
  [[nodiscard]] static constexpr Params init(const Params& params) {
    return detail::filled_like(params, 0);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate) const {
    return detail::updated(*this, params, gradients, state, rate);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return detail::updated(*this, params, gradients, state, located(learning_rate, at));
  }
  template <class Params>
  constexpr void step(Params& params, const Params& gradients, Params& squares,
                      const ir::operand& rate, const call_site& at) const {
    for_each_leaf(
        [&](expr& p, expr& square, const expr& g_leaf) {
          const ir::operand g(g_leaf, at);
          const ir::operand v = ir::operand(square, at) * decay + g * g * (1 - decay);
          p = ir::operand(p, at) - rate.as(p.element()) * g * (v + eps).apply(op::rsqrt);
          square = v;
        },
        params, squares, gradients);
  }
};

}  // namespace atled::optim
