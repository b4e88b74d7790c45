// atled/optim/adam.hpp: Adam, AdamW: steps of a size that does not depend on the gradient's.
// Reads: optim/rule.hpp, optim/mask.hpp. Next: optim/schedules.hpp, optim/clip.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/optim/mask.hpp"
#include "atled/optim/rule.hpp"

namespace atled::optim {

/// What AdamW keeps between steps, a tuple: the mean m of the gradients, the mean v of their
/// squares, both like the parameters, and the number of steps, i32[].
///
/// `Step` is a tensor<i32>, or an expression inside a trace.
template <class Params, class Step>
using adam_state = std::tuple<Params, Params, Step>;

/// AdamW: Adam with weight decay that is not scaled by the gradients.
///
///   m = beta1 m + (1 - beta1) g          v = beta2 v + (1 - beta2) g^2
///   p = p - rate (m' / (sqrt(v') + eps) + decay p),   m' = m / (1 - beta1^t), v' likewise
///
/// A pure function on trees: it is traced with the step it belongs to, and each leaf is one pass
/// over memory. Numbers as of PyTorch and Optax.
/// Units: rate per optimizer step.
/// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.
struct adamw {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double decay = 0.01;

  /// Zeros like the parameters, and no step made: of tensors, or inside a trace of expressions.
  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    auto steps = detail::zero_steps(params);
    return adam_state<Params, decltype(steps)>{detail::filled_like(params, 0),
                                               detail::filled_like(params, 0), std::move(steps)};
  }

  /// One step: the new parameters and the new state.
  ///
  /// `is_decayed(leaf)` says which leaves decay; without it, those with two axes or more.
  /// Ill-formed: the gradients have another shape than the parameters.
  template <class Params, class Mask = rank_at_least<2>>
  [[nodiscard]] constexpr std::pair<Params, adam_state<Params, expr>> update(
      const Params& params, const Params& gradients, const adam_state<Params, expr>& state,
      const located& rate, const Mask& is_decayed = {}) const {
    const call_site at = rate.at().in("adamw");
    const auto& [old_m, old_v, old_step] = state;
    const ir::operand made(old_step, at);
    ir::builder& b = made.builder();
    const ir::operand step = made + ir::operand(b, b.constant(1, dtype::i32));

    // One minus beta^t as -expm1(t log(beta)): exact also for the first steps.
    const dtype element = detail::scalar_type(params);
    const ir::operand t = step.as(element);
    const auto correction = [&](double beta) {
      return -(t * detail::log_of(beta)).apply(op::expm1);
    };
    const ir::operand alpha = ir::as_operand(b, rate, element).as(element);
    // m' / (sqrt(v') + eps) is m / (sqrt(v) + eps root) times root / (1 - beta1^t).
    const ir::operand root = correction(beta2).apply(op::sqrt);
    const ir::operand step_size = alpha * root / correction(beta1);
    const ir::operand floor = root * eps;
    const ir::operand kept = 1.0 - alpha * decay;

    std::pair<Params, adam_state<Params, expr>> out(params, {old_m, old_v, expr(step)});
    auto& [new_params, new_state] = out;
    for_each_leaf(
        [&](expr& p_leaf, expr& m_leaf, expr& v_leaf, const expr& g_leaf) {
          const ir::operand p(p_leaf, at);
          const ir::operand g(g_leaf, at);
          if (p.is_poison() || g.is_poison()) return;
          if (!(p.type().dims == g.type().dims)) {
            text why;
            p_leaf = ir::fail(b, why << "parameter " << p.type() << " and gradient " << g.type()
                                     << ": shapes must be equal");
            return;
          }
          const dtype type = p.type().element;
          const auto scalar = [&](const ir::operand& x) { return x.as(type); };
          const ir::operand m = ir::operand(m_leaf, at) * beta1 + g * (1 - beta1);
          const ir::operand v = ir::operand(v_leaf, at) * beta2 + g * g * (1 - beta2);
          const ir::operand size = v.apply(op::sqrt) + scalar(floor);
          const ir::operand rest = decay != 0 && is_decayed(p_leaf) ? p * scalar(kept) : p;
          p_leaf = rest - scalar(step_size) * m / size;
          m_leaf = m;
          v_leaf = v;
        },
        new_params, std::get<0>(new_state), std::get<1>(new_state), gradients);
    return out;
  }
  /// One step at `learning_rate`.
  template <class Params>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const adam_state<Params, expr>& state,
                                      call_site at = call_site::here()) const {
    return update(params, gradients, state, located(learning_rate, at));
  }
};

namespace detail {

/// Adam's direction for leaves one by one: m and v move, m' / (sqrt(v') + eps) comes back.
struct adam_direction {
  double beta1;
  double beta2;
  double eps;
  ir::operand first;   ///< 1 / (1 - beta1^t)
  ir::operand second;  ///< 1 / (1 - beta2^t)

  constexpr adam_direction(double b1, double b2, double floor, const ir::operand& t)
      : beta1(b1), beta2(b2), eps(floor), first(correction(t, b1)), second(correction(t, b2)) {}

  constexpr ir::operand operator()(expr& m_leaf, expr& v_leaf, const ir::operand& g,
                                   const call_site& at) const {
    const ir::operand m = ir::operand(m_leaf, at) * beta1 + g * (1 - beta1);
    const ir::operand v = ir::operand(v_leaf, at) * beta2 + g * g * (1 - beta2);
    m_leaf = m;
    v_leaf = v;
    const dtype type = m.type().element;
    return m * first.as(type) / ((v * second.as(type)).apply(op::sqrt) + eps);
  }

 private:
  static constexpr ir::operand correction(const ir::operand& t, double beta) {
    return -1.0 / (t * log_of(beta)).apply(op::expm1);
  }
};

/// One step more, and the number of steps as an element type.
constexpr ir::operand next_step(expr& steps, dtype element, const call_site& at) {
  const ir::operand next = ir::operand(steps, at) + 1.0;
  steps = next;
  return next.as(element);
}

}  // namespace detail

/// Adam: `adamw` without weight decay.
///
/// Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1.
struct adam {
  static constexpr const char* name = "adam";
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;

  template <class Params>
  [[nodiscard]] static constexpr auto init(const Params& params) {
    return adamw::init(params);
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
  constexpr void step(Params& params, const Params& gradients, adam_state<Params, expr>& state,
                      const ir::operand& rate, const call_site& at) const {
    const adamw same{.beta1 = beta1, .beta2 = beta2, .eps = eps, .decay = 0};
    std::tie(params, state) = same.update(params, gradients, state, located(expr(rate), at));
  }
};

}  // namespace atled::optim
