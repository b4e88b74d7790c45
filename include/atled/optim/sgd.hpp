// atled/optim/sgd.hpp: steps along the gradient: sgd, and momentum with Nesterov's form.
// Reads: optim/rule.hpp. Next: optim/adam.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/optim/rule.hpp"

namespace atled::optim {

/// p = p - rate g. It keeps nothing between steps.
struct sgd {
  static constexpr const char* name = "sgd";
  double learning_rate = 1e-2;

  template <class Params>
  [[nodiscard]] static constexpr std::tuple<> init(const Params&) {
    return {};
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
  constexpr void step(Params& params, const Params& gradients, std::tuple<>&,
                      const ir::operand& rate, const call_site& at) const {
    for_each_leaf(
        [&](expr& p, const expr& g) {
          p = ir::operand(p, at) - ir::operand(g, at) * rate.as(p.element());
        },
        params, gradients);
  }
};

/// Steps along a sum of gradients in which older ones fade.
///
///   t = decay t + g          p = p - rate t,     or p = p - rate (g + decay t) as of Nesterov
///
/// State: t, like the parameters. Numbers as of Optax and of PyTorch without dampening.
/// Source: Sutskever et al., On the importance of initialization and momentum in deep learning,
/// ICML 2013, section 2.
struct momentum {
  static constexpr const char* name = "momentum";
  double learning_rate = 1e-2;
  double decay = 0.9;
  bool is_nesterov = false;

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
  constexpr void step(Params& params, const Params& gradients, Params& sums,
                      const ir::operand& rate, const call_site& at) const {
    for_each_leaf(
        [&](expr& p, expr& sum, const expr& g_leaf) {
          const ir::operand g(g_leaf, at);
          const ir::operand t = ir::operand(sum, at) * decay + g;
          p = ir::operand(p, at) - rate.as(p.element()) * (is_nesterov ? g + t * decay : t);
          sum = t;
        },
        params, sums, gradients);
  }
};

}  // namespace atled::optim
