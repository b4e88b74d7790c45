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
  return b.append(op::loop, operands.values, operands.size, attributes, {dtype::boolean, {}});
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
