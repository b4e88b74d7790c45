// atled/passes/simplify_dot.hpp: transposes of the operands and of the result of a dot go into its
// axes; a dot without sums is a product of elements. Reads: passes/simplifier.hpp. Used by
// passes/simplify.hpp, which says what a rule may do.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/simplifier.hpp"

namespace atled::passes::detail {

/// transpose(dot(x, y)): batch axes in another order, or the free axes of y first.
constexpr int transpose_of_dot(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const int y = b.g.operand(n[0], 1);
  const auto axes = ir::dot_axes::unpacked(b.g.attributes_of(n[0]));
  const std::int64_t order = n.attributes.values[0];
  const int lhs_free = b.type(x).rank() - axes.num_batch - axes.num_contract;
  const int rhs_free = b.type(y).rank() - axes.num_batch - axes.num_contract;
  ir::dot_axes moved{};
  ir::dot_axes swapped{};
  for (int i = 0; i < axes.num_batch; ++i) {
    const int from = ir::permuted_axis(order, i);
    if (from >= axes.num_batch) return ir::no_node;
    moved.batch(axes.lhs_batch[from], axes.rhs_batch[from]);
    swapped.batch(axes.rhs_batch[from], axes.lhs_batch[from]);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    moved.contract(axes.lhs_contract[i], axes.rhs_contract[i]);
    swapped.contract(axes.rhs_contract[i], axes.lhs_contract[i]);
  }
  bool stays = true;
  bool swaps = true;
  for (int i = 0; i < lhs_free + rhs_free; ++i) {
    const int from = ir::permuted_axis(order, axes.num_batch + i) - axes.num_batch;
    stays = stays && from == i;
    swaps = swaps && from == (i < rhs_free ? lhs_free + i : i - rhs_free);
  }
  if (stays) return make(b, op::dot, {x, y}, moved.packed());
  return swaps ? make(b, op::dot, {y, x}, swapped.packed()) : ir::no_node;
}

/// An operand of a dot without its transpose, if its free axes keep their order; `role` and `axes`
/// say what the axes of the transposed operand are.
struct untransposed {
  bool is_possible;
  int axes[max_rank];  ///< axis i of the operand is this axis of what was transposed
};
template <class Role>
constexpr untransposed without_transpose(const ir::graph& g, int x, Role role) {
  if (g[x].code != op::transpose) return {};
  untransposed out{};
  out.is_possible = true;
  int previous = -1;
  for (int i = 0; i < g.type(x).rank(); ++i) {
    out.axes[i] = ir::permuted_axis(g.attribute(x), i);
    if (role(i) != 'f') continue;
    out.is_possible = out.is_possible && out.axes[i] > previous;
    previous = out.axes[i];
  }
  return out;
}

/// A factor of a product without sums, spread over the axes of the result: its batch axes lead, its
/// free axes begin at `free_begin`.
template <class Role>
constexpr int spread_factor(simplifier& b, int x, const int* batch, int num_batch, int free_begin,
                            const shape& dims, Role role) {
  std::int64_t order = 0;
  std::int64_t mask = (std::int64_t{1} << num_batch) - 1;
  int at = 0;
  for (; at < num_batch; ++at) order = ir::with_permuted_axis(order, at, batch[at]);
  bool moves = false;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    if (role(i) != 'f') continue;
    mask |= std::int64_t{1} << free_begin++;
    order = ir::with_permuted_axis(order, at++, i);
  }
  for (int i = 0; i < at; ++i) moves = moves || ir::permuted_axis(order, i) != i;
  const int turned = moves ? make(b, op::transpose, {x}, ir::attribute_list::of(order)) : x;
  return b.type(turned).dims == dims ? turned : make_broadcast(b, turned, dims, mask);
}

/// A product without sums is elementwise, and fuses as such: the sum of its squares stores nothing.
constexpr int outer_product(simplifier& b, const moving_node& n, const ir::dot_axes& axes) {
  const int lhs_free = b.type(n[0]).rank() - axes.num_batch;
  const int x = spread_factor(b, n[0], axes.lhs_batch, axes.num_batch, axes.num_batch, n.type.dims,
                              [&](int i) { return axes.role_of_lhs(i); });
  const int y = spread_factor(b, n[1], axes.rhs_batch, axes.num_batch, axes.num_batch + lhs_free,
                              n.type.dims, [&](int i) { return axes.role_of_rhs(i); });
  return make(b, op::mul, {x, y});
}

constexpr int simplify_dot(simplifier& b, const moving_node& n) {
  const auto axes = ir::dot_axes::unpacked(n.attributes);
  if (axes.num_contract == 0 && n.type.element != dtype::boolean) return outer_product(b, n, axes);
  const auto left = without_transpose(b.g, n[0], [&](int i) { return axes.role_of_lhs(i); });
  const auto right = without_transpose(b.g, n[1], [&](int i) { return axes.role_of_rhs(i); });
  if (!left.is_possible && !right.is_possible) return ir::no_node;
  ir::dot_axes moved{};
  const auto lhs = [&](int axis) { return left.is_possible ? left.axes[axis] : axis; };
  const auto rhs = [&](int axis) { return right.is_possible ? right.axes[axis] : axis; };
  for (int i = 0; i < axes.num_batch; ++i)
    moved.batch(lhs(axes.lhs_batch[i]), rhs(axes.rhs_batch[i]));
  for (int i = 0; i < axes.num_contract; ++i) {
    moved.contract(lhs(axes.lhs_contract[i]), rhs(axes.rhs_contract[i]));
  }
  const int x = left.is_possible ? b.g.operand(n[0], 0) : n[0];
  const int y = right.is_possible ? b.g.operand(n[1], 0) : n[1];
  return make(b, op::dot, {x, y}, moved.packed());
}

}  // namespace atled::passes::detail
