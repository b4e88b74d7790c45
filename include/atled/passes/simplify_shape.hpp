// atled/passes/simplify_shape.hpp: rules for ops that move elements: two moves become one, a move
// that moves nothing is gone.
// Reads: passes/simplify_dot.hpp. Used by passes/simplify.hpp, which says what a rule may do.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/simplify_dot.hpp"

namespace atled::passes::detail {

/// The sizes that are not 1.
constexpr shape squeezed(const shape& dims) {
  shape out{};
  for (int i = 0; i < dims.rank; ++i) {
    if (dims[i] != 1) out.push(dims[i]);
  }
  return out;
}

/// The scalar behind a broadcast, or no node.
constexpr int scalar_behind(const ir::graph& g, int id) {
  if (g[id].code != op::broadcast) return ir::no_node;
  const int x = g.operand(id, 0);
  return g.type(x).rank() == 0 ? x : ir::no_node;
}

/// broadcast(reshape(x)), where the reshape only adds or drops axes of size 1.
constexpr int broadcast_of_reshape(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const shape& from = b.type(x).dims;
  const shape& middle = b.type(n[0]).dims;
  if (!(squeezed(from) == squeezed(middle))) return ir::no_node;
  std::int64_t mask = 0;
  int axis = 0;  // of x, the next to be found
  int place = 0;
  for (int i = 0; i < middle.rank; ++i, ++place) {
    while (!ir::has_axis(n.attributes.values[0], place)) ++place;
    if (axis < from.rank && from[axis] == middle[i]) {
      mask |= std::int64_t{1} << place;
      ++axis;
    } else if (middle[i] != 1) {
      return ir::no_node;  // an axis of x of size 1 has no place
    }
  }
  return axis == from.rank ? make_broadcast(b, x, n.type.dims, mask) : ir::no_node;
}

constexpr int simplify_broadcast(simplifier& b, const moving_node& n) {
  const int x = n[0];
  const std::int64_t mask = n.attributes.values[0];
  if (b.type(x).dims == n.type.dims) return x;
  if (b.g[x].code == op::broadcast) {
    const std::int64_t inner = b.g.attribute(x);
    std::int64_t both = 0;
    int axis = 0;
    for (int i = 0; i < n.type.rank(); ++i) {
      if (!ir::has_axis(mask, i)) continue;
      if (ir::has_axis(inner, axis)) both |= std::int64_t{1} << i;
      ++axis;
    }
    return make_broadcast(b, b.g.operand(x, 0), n.type.dims, both);
  }
  if (b.g[x].code == op::reshape) return broadcast_of_reshape(b, n);
  if (b.type(x).rank() > 0 && b.type(x).size() == n.type.size() &&
      squeezed(b.type(x).dims) == squeezed(n.type.dims)) {
    return make_reshape(b, x, n.type.dims);
  }
  return ir::no_node;
}

constexpr int simplify_reshape(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (b.type(x).dims == n.type.dims) return x;
  if (b.g[x].code == op::reshape) return make_reshape(b, b.g.operand(x, 0), n.type.dims);
  if (const int scalar = scalar_behind(b.g, x); scalar != ir::no_node) {
    return make_broadcast(b, scalar, n.type.dims, 0);
  }
  if (b.type(x).rank() == 0) return make_broadcast(b, x, n.type.dims, 0);
  return ir::no_node;
}

/// transpose(broadcast(x)): a broadcast of x, transposed first where its axes change their order.
constexpr int transpose_of_broadcast(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const std::int64_t mask = b.g.attribute(n[0]);
  std::int64_t order = 0;
  std::int64_t moved = 0;
  int axis = 0;
  for (int i = 0; i < n.type.rank(); ++i) {
    const int from = ir::permuted_axis(n.attributes.values[0], i);
    if (!ir::has_axis(mask, from)) continue;
    int of_x = 0;
    for (int j = 0; j < from; ++j) of_x += ir::has_axis(mask, j) ? 1 : 0;
    order = ir::with_permuted_axis(order, axis++, of_x);
    moved |= std::int64_t{1} << i;
  }
  const int turned = make(b, op::transpose, {x}, ir::attribute_list::of(order));
  return make_broadcast(b, turned, n.type.dims, moved);
}

constexpr int simplify_transpose(simplifier& b, const moving_node& n) {
  const int x = n[0];
  const std::int64_t order = n.attributes.values[0];
  bool is_identity = true;
  bool keeps_order = true;  // of the axes that are not of size 1
  int previous = -1;
  for (int i = 0; i < n.type.rank(); ++i) {
    const int from = ir::permuted_axis(order, i);
    is_identity = is_identity && from == i;
    if (n.type.dims[i] == 1) continue;
    keeps_order = keeps_order && from > previous;
    previous = from;
  }
  if (is_identity) return x;
  switch (b.g[x].code) {
    case op::transpose: {
      std::int64_t both = 0;
      for (int i = 0; i < n.type.rank(); ++i) {
        const int middle = ir::permuted_axis(order, i);
        both = ir::with_permuted_axis(both, i, ir::permuted_axis(b.g.attribute(x), middle));
      }
      return make(b, op::transpose, {b.g.operand(x, 0)}, ir::attribute_list::of(both));
    }
    case op::broadcast:
      return transpose_of_broadcast(b, n);
    case op::dot:
      if (const int turned = transpose_of_dot(b, n); turned != ir::no_node) return turned;
      break;
    default:
      break;
  }
  return keeps_order ? make_reshape(b, x, n.type.dims) : ir::no_node;
}

/// Reads a slice's attributes: all strides 1.
constexpr bool is_plain_slice(const ir::graph& g, int id) {
  if (g[id].code != op::slice) return false;
  const int rank = g.type(id).rank();
  for (int i = 0; i < rank; ++i) {
    if (g.attribute(id, rank + i) != 1) return false;
  }
  return true;
}

constexpr int slice_of_broadcast(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const shape& from = b.type(x).dims;
  const std::int64_t mask = b.g.attribute(n[0]);
  const int rank = n.type.rank();
  shape sizes{};
  ir::attribute_list starts{};
  ir::attribute_list strides{};
  for (int i = 0; i < rank; ++i) {
    if (!ir::has_axis(mask, i)) continue;
    const bool repeats = from[sizes.rank] == 1;
    starts.push(repeats ? 0 : n.attributes.values[i]);
    strides.push(repeats ? 1 : n.attributes.values[rank + i]);
    sizes.push(repeats ? 1 : n.type.dims[i]);
  }
  for (int i = 0; i < strides.size; ++i) starts.push(strides.values[i]);
  const int part = make(b, op::slice, {x}, starts, {n.type.element, sizes});
  return make_broadcast(b, part, n.type.dims, mask);
}

/// A slice that lies within one operand of a concatenation.
constexpr int slice_of_concatenate(simplifier& b, const moving_node& n) {
  const auto axis = static_cast<int>(b.g.attribute(n[0]));
  const std::int64_t begin = n.attributes.values[axis];
  const std::int64_t stride = n.attributes.values[n.type.rank() + axis];
  const std::int64_t last = begin + (n.type.dims[axis] - 1) * stride;
  std::int64_t start = 0;
  for (int i = 0; i < b.g[n[0]].num_operands; ++i) {
    const int part = b.g.operand(n[0], i);
    const std::int64_t end = start + b.type(part).dims[axis];
    if (n.type.dims[axis] > 0 && begin >= start && last < end) {
      ir::attribute_list moved = n.attributes;
      moved.values[axis] -= start;
      return make(b, op::slice, {part}, moved, n.type);
    }
    start = end;
  }
  return ir::no_node;
}

/// A slice of a pad without gaps that takes only what was there before.
constexpr int slice_of_pad(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const int rank = n.type.rank();
  ir::attribute_list moved = n.attributes;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t low = b.g.attribute(n[0], i);
    const std::int64_t last =
        n.attributes.values[i] + (n.type.dims[i] - 1) * n.attributes.values[rank + i];
    if (b.g.attribute(n[0], rank + i) != 0 || n.attributes.values[i] < low ||
        last >= low + b.type(x).dims[i]) {
      return ir::no_node;
    }
    moved.values[i] -= low;
  }
  return make(b, op::slice, {x}, moved, n.type);
}

constexpr int simplify_slice(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (b.type(x).dims == n.type.dims) return x;
  switch (b.g[x].code) {
    case op::slice: {
      const int rank = n.type.rank();
      ir::attribute_list both = n.attributes;
      for (int i = 0; i < rank; ++i) {
        const std::int64_t stride = b.g.attribute(x, rank + i);
        both.values[i] = b.g.attribute(x, i) + n.attributes.values[i] * stride;
        both.values[rank + i] *= stride;
      }
      return make(b, op::slice, {b.g.operand(x, 0)}, both, n.type);
    }
    case op::broadcast:
      return slice_of_broadcast(b, n);
    case op::concatenate:
      return slice_of_concatenate(b, n);
    case op::pad:
      return slice_of_pad(b, n);
    default:
      return ir::no_node;
  }
}

constexpr int simplify_pad(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (b.type(x).dims == n.type.dims) return x;
  const auto value = constant_of(b.g, x);
  const auto filler = constant_of(b.g, n[1]);
  const bool is_same =
      value.known && filler.known && value.integer == filler.integer &&
      std::bit_cast<std::int64_t>(value.real) == std::bit_cast<std::int64_t>(filler.real);
  return is_same ? splat(b.into, value, n.type) : ir::no_node;
}

/// Slices of one value that lie side by side along the axis: where the value is whole again.
constexpr int concatenate_of_slices(simplifier& b, const moving_node& n) {
  const auto axis = static_cast<int>(n.attributes.values[0]);
  if (!is_plain_slice(b.g, n[0])) return ir::no_node;
  const int x = b.g.operand(n[0], 0);
  if (!(b.type(x).dims == n.type.dims)) return ir::no_node;
  std::int64_t next = 0;
  for (int i = 0; i < n.num_operands; ++i) {
    if (!is_plain_slice(b.g, n[i]) || b.g.operand(n[i], 0) != x) return ir::no_node;
    if (b.g.attribute(n[i], axis) != next) return ir::no_node;
    next += b.type(n[i]).dims[axis];
  }
  return x;
}

/// Empty operands are dropped, and those that are concatenations along the same axis opened.
constexpr int simplify_concatenate(simplifier& b, const moving_node& n) {
  const auto axis = static_cast<int>(n.attributes.values[0]);
  if (n.num_operands == 1) return n[0];
  if (const int whole = concatenate_of_slices(b, n); whole != ir::no_node) return whole;
  moving_node flat = n;
  flat.num_operands = 0;
  bool has_changed = false;
  for (int i = 0; i < n.num_operands; ++i) {
    const bool is_nested = b.g[n[i]].code == op::concatenate && b.g.attribute(n[i]) == axis;
    const int inner = is_nested ? b.g[n[i]].num_operands : 1;
    const bool is_empty = b.type(n[i]).dims[axis] == 0 && n.type.dims[axis] != 0;
    if (flat.num_operands + inner + n.num_operands - i > ir::operand_types::capacity) {
      return ir::no_node;
    }
    has_changed = has_changed || is_nested || is_empty;
    if (is_empty) continue;
    for (int j = 0; j < inner; ++j) {
      flat.operands[flat.num_operands++] = is_nested ? b.g.operand(n[i], j) : n[i];
    }
  }
  return has_changed ? b.simplified(b, flat) : ir::no_node;
}

constexpr int simplify_reverse(simplifier& b, const moving_node& n) {
  std::int64_t mask = n.attributes.values[0];
  for (int i = 0; i < n.type.rank(); ++i) {
    if (n.type.dims[i] <= 1) mask &= ~(std::int64_t{1} << i);
  }
  int x = n[0];
  if (b.g[x].code == op::reverse) {
    mask ^= b.g.attribute(x);
    x = b.g.operand(x, 0);
  }
  if (mask == 0) return x;
  if (mask == n.attributes.values[0]) return ir::no_node;
  return make(b, op::reverse, {x}, ir::attribute_list::of(mask));
}

/// With starts that are known it is a slice.
constexpr int simplify_dynamic_slice(simplifier& b, const moving_node& n) {
  if (b.type(n[0]).dims == n.type.dims) return n[0];
  ir::attribute_list attributes{};
  for (int i = 0; i < n.type.rank(); ++i) {
    const auto start = constant_of(b.g, n[1 + i]);
    if (!start.known) return ir::no_node;
    const std::int64_t highest = b.type(n[0]).dims[i] - n.type.dims[i];
    attributes.push(start.integer < 0 ? 0 : start.integer > highest ? highest : start.integer);
  }
  for (int i = 0; i < n.type.rank(); ++i) attributes.push(1);
  return make(b, op::slice, {n[0]}, attributes, n.type);
}

}  // namespace atled::passes::detail
