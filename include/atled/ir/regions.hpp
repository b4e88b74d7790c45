// atled/ir/regions.hpp: loops and branches as nodes: what they bind, and which nodes are inside.
// Reads: ir/graph.hpp. Next: passes/jvp_regions.hpp, passes/transpose_regions.hpp,
// passes/join_regions.hpp, passes/close_regions.hpp.
//
// The body of a loop stands among the other nodes: it is what depends on the carries and items that
// the loop binds. What does not depend on them is outside, so a loop's invariants are computed once
// and an outer value is read by its name. A branch is entered: op::enter stands for an outer value
// inside it, so that nothing of a branch is computed unless it is taken. As for any other node,
// operands come first: a loop's operands are what it binds and what a trip computes from that.
//
// Loops of one region share carries and items: a loop, the loop of its tangents, and the loop that
// keeps what the reverse loop reads. passes/join_regions.hpp makes them one loop again.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

namespace atled::ir {

/// Regions nest no deeper.
inline constexpr int max_depth = 32;

/// An op::loop: `trips` times, or fewer, the carries become `next`, and each y adds a row.
///
///   operands    carries, items, [count], [predicate], next of each carry, ys
///   attributes  region, depth, trips, flags, number of carries, of items, of ys
///   results     the last carries, then the stacks of the ys, f32[trips, ...]
///
/// - `count`: a scalar i32, the number of trips, known before the first of them.
/// - `predicate`: a scalar boolean of the carries; the loop ends when it is false.
/// - Rows of trips that did not take place are zeros. `trips` is -1 where there is no bound: then
///   there is a count or a predicate, and no items and ys.
struct loop_parts {
  enum flag : std::int64_t { is_reverse = 1, has_count = 2, has_predicate = 4 };

  const graph* g;
  int id;
  std::int64_t region, depth, trips, flags;
  int num_carries, num_items, num_ys;

  [[nodiscard]] static constexpr loop_parts of(const graph& g, int id) {
    return {&g,
            id,
            g.attribute(id, 0),
            g.attribute(id, 1),
            g.attribute(id, 2),
            g.attribute(id, 3),
            static_cast<int>(g.attribute(id, 4)),
            static_cast<int>(g.attribute(id, 5)),
            static_cast<int>(g.attribute(id, 6))};
  }
  [[nodiscard]] constexpr bool has(flag f) const { return (flags & f) != 0; }
  [[nodiscard]] constexpr int num_results() const { return num_carries + num_ys; }
  [[nodiscard]] constexpr int carry(int i) const { return g->operand(id, i); }
  [[nodiscard]] constexpr int item(int i) const { return g->operand(id, num_carries + i); }
  [[nodiscard]] constexpr int count() const {
    return has(has_count) ? g->operand(id, num_carries + num_items) : no_node;
  }
  [[nodiscard]] constexpr int predicate() const {
    return has(has_predicate) ? g->operand(id, first_result() - 1) : no_node;
  }
  /// What result `i` is after a trip: the next value of a carry, or a row.
  [[nodiscard]] constexpr int result(int i) const { return g->operand(id, first_result() + i); }

 private:
  [[nodiscard]] constexpr int first_result() const {
    return num_carries + num_items + (has(has_count) ? 1 : 0) + (has(has_predicate) ? 1 : 0);
  }
};

/// An op::cond: the results of branch number `index`, clamped to those there are.
///
///   operands    index (i32, or a boolean: 0 false, 1 true), results of branch 0, of branch 1, ...
///   attributes  region, depth, number of branches, of results
struct cond_parts {
  const graph* g;
  int id;
  std::int64_t region, depth;
  int num_branches, num_results;

  [[nodiscard]] static constexpr cond_parts of(const graph& g, int id) {
    return {&g,
            id,
            g.attribute(id, 0),
            g.attribute(id, 1),
            static_cast<int>(g.attribute(id, 2)),
            static_cast<int>(g.attribute(id, 3))};
  }
  [[nodiscard]] constexpr int index() const { return g->operand(id, 0); }
  [[nodiscard]] constexpr int result(int branch, int i) const {
    return g->operand(id, 1 + branch * num_results + i);
  }
};

/// `count` of these, one a row.
[[nodiscard]] constexpr tensor_type stacked(const tensor_type& row, std::int64_t count) {
  tensor_type out{row.element, {}};
  out.dims.push(count);
  for (int i = 0; i < row.rank(); ++i) out.dims.push(row.dims[i]);
  return out;
}

/// The type of a result of a loop or cond.
[[nodiscard]] constexpr tensor_type result_type(const graph& g, int of, int index) {
  if (g[of].code == op::cond) return g.type(cond_parts::of(g, of).result(0, index));
  const auto loop = loop_parts::of(g, of);
  const tensor_type& type = g.type(loop.result(index));
  return index < loop.num_carries ? type : stacked(type, loop.trips);
}

/// For each node the depths of the regions that it is inside of, as a mask.
struct scopes {
  std::uint32_t of[graph::max_nodes];
  int known;  ///< nodes below have their mask

  /// Takes in the nodes that were made since. Cost: O(their edges).
  constexpr void extend(const graph& g) {
    for (; known < g.num_nodes; ++known) {
      const node& n = g[known];
      std::uint32_t mask = 0;
      for (int i = 0; i < n.num_operands; ++i) mask |= of[g.operand(known, i)];
      if (is_bound(n.code)) mask |= bit(g.attribute(known, 1));
      if (has_regions(n.code)) mask &= ~bit(g.attribute(known, 1));
      of[known] = mask;
    }
  }
  /// The node is inside a region of this depth, or of one inside of it.
  [[nodiscard]] constexpr bool is_within(int id, std::int64_t depth) const {
    return (of[id] >> depth) != 0;
  }
  [[nodiscard]] constexpr bool is_at(int id, std::int64_t depth) const {
    return (of[id] & bit(depth)) != 0;
  }

 private:
  static constexpr std::uint32_t bit(std::int64_t depth) { return std::uint32_t{1} << depth; }
};

/// The first output that is inside of a loop or branch, or -1. Cost: O(edges), if there are any.
[[nodiscard]] constexpr int escaped_output(const graph& g) {
  if (g.num_regions == 0) return -1;
  scopes inside{};
  inside.extend(g);
  for (int i = 0; i < g.num_outputs; ++i) {
    if (g.outputs[i] >= 0 && inside.of[g.outputs[i]] != 0) return i;
  }
  return -1;
}

}  // namespace atled::ir
