// atled/ir/make_regions.hpp: how loops and branches are made, once their operands are known.
// Reads: ir/builder.hpp. Used by ops/control.hpp and by passes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"

namespace atled::ir {

/// The operands of a loop or cond under construction.
struct operand_list {
  int values[operand_types::capacity];
  int size;

  constexpr void push(int id) { values[size++] = id; }
};

/// A carry differs between lanes where what takes its place after a trip does.
constexpr void widen_carries(builder& b, int id) {
  if (b.num_open_axes() == 0 || id < 0) return;
  const auto loop = loop_parts::of(b.g, id);
  const std::uint32_t ends = b.varies(loop.predicate()) | b.varies(loop.count());
  int first = id;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < loop.num_carries; ++i) {
      const int carry = loop.carry(i);
      first = carry < first ? carry : first;
      const std::uint32_t after = b.varies(loop.result(i)) | ends;
      changed = changed || (after & ~b.varies(carry)) != 0;
      b.vary(carry, after);
    }
    for (int n = first; changed && n < b.g.num_nodes; ++n) b.find_varies(n);
  }
}

/// The first collective of a region among ranks that differ along one of these axes in what decides
/// whether it runs, or no node: they would wait for each other for ever.
[[nodiscard]] constexpr int find_split_collective(const builder& b, std::int64_t region,
                                                  std::uint32_t differs) {
  bool inside[graph::max_nodes]{};  // it depends on what the region binds
  for (int id = 0; id < b.g.num_nodes; ++id) {
    const node& n = b.g[id];
    const bool is_bound = n.code == op::carry || n.code == op::item || n.code == op::enter;
    const bool is_whole = n.code == op::loop || n.code == op::cond;  // its results are outside
    if (is_whole && b.g.attribute(id) == region) continue;
    inside[id] = is_bound && b.g.attribute(id) == region;
    for (int i = 0; i < n.num_operands && !inside[id]; ++i) inside[id] = inside[b.g.operand(id, i)];
    if (!inside[id] || !is_collective(n.code)) continue;
    if (n.code == op::axis_index || n.code == op::axis_size) continue;
    if (((differs >> b.g.axes[b.g.attribute(id)].bit) & 1U) != 0) return id;
  }
  return no_node;
}
/// The loop or cond, or poison after a sentence: where ranks differ in `decider`, no collective may
/// stand inside.
///
/// Cost: O(edges), only where they differ.
constexpr int checked_region(builder& b, int made, std::int64_t region, std::uint32_t differs,
                             std::string_view decider, std::string_view fix) {
  differs &= b.bits_of_ranks();
  if (made < 0 || differs == 0) return made;
  const int found = find_split_collective(b, region, differs);
  if (found == no_node) return made;
  const std::string_view axis = b.g.axes[b.g.attribute(found)].view();
  text why = decider;
  why << " differs between the ranks of " << axis << ", which meet in "
      << info(b.g[found].code).name << " inside: all must come; " << fix << " over " << axis;
  return b.fail(b.site.function, why);
}

/// An op::loop; its operands as `loop_parts` says.
[[nodiscard]] constexpr int make_loop(builder& b, std::int64_t region, std::int64_t depth,
                                      std::int64_t trips, std::int64_t flags, int num_carries,
                                      int num_items, int num_ys, const operand_list& operands) {
  attribute_list attributes{};
  attributes.push(region);
  attributes.push(depth);
  attributes.push(trips);
  attributes.push(flags);
  attributes.push(num_carries);
  attributes.push(num_items);
  attributes.push(num_ys);
  const int made =
      b.append(op::loop, operands.values, operands.size, attributes, {dtype::boolean, {}});
  widen_carries(b, made);
  if (made < 0 || num_carries == 0) return made;
  const auto loop = loop_parts::of(b.g, made);
  return checked_region(b, made, region, b.varies(loop.predicate()) | b.varies(loop.count()),
                        "what ends the loop", "make it one of all by pmax or psum");
}
/// An op::cond; its operands as `cond_parts` says.
[[nodiscard]] constexpr int make_cond(builder& b, std::int64_t region, std::int64_t depth,
                                      int num_branches, int num_results,
                                      const operand_list& operands) {
  attribute_list attributes{};
  attributes.push(region);
  attributes.push(depth);
  attributes.push(num_branches);
  attributes.push(num_results);
  const int made =
      b.append(op::cond, operands.values, operands.size, attributes, {dtype::boolean, {}});
  return checked_region(b, made, region, b.varies(operands.values[0]), "the branch that is taken",
                        "use where, or decide by pmax or psum");
}

}  // namespace atled::ir
