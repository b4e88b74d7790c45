// atled/optim/rule.hpp: what all optimizers share: the call that makes a step, and states like the
// parameters. Reads: trace/trace.hpp, ops/arguments.hpp. Next: optim/sgd.hpp, optim/adam.hpp.
//
// An optimizer is a struct of numbers, a rule, and pure functions on trees:
//   state = rule.init(params)                                            before the first step
//   auto [params, state] = rule.update(params, gradients, state);        at its learning rate
//   auto [params, state] = rule.update(params, gradients, state, rate);  at another
// `init` gives tensors for tensors, expressions inside a trace; `update` is traced. Rates are per
// optimizer step. Where a rule says so, a mask may follow: which leaves decay, which are matrices.
// A rule defines `init` and `step`, which changes parameters and state in place.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/arguments.hpp"
#include "atled/trace/trace.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace atled::optim {

namespace detail {

/// The natural logarithm at build time, for a rate in (0, 1).
constexpr double log_of(double x) {
  int halvings = 0;
  for (; x < 0.75; x *= 2) ++halvings;
  const double z = (x - 1) / (x + 1);  // log(x) = 2 atanh(z), |z| <= 1/7
  double sum = 0;
  double power = z;
  for (int n = 1; n < 40; n += 2, power *= z * z) sum += power / n;
  return 2 * sum - halvings * 0.69314718055994530942;
}

/// The square root at build time, for x >= 1: Newton's method from above.
constexpr double root_of(double x) {
  double root = x;
  for (double next = (root + x / root) / 2; next < root; next = (root + x / root) / 2) root = next;
  return root;
}

/// The first expression of a tree.
template <class Tree>
constexpr expr first_leaf(const Tree& tree) {
  expr out;
  for_each_leaf(
      [&](const auto& leaf) {
        if (!out.is_traced()) out = leaf;
      },
      tree);
  return out;
}

/// The widest element type of a tree, at least f32: that of its scalars.
template <class Tree>
constexpr dtype scalar_type(const Tree& tree) {
  dtype out = dtype::f32;
  for_each_leaf([&](const expr& leaf) { out = promote(out, leaf.element()); }, tree);
  return out;
}

/// A tree like `params` that holds one number everywhere: of tensors, or of expressions. Zeros are
/// not written: large tensors begin as pages that the system clears when they are first touched.
template <class Params>
constexpr Params filled_like(const Params& params, double value) {
  if constexpr (holds_expressions<Params>()) {
    return tree_map([&](const expr& leaf) { return expr(ir::operand(leaf, {}).like(value)); },
                    params);
  } else {
    Params out{};
    for_each_leaf(
        [&](auto& leaf) {
          leaf = std::remove_cvref_t<decltype(leaf)>{};  // whatever a struct begins with
          if (value == 0) return;
          for (auto& x : leaf) {
            x = atled::detail::to_element<std::remove_cvref_t<decltype(x)>>(value);
          }
        },
        out);
    return out;
  }
}

/// The number 0, i32[]: a tensor, or an expression of the program that `params` belong to.
template <class Params>
constexpr auto zero_steps(const Params& params) {
  if constexpr (holds_expressions<Params>()) {
    ir::builder& b = first_leaf(params).builder();
    return expr(b, b.constant(0, dtype::i32));
  } else {
    return tensor<i32>(0);
  }
}

/// Whether each gradient has the shape of its parameter; if not, the sentence has been kept.
template <class Params>
constexpr bool fit(Params& params, const Params& gradients, const call_site& at) {
  bool out = true;
  for_each_leaf(
      [&](expr& p_leaf, const expr& g_leaf) {
        const ir::operand p(p_leaf, at);
        const ir::operand g(g_leaf, at);
        if (p.is_poison() || g.is_poison()) {
          out = false;
        } else if (!(p.type().dims == g.type().dims)) {
          text why;
          p_leaf = ir::fail(p.builder(), why << "parameter " << p.type() << " and gradient "
                                             << g.type() << ": shapes must be equal");
          out = false;
        }
      },
      params, gradients);
  return out;
}

/// `predicate ? x : y` for each leaf of two trees that are alike.
template <class Tree>
constexpr Tree select_tree(const ir::operand& predicate, const Tree& x, const Tree& y) {
  ir::builder& b = predicate.builder();
  return tree_map(
      [&](const expr& left, const expr& right) {
        return expr(ir::broadcast_select(predicate, {b, left.id()}, {b, right.id()}));
      },
      x, y);
}

/// One step of a rule: parameters and state after it.
template <class Rule, class Params, class State, class... Mask>
constexpr std::pair<Params, State> updated(const Rule& rule, const Params& params,
                                           const Params& gradients, const State& state,
                                           const located& rate, const Mask&... mask) {
  const call_site at = rate.at().in(Rule::name);
  std::pair<Params, State> out(params, state);
  if (!fit(out.first, gradients, at)) return out;
  ir::builder& b = first_leaf(params).builder();
  const dtype element = scalar_type(params);
  rule.step(out.first, gradients, out.second, ir::as_operand(b, rate, element).as(element), at,
            mask...);
  return out;
}

}  // namespace detail

}  // namespace atled::optim
