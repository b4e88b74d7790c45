// atled/optim/clip.hpp: the length of a gradient, and gradients of bounded length.
// Reads: core/tree.hpp, ops/reduce.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/reduce.hpp"

namespace atled::optim {

namespace detail {

/// The sum of the squares of all elements of a tree: a leaf of which ranks hold parts counts with
/// all of them, one that they share once.
template <class Tree>
constexpr ir::operand sum_of_squares(const Tree& tree, const call_site& at) {
  constexpr int most_kinds = 16;
  expr totals[most_kinds]{};  // of leaves that differ along the same axes of ranks
  std::uint32_t kinds[most_kinds]{};
  int count = 0;
  for_each_leaf(
      [&](const expr& leaf) {
        const ir::operand x(leaf, at);
        const ir::operand in = x.is_poison() || !is_half(x.type().element) ? x : x.as(dtype::f32);
        ir::operand squares(sum(in * in, {}, {}, at), at);
        ir::builder& b = leaf.builder();
        std::uint32_t kind = b.varies(squares.id()) & b.rank_axes();
        if (count == most_kinds) {
          squares = {b, b.psum(squares.id(), kind)};
          kind = 0;
        }
        int i = 0;
        while (i < count && kinds[i] != kind) ++i;
        if (i == most_kinds) i = 0;
        kinds[i] = i == count ? kind : kinds[i];
        totals[i] = i == count ? expr(squares) : expr(ir::operand(totals[i], at) + squares);
        if (i == count) ++count;
      },
      tree);
  ir::builder& b = totals[0].builder();
  ir::operand out(b, b.psum(totals[0].id(), kinds[0]));
  for (int i = 1; i < count; ++i) {
    out = out + ir::operand(b, b.psum(totals[i].id(), kinds[i]));
  }
  return out;
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
