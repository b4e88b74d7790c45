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
  return made;
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
  return b.append(op::cond, operands.values, operands.size, attributes, {dtype::boolean, {}});
}

}  // namespace atled::ir
