// atled/optim/clip.hpp: the length of a gradient, and gradients of bounded length.
// Reads: core/tree.hpp, ops/reduce.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/reduce.hpp"

namespace atled::optim {

namespace detail {

/// The sum of the squares of all elements of a tree.
template <class Tree>
constexpr ir::operand sum_of_squares(const Tree& tree, const call_site& at) {
  expr total;
  for_each_leaf(
      [&](const expr& leaf) {
        const ir::operand x(leaf, at);
        const ir::operand in =
            x.is_poison() || x.type().element != dtype::bf16 ? x : x.as(dtype::f32);
        const ir::operand squares(sum(in * in, {}, {}, at), at);
        total = total.is_traced() ? ir::operand(total, at) + squares : squares;
      },
      tree);
  return {total.builder(), total.id()};
}

}  // namespace detail

/// The Euclidean length of all leaves taken together.
template <class Tree>
[[nodiscard]] constexpr expr global_norm(const Tree& tree, call_site at = call_site::here()) {
  return detail::sum_of_squares(tree, at.in("global_norm")).apply(op::sqrt);
}

/// Each element brought into [-limit, limit].
template <class Tree>
[[nodiscard]] constexpr Tree clip_by_value(const Tree& tree, double limit,
                                           call_site at = call_site::here()) {
  at = at.in("clip_by_value");
  return tree_map(
      [&](const expr& leaf) {
        const ir::operand x(leaf, at);
        const auto raised = ir::operand::combine(op::max, x, x.like(-limit));
        return expr(ir::operand::combine(op::min, raised, x.like(limit)));
      },
      tree);
}

/// Each leaf scaled for itself so that its norm is at most `limit`; zeros stay zeros.
template <class Tree>
[[nodiscard]] constexpr Tree clip_by_norm(const Tree& tree, double limit,
                                          call_site at = call_site::here()) {
  at = at.in("clip_by_norm");
  return tree_map(
      [&](const expr& leaf) {
        const ir::operand x(leaf, at);
        if (x.is_poison()) return leaf;
        const ir::operand norm = detail::sum_of_squares(leaf, at).apply(op::sqrt);
        const ir::operand scale = ir::select(norm > norm.like(limit), limit / norm, norm.like(1));
        return expr(x * scale.as(leaf.element()));
      },
      tree);
}

/// `tree` scaled so that its global norm is at most `limit`; zeros stay zeros.
///
/// Calling `global_norm` of the same tree beside it costs nothing.
/// Source: Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks,
/// ICML 2013, algorithm 1.
template <class Tree>
[[nodiscard]] constexpr Tree clip_by_global_norm(const Tree& tree, double limit,
                                                 call_site at = call_site::here()) {
  at = at.in("clip_by_global_norm");
  const ir::operand norm = detail::sum_of_squares(tree, at).apply(op::sqrt);
  if (norm.is_poison()) return tree;
  const ir::operand scale = ir::select(norm > norm.like(limit), limit / norm, norm.like(1));
  return tree_map(
      [&](const expr& leaf) { return expr(ir::operand(leaf, at) * scale.as(leaf.element())); },
      tree);
}

}  // namespace atled::optim
