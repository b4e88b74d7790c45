// atled/optim/combine.hpp: rules made of rules: chain, masked, partition, apply_if_finite,
// lookahead, multi_steps. Reads: optim/rule.hpp, optim/accumulate.hpp.
//
// Each has `init` and `update` as any rule, so they nest:
//   constexpr auto rule = optim::apply_if_finite(optim::chain(clipped, optim::adamw{}), 5);
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"
#include "atled/optim/accumulate.hpp"
#include "atled/optim/rule.hpp"

namespace atled::optim {

namespace detail {

/// The two forms of `update` of a rule that holds another one: whatever follows the state is for
/// that one: a rate and a mask, or the position of the call.
template <class Wrapper>
struct wrapping {
  template <class Params, class State, class... Mask>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, const located& rate,
                                      const Mask&... mask) const {
    return static_cast<const Wrapper&>(*this).run(params, gradients, state, rate, mask...);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr auto update(const Params& params, const Params& gradients,
                                      const State& state, call_site at = call_site::here()) const {
    return static_cast<const Wrapper&>(*this).run(params, gradients, state, at);
  }
};

/// Zeros in place of the leaves for which the mask is false.
template <class Params, class Mask>
constexpr Params zeros_outside(const Params& gradients, const Params& params, const Mask& mask) {
  return tree_map(
      [&](const expr& g, const expr& p) {
        return mask(p) ? g : expr(ir::operand(g.builder(), g.id()).like(0));
      },
      gradients, params);
}

template <class F, class Rule>
struct chained : wrapping<chained<F, Rule>> {
  F before;
  Rule rule;

  constexpr chained(const F& f, const Rule& r) : before(f), rule(r) {}

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return rule.init(params);
  }
  template <class Params, class State, class... Rest>
  constexpr auto run(const Params& params, const Params& gradients, const State& state,
                     const Rest&... rest) const {
    if constexpr (std::is_invocable_v<const F&, const Params&, const Params&>) {
      return rule.update(params, before(gradients, params), state, rest...);
    } else {
      return rule.update(params, before(gradients), state, rest...);
    }
  }
};

template <class Rule, class Mask>
struct masked_rule : wrapping<masked_rule<Rule, Mask>> {
  Rule rule;
  Mask mask;

  constexpr masked_rule(const Rule& r, const Mask& m) : rule(r), mask(m) {}

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return rule.init(params);
  }
  template <class Params, class State, class... Rest>
  constexpr auto run(const Params& params, const Params& gradients, const State& state,
                     const Rest&... rest) const {
    auto out = rule.update(params, zeros_outside(gradients, params, mask), state, rest...);
    for_each_leaf([&](expr& now, const expr& old) { now = mask(old) ? now : old; }, out.first,
                  params);
    return out;
  }
};

template <class Mask, class Rule, class Other>
struct partitioned : wrapping<partitioned<Mask, Rule, Other>> {
  Mask is_first;
  Rule first;
  Other second;

  constexpr partitioned(const Mask& m, const Rule& r, const Other& o)
      : is_first(m), first(r), second(o) {}

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return std::pair(first.init(params), second.init(params));
  }
  template <class Params, class State, class... Rest>
  constexpr std::pair<Params, State> run(const Params& params, const Params& gradients,
                                         const State& state, const Rest&... rest) const {
    const auto is_second = [&](const expr& leaf) { return !is_first(leaf); };
    const auto a =
        first.update(params, zeros_outside(gradients, params, is_first), state.first, rest...);
    const auto b =
        second.update(params, zeros_outside(gradients, params, is_second), state.second, rest...);
    std::pair<Params, State> out(a.first, State(a.second, b.second));
    for_each_leaf(
        [&](expr& now, const expr& other, const expr& old) { now = is_first(old) ? now : other; },
        out.first, b.first, params);
    return out;
  }
};

template <class Rule>
struct finite_only : wrapping<finite_only<Rule>> {
  Rule rule;
  int most;

  constexpr finite_only(const Rule& r, int n) : rule(r), most(n) {}

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return std::pair(rule.init(params), zero_steps(params));
  }
  template <class Params, class State, class... Rest>
  constexpr std::pair<Params, State> run(const Params& params, const Params& gradients,
                                         const State& state, const Rest&... rest) const {
    const call_site at = call_site{}.in("apply_if_finite");
    expr finite;
    for_each_leaf(
        [&](const expr& leaf) {
          const ir::operand here(all(isfinite(leaf, at), {}, {}, at), at);
          finite = finite.is_traced() ? ir::operand(finite, at) & here : here;
        },
        gradients);
    const ir::operand is_finite_step(finite, at);
    const ir::operand skipped(state.second, at);
    const ir::operand now = ir::select(is_finite_step, skipped.like(0), skipped + 1.0);
    // After too many of them in a row the step is made, so that the trouble is seen.
    const ir::operand is_made =
        ir::operand::combine(op::bit_or, is_finite_step, now > static_cast<double>(most));
    const auto moved = rule.update(params, gradients, state.first, rest...);
    return {select_tree(is_made, moved.first, params),
            State(select_tree(is_made, moved.second, state.first), now)};
  }
};

template <class Rule>
struct looking_ahead : wrapping<looking_ahead<Rule>> {
  Rule rule;
  int period;
  double slow_step;

  constexpr looking_ahead(const Rule& r, int n, double a) : rule(r), period(n), slow_step(a) {}

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    return std::tuple(rule.init(params), params, zero_steps(params));
  }
  template <class Params, class State, class... Rest>
  constexpr std::pair<Params, State> run(const Params& params, const Params& gradients,
                                         const State& state, const Rest&... rest) const {
    const call_site at = call_site{}.in("lookahead");
    const auto& [inner, old_slow, steps] = state;
    const auto fast = rule.update(params, gradients, inner, rest...);
    const ir::operand now = ir::operand(steps, at) + 1.0;
    const ir::operand is_due = now == static_cast<double>(period);
    const Params slow = tree_map(
        [&](const expr& kept, const expr& ahead) {
          const ir::operand from(kept, at);
          return expr(from + (ir::operand(ahead, at) - from) * slow_step);
        },
        old_slow, fast.first);
    return {select_tree(is_due, slow, fast.first),
            State(fast.second, select_tree(is_due, slow, old_slow),
                  ir::select(is_due, now.like(0), now))};
  }
};

}  // namespace detail

/// A rule on gradients that functions have changed: `chain(f, g, adamw{})`, f first.
///
/// A function takes the gradients, or the gradients and the parameters, and returns gradients:
/// `[](auto g) { return clip_by_global_norm(g, 1.0); }`.
template <class Rule>
[[nodiscard]] constexpr Rule chain(const Rule& rule) {
  return rule;
}
template <class F, class... Rest>
[[nodiscard]] constexpr auto chain(const F& before, const Rest&... rest) {
  const auto inner = chain(rest...);
  return detail::chained<F, std::remove_const_t<decltype(inner)>>(before, inner);
}

/// A rule for the leaves for which `mask(leaf)` is true; all others stay as they are.
template <class Rule, class Mask>
[[nodiscard]] constexpr auto masked(const Rule& rule, const Mask& mask) {
  return detail::masked_rule<Rule, Mask>(rule, mask);
}

/// One rule for the leaves for which `is_first(leaf)` is true, another for the rest. Both go at the
/// rate of the call, or each at its own. State: the pair of both.
template <class Mask, class Rule, class Other>
[[nodiscard]] constexpr auto partition(const Mask& is_first, const Rule& first,
                                       const Other& second) {
  return detail::partitioned<Mask, Rule, Other>(is_first, first, second);
}

/// A rule that makes no step, and keeps its state, where a gradient is not finite; after more than
/// `most` such steps in a row it makes them.
///
/// State: the pair of the rule's own and the number of steps left out in a row, i32[].
/// Source: Micikevicius et al., Mixed Precision Training, ICLR 2018, section 3.2.
template <class Rule>
[[nodiscard]] constexpr auto apply_if_finite(const Rule& rule, int most = 5) {
  return detail::finite_only<Rule>(rule, most);
}

/// A rule whose parameters are drawn back each `period` steps, to slow ones that follow them.
///
///   each period:  slow = slow + slow_step (p - slow)          p = slow
///
/// State: a tuple of the rule's own, the slow parameters and the steps since they met.
/// Source: Zhang et al., Lookahead Optimizer: k steps forward, 1 step back, NeurIPS 2019.
template <class Rule>
[[nodiscard]] constexpr auto lookahead(const Rule& rule, int period = 5, double slow_step = 0.5) {
  return detail::looking_ahead<Rule>(rule, period, slow_step);
}

/// A rule that makes one step from `every` calls, by the mean gradient over all their tokens.
///
///   multi_steps<adamw> rule{adamw{}, 4};
///   auto [params, state] = rule.update(params, gradients, tokens, state);   or with a rate behind
///
/// `gradients` are those of a summed loss, over `tokens` tokens, an integer. Between its steps the
/// parameters stay. State: a tuple of the rule's own, the `gradient_sum` and the calls since.
template <class Rule>
struct multi_steps {
  Rule rule;
  int every = 1;

  template <class Params>
  [[nodiscard]] constexpr auto init(const Params& params) const {
    const auto zero = detail::zero_steps(params);
    return std::tuple(rule.init(params), std::pair(detail::filled_like(params, 0), zero), zero);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr std::pair<Params, State> update(const Params& params,
                                                          const Params& gradients,
                                                          const located& tokens, const State& state,
                                                          const located& rate) const {
    return run(params, gradients, tokens, state, rate);
  }
  template <class Params, class State>
  [[nodiscard]] constexpr std::pair<Params, State> update(const Params& params,
                                                          const Params& gradients,
                                                          const located& tokens, const State& state,
                                                          call_site at = call_site::here()) const {
    return run(params, gradients, tokens, state, at);
  }

 private:
  template <class Params, class State, class Last>
  constexpr std::pair<Params, State> run(const Params& params, const Params& gradients,
                                         const located& tokens, const State& state,
                                         const Last& last) const {
    const call_site at = tokens.at().in("multi_steps");
    const auto& [inner, before, calls] = state;
    const auto total = accumulate(before, gradients, ir::moved_to(tokens, at));
    const ir::operand now = ir::operand(calls, at) + 1.0;
    const ir::operand is_due = now == static_cast<double>(every);
    const auto moved = rule.update(params, mean_gradient(total), inner, last);
    const auto none =
        tree_map([&](const expr& leaf) { return expr(ir::operand(leaf, at).like(0)); }, total);
    return {detail::select_tree(is_due, moved.first, params),
            State(detail::select_tree(is_due, moved.second, inner),
                  detail::select_tree(is_due, none, total), ir::select(is_due, now.like(0), now))};
  }
};

}  // namespace atled::optim
