// atled/passes/late_sums.hpp: sums over ranks are taken as late as their one use allows: of what a
// reduction leaves rather than of what it reads, and once for two of which only the sum is used.
// Reads: passes/rewrite.hpp. Next: passes/bucket_sums.hpp.
//
//   reduce_sum(psum(x))           psum(reduce_sum(x)): the gradient of a bias, not of each row
//   reshape, transpose, slice     the same
//   add(psum(x), psum(y))         psum(add(x, y)): a weight that is used twice
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/rewrite.hpp"

namespace atled::passes {

namespace detail {

/// A sum over ranks moves behind these ops.
constexpr bool lets_sums_pass(op code) {
  return code == op::reduce_sum || code == op::reshape || code == op::transpose ||
         code == op::slice || code == op::neg;
}

/// The operand of `x` if that is a sum over ranks that has one use, else ir::no_node.
constexpr int summed_once(const ir::graph& g, int x, const int* uses) {
  const bool is_sum = g[x].code == op::psum && g.axes[g.attribute(x)].is_of_ranks();
  return is_sum && uses[x] == 1 ? g.operand(x, 0) : ir::no_node;
}

constexpr int with_late_sum(ir::builder& b, const moving_node& n, const int* uses) {
  const int x = n.num_operands > 0 ? summed_once(b.g, n[0], uses) : ir::no_node;
  if (x == ir::no_node) return keep(b, n);
  const ir::attribute_list axis = b.g.attributes_of(n[0]);
  const call_site site = b.site;
  const call_site sum_site = b.g[n[0]].at;
  int inner = ir::no_node;
  if (lets_sums_pass(n.code)) {
    inner = b.append(n.code, {x}, n.attributes, n.type);
  } else if (n.code == op::add && n[0] != n[1]) {
    const int y = summed_once(b.g, n[1], uses);
    if (y != ir::no_node && b.g.attribute(n[1]) == axis.values[0]) inner = b.add(x, y);
  }
  if (inner == ir::no_node) return keep(b, n);
  b.site = sum_site;
  const int out = b.append(op::psum, {inner}, axis);
  b.site = site;
  return out;
}

}  // namespace detail

/// True where a graph has collectives of ranks.
[[nodiscard]] constexpr bool has_ranks(const ir::graph& g) {
  for (int i = 0; i < g.num_axes; ++i) {
    if (g.axes[i].is_of_ranks()) return true;
  }
  return false;
}

/// Rewrites `from` into an empty builder with late sums.
///
/// Post: values as before to rounding; no more bytes are sent. Cost: O(nodes + edges).
constexpr void move_sums(const ir::graph& from, ir::builder& into) {
  int uses[ir::graph::max_nodes]{};     // of a node of `from`
  int uses_of[ir::graph::max_nodes]{};  // of what takes its place
  for (int id = 0; id < from.num_nodes; ++id) {
    for (int i = 0; i < from[id].num_operands; ++i) ++uses[from.operand(id, i)];
  }
  for (int i = 0; i < from.num_outputs; ++i) ++uses[from.outputs[i]];
  ir::builder moved;
  rewrite(from, moved, [&](ir::builder& b, const moving_node& n) {
    const int made = detail::with_late_sum(b, n, uses_of);
    uses_of[made] += uses[n.id];
    return made;
  });
  copy_live(moved.g, into);
}

}  // namespace atled::passes
