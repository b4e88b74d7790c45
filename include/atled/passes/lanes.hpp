// atled/passes/lanes.hpp: one node of a function that runs on many lanes at once: what its operands
// have become. Reads: passes/ids.hpp. The rules on it are in passes/vmap.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes::detail {

/// A value in all lanes: if it is mapped, axis 0 of `id` counts the lanes; else they share it.
struct lane_value {
  int id;
  bool is_mapped;
};

/// `dims` behind an axis of `size` lanes.
constexpr shape in_lanes(std::int64_t size, const shape& dims) {
  shape out = shape::of({size});
  for (int i = 0; i < dims.rank; ++i) out.push(dims[i]);
  return out;
}

/// A shared value, repeated for each lane. A constant stays a constant that is broadcast once, as
/// the rules of derivatives want to see it.
constexpr int repeated(ir::builder& b, int x, std::int64_t size) {
  if (x < 0) return ir::poison;
  const shape dims = in_lanes(size, b.type(x).dims);
  if (b.g[x].code == op::broadcast) {
    return b.broadcast(b.g.operand(x, 0), dims, b.g.attribute(x) << 1);
  }
  return b.broadcast(x, dims, ((std::int64_t{1} << b.type(x).rank()) - 1) << 1);
}

/// One axis moved to another place; the others keep their order.
constexpr int moved_axis(ir::builder& b, int x, int from, int to) {
  if (x < 0) return ir::poison;
  std::int64_t order = 0;
  for (int i = 0, next = 0; i < b.type(x).rank(); ++i) {
    if (next == from) ++next;
    order = ir::with_permuted_axis(order, i, i == to ? from : next++);
  }
  return permuted(b, x, order);
}

/// A node `z` of the function, and its operands in all lanes.
struct lane_node {
  std::int64_t size;  ///< number of lanes
  int z;
  int count;
  lane_value operands[ir::operand_types::capacity];

  [[nodiscard]] constexpr bool is_mapped(int i) const { return operands[i].is_mapped; }
  [[nodiscard]] constexpr int operator[](int i) const { return operands[i].id; }
  [[nodiscard]] constexpr bool any_mapped() const {
    for (int i = 0; i < count; ++i) {
      if (operands[i].is_mapped) return true;
    }
    return false;
  }
  /// Operand `i` with its lanes in front, repeated if they share it.
  [[nodiscard]] constexpr int in_front(ir::builder& b, int i) const {
    return is_mapped(i) ? operands[i].id : repeated(b, operands[i].id, size);
  }
  /// The type of the node with its lanes in front.
  [[nodiscard]] constexpr tensor_type type(const ir::builder& b) const {
    return {b.type(z).element, in_lanes(size, b.type(z).dims)};
  }
};

/// The op of the node on all operands with their lanes in front.
constexpr int same_op_in_lanes(ir::builder& b, const lane_node& n,
                               const ir::attribute_list& attributes) {
  int operands[ir::operand_types::capacity]{};
  for (int i = 0; i < n.count; ++i) operands[i] = n.in_front(b, i);
  return b.append(b.g[n.z].code, operands, n.count, attributes, n.type(b));
}

/// The node on operands that lanes share still, though a collective has taken the place of some.
constexpr int same_op_when_shared(ir::builder& b, const lane_node& n) {
  if (b.g[n.z].code == op::variable) return b.on_far_side(n.z, n[0]);
  int operands[ir::operand_types::capacity]{};
  for (int i = 0; i < n.count; ++i) operands[i] = n[i];
  return b.append(b.g[n.z].code, operands, n.count, b.g.attributes_of(n.z), b.type(n.z));
}

}  // namespace atled::passes::detail
