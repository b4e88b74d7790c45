// atled/passes/jvp_regions.hpp: tangents of loops and branches. The tangent of a loop is a loop of
// the same region that carries the tangents too; that of a branch, the tangents of its results.
// Reads: ir/regions.hpp, passes/ids.hpp. Called by passes/jvp.hpp; next: transpose_regions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes {
namespace detail {

/// Ops whose results have no tangent, or only zeros.
constexpr bool is_flat(op code) {
  return code == op::sign || code == op::floor || code == op::ceil || code == op::round ||
         code == op::stop_gradient || is_compare(code);
}

/// Which nodes have a tangent, also around loops: a carry has one if it begins with one, or if the
/// next value has one. Only graphs with loops need to know beforehand.
struct activity {
  int first;
  bool of[ir::graph::max_nodes];  ///< at id - first

  [[nodiscard]] constexpr bool at(int id) const { return id >= first && of[id - first]; }

  /// `is_needed(id)` says which nodes matter. Cost: O(edges) for each loop in a chain of loops that
  /// pass a tangent on through their carries, mostly once or twice.
  template <class IsNeeded>
  constexpr void find(const ir::graph& g, const ids& inputs, int last, const IsNeeded& is_needed) {
    for (const int id : inputs) {
      if (id >= first) of[id - first] = true;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int id = first; id <= last; ++id) {
        if (!is_needed(id)) continue;
        if (g[id].code == op::loop) {
          const auto loop = ir::loop_parts::of(g, id);
          for (int i = 0; i < loop.num_carries; ++i) {
            if (at(loop.carry(i)) || !at(loop.result(i))) continue;
            of[loop.carry(i) - first] = true;
            changed = true;
          }
        } else if (!at(id)) {
          of[id - first] = is_active(g, id);
        }
      }
    }
  }

 private:
  [[nodiscard]] constexpr bool is_active(const ir::graph& g, int id) const {
    const ir::node& n = g[id];
    if (!is_floating(n.type.element) || is_flat(n.code)) return false;
    if (n.code == op::result_of) return is_active_result(g, g.operand(id, 0), g.attribute(id));
    for (int i = 0; i < n.num_operands; ++i) {
      if (at(g.operand(id, i))) return true;
    }
    return false;
  }

 public:
  [[nodiscard]] constexpr bool is_active_result(const ir::graph& g, int of_node,
                                                std::int64_t index) const {
    const auto i = static_cast<int>(index);
    if (g[of_node].code == op::loop) {
      const auto loop = ir::loop_parts::of(g, of_node);
      return i < loop.num_carries ? at(loop.carry(i)) : at(loop.result(i));
    }
    const auto cond = ir::cond_parts::of(g, of_node);
    for (int branch = 0; branch < cond.num_branches; ++branch) {
      if (at(cond.result(branch, i))) return true;
    }
    return false;
  }
};

/// The loop that carries the tangents beside the values: carries, then their tangents; items, then
/// theirs; results alike. `tangent_at(id)` is a tangent or no node.
template <class TangentAt>
constexpr int loop_tangent(ir::builder& b, int z, const activity& active,
                           const TangentAt& tangent_at) {
  const auto loop = ir::loop_parts::of(b.g, z);
  bool any = false;
  for (int i = 0; i < loop.num_results(); ++i) any = any || active.is_active_result(b.g, z, i);
  if (!any) return ir::no_node;
  ir::operand_list operands{};
  int carries = 0;
  int items = 0;
  const auto push_pairs = [&](int begin, int count, const auto& at, const auto& is_moving,
                              const auto& tangent) {
    int pushed = 0;
    for (int i = begin; i < begin + count; ++i, ++pushed) operands.push(at(i));
    for (int i = begin; i < begin + count; ++i) {
      if (!is_moving(i)) continue;
      operands.push(tangent(at(i)));
      ++pushed;
    }
    return pushed;
  };
  const auto carry = [&](int i) { return loop.carry(i); };
  const auto item = [&](int i) { return loop.item(i); };
  const auto result = [&](int i) { return loop.result(i); };
  const auto is_active = [&](int i) { return active.is_active_result(b.g, z, i); };
  const auto or_zero = [&](int x) {
    const int tangent = tangent_at(x);
    return tangent == ir::no_node ? zeros_like(b, x) : tangent;
  };
  carries = push_pairs(0, loop.num_carries, carry, is_active, tangent_at);
  items = push_pairs(
      0, loop.num_items, item, [&](int i) { return tangent_at(loop.item(i)) != ir::no_node; },
      tangent_at);
  if (loop.count() >= 0) operands.push(loop.count());
  if (loop.predicate() >= 0) operands.push(loop.predicate());
  push_pairs(0, loop.num_carries, result, is_active, or_zero);
  const int ys = push_pairs(loop.num_carries, loop.num_ys, result, is_active, or_zero);
  return ir::make_loop(b, loop.region, loop.depth, loop.trips, loop.flags, carries, items, ys,
                       operands);
}

/// The cond that gives the tangents of those results that have one.
template <class TangentAt>
constexpr int cond_tangent(ir::builder& b, int z, const activity& active,
                           const TangentAt& tangent_at) {
  const auto cond = ir::cond_parts::of(b.g, z);
  ir::operand_list operands{};
  operands.push(cond.index());
  int results = 0;
  for (int branch = 0; branch < cond.num_branches; ++branch) {
    results = 0;
    for (int i = 0; i < cond.num_results; ++i) {
      if (!active.is_active_result(b.g, z, i)) continue;
      const int x = cond.result(branch, i);
      const int tangent = tangent_at(x);
      operands.push(tangent == ir::no_node ? zeros_like(b, x) : tangent);
      ++results;
    }
  }
  if (results == 0) return ir::no_node;
  return ir::make_cond(b, cond.region, cond.depth, cond.num_branches, results, operands);
}

/// The tangent of result `index` of `z`, whose tangent is `dz`.
constexpr int result_tangent(ir::builder& b, int z, int dz, int index, const activity& active) {
  if (dz < 0) return dz;
  if (!active.is_active_result(b.g, z, index)) return ir::no_node;
  int place = 0;  // among the tangents
  int begin = 0;
  if (b.g[z].code == op::loop) {
    const auto loop = ir::loop_parts::of(b.g, z);
    const auto tangents = ir::loop_parts::of(b.g, dz);
    const bool is_carry = index < loop.num_carries;
    begin = is_carry ? loop.num_carries : tangents.num_carries + loop.num_ys;
    for (int i = is_carry ? 0 : loop.num_carries; i < index; ++i) {
      place += active.is_active_result(b.g, z, i) ? 1 : 0;
    }
    return b.result_of(dz, begin + place);
  }
  for (int i = 0; i < index; ++i) place += active.is_active_result(b.g, z, i) ? 1 : 0;
  return b.result_of(dz, place);
}

}  // namespace detail
}  // namespace atled::passes
