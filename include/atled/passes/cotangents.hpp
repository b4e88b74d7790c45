// atled/passes/cotangents.hpp: what a transposition knows: which nodes are linear in its inputs,
// and the cotangents that have arrived. Reads: passes/ids.hpp, ir/regions.hpp.
// Next: passes/linear_part.hpp, passes/transpose.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes::detail {

enum class linear_role : std::uint8_t { none, linear, input };

/// The cotangents of results of loops and branches wait here until these are reached.
struct waiting_cotangent {
  int node;
  int index;
  int cotangent;
};

struct cotangent_table {
  int first;
  int last;
  linear_role role[ir::graph::max_nodes];  // at id - first
  int cotangents[ir::graph::max_nodes];    // at last - id: cotangent + 1, 0 is none
  int next_part[ir::graph::max_nodes];     // at last - id, of a custom_part: the next one + 1
  waiting_cotangent waiting[2 * ir::operand_types::capacity];
  int num_waiting;
  ir::scopes inside;

  [[nodiscard]] constexpr bool is_linear(int id) const {
    return id >= first && role[id - first] != linear_role::none;
  }
  [[nodiscard]] constexpr bool is_input(int id) const {
    return role[id - first] == linear_role::input;
  }
  [[nodiscard]] constexpr int of(int id) const { return cotangents[last - id] - 1; }
  constexpr void accumulate(ir::builder& b, int id, int cotangent) {
    int& sum = cotangents[last - id];
    sum = (sum == 0 ? cotangent : b.add(sum - 1, cotangent)) + 1;
  }

  /// In place of a cotangent, a custom_linear holds the list of its parts that have one.
  constexpr void note_part(int whole, int part) {
    next_part[last - part] = cotangents[last - whole];
    cotangents[last - whole] = part + 1;
  }

  constexpr void keep_for(int node, int index, int cotangent) {
    waiting[num_waiting++] = {node, index, cotangent};
    cotangents[last - node] = cotangent + 1;  // so that the node is visited
  }
  /// The cotangent of each of a node's results, or no node.
  constexpr void find_results(int node, int count, ids& out) const {
    for (int i = 0; i < count; ++i) out.push(ir::no_node);
    for (int i = 0; i < num_waiting; ++i) {
      if (waiting[i].node == node) out.values[waiting[i].index] = waiting[i].cotangent;
    }
  }

  [[nodiscard]] constexpr bool is_linear_result(const ir::graph& g, int of_node,
                                                std::int64_t index) const {
    const auto i = static_cast<int>(index);
    if (g[of_node].code == op::loop) {
      const auto loop = ir::loop_parts::of(g, of_node);
      return is_linear(loop.result(i)) || (i < loop.num_carries && is_linear(loop.carry(i)));
    }
    const auto cond = ir::cond_parts::of(g, of_node);
    for (int branch = 0; branch < cond.num_branches; ++branch) {
      if (is_linear(cond.result(branch, i))) return true;
    }
    return false;
  }

  /// Marks what depends on what is linear already, also from trip to trip of a loop.
  ///
  /// Cost: O(edges), again for each loop whose carry becomes linear on its way.
  constexpr void mark_linear(const ir::graph& g, int from, int to) {
    for (bool changed = true; changed;) {
      changed = false;
      for (int id = from; id <= to; ++id) {
        if (!is_linear(id) && depends_linearly(g, id)) role[id - first] = linear_role::linear;
        if (g[id].code == op::loop) changed = mark_carries(g, id) || changed;
      }
    }
  }

 private:
  [[nodiscard]] constexpr bool depends_linearly(const ir::graph& g, int id) const {
    if (g[id].code == op::result_of) return is_linear_result(g, g.operand(id, 0), g.attribute(id));
    for (int i = 0; i < g[id].num_operands; ++i) {
      if (is_linear(g.operand(id, i))) return true;
    }
    return false;
  }
  constexpr bool mark_carries(const ir::graph& g, int id) {
    const auto loop = ir::loop_parts::of(g, id);
    bool changed = false;
    for (int i = 0; i < loop.num_carries; ++i) {
      const int carry = loop.carry(i);
      if (carry < first || is_linear(carry) || !is_linear(loop.result(i))) continue;
      role[carry - first] = linear_role::linear;
      changed = true;
    }
    return changed;
  }
};

}  // namespace atled::passes::detail
