// atled/passes/vmap_collective.hpp: what combines lanes becomes work along the axis of lanes.
// Reads: passes/lanes.hpp. Used by passes/vmap.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/lanes.hpp"

namespace atled::passes::detail {

/// The sum over the lanes, bf16 and f16 in f32; of a shared value as many times that value.
constexpr int sum_of_lanes(ir::builder& b, const lane_value& x, std::int64_t size) {
  if (x.id < 0) return ir::poison;
  if (!x.is_mapped) {
    const tensor_type type = b.type(x.id);
    if (!is_bounded(size)) return b.scale(x.id, static_cast<double>(size));
    return b.mul(x.id, b.broadcast(b.size_of(size, type.element), type.dims, 0));
  }
  const dtype element = b.type(x.id).element;
  const int wide = is_half(element) ? b.convert(x.id, dtype::f32) : x.id;
  return b.convert(b.reduce(op::reduce_sum, wide, 1), element);
}

/// Lane i of the result is lane `sources.of[i]`, or zeros: runs of neighbours side by side.
constexpr int permuted_lanes(ir::builder& b, int x, const ir::lane_sources& sources) {
  if (x < 0) return ir::poison;
  const tensor_type type = b.type(x);
  shape strides{};
  for (int i = 0; i < type.rank(); ++i) strides.push(1);
  int parts[ir::operand_types::capacity]{};
  int count = 0;
  for (int i = 0, end = 0; i < sources.size; i = end) {
    const int from = sources.of[i];
    for (end = i + 1; end < sources.size; ++end) {
      if (sources.of[end] != (from < 0 ? from : from + end - i)) break;
    }
    shape part = type.dims;
    part[0] = end - i;
    shape starts{};
    starts.rank = type.rank();
    starts[0] = from < 0 ? 0 : from;
    if (count == ir::operand_types::capacity) {  // what there is, as one
      parts[0] = b.append(op::concatenate, parts, count, ir::attribute_list::of(0));
      count = 1;
    }
    parts[count++] =
        from < 0 ? b.splat(0, {type.element, part}) : b.slice(x, starts, part, strides);
  }
  return count == 1 ? parts[0] : b.append(op::concatenate, parts, count, ir::attribute_list::of(0));
}

/// A collective of the axis of lanes itself.
constexpr lane_value vmap_collective(ir::builder& b, const lane_node& n) {
  const ir::attribute_list attributes = b.g.attributes_of(n.z);
  const auto at = static_cast<int>(attributes.values[1]);
  switch (b.g[n.z].code) {
    case op::psum:
      return {sum_of_lanes(b, n.operands[0], n.size), false};
    case op::pmax:
      return {n.is_mapped(0) ? b.reduce(op::reduce_max, n[0], 1) : n[0], false};
    case op::pmin:
      return {n.is_mapped(0) ? b.reduce(op::reduce_min, n[0], 1) : n[0], false};
    case op::all_gather:
      return {moved_axis(b, n.in_front(b, 0), 0, at), false};
    case op::psum_scatter:
      return {moved_axis(b, sum_of_lanes(b, n.operands[0], n.size), at, 0), true};
    case op::all_to_all: {  // the axis that is split counts the lanes, and these take its place
      const int turned = moved_axis(b, n.in_front(b, 0), at + 1, 0);
      return {moved_axis(b, turned, 1, static_cast<int>(attributes.values[2]) + 1), true};
    }
    case op::ppermute:
      return {permuted_lanes(b, n.in_front(b, 0), ir::lane_sources::unpacked(attributes, n.size)),
              true};
    case op::axis_size:
      return {is_bounded(n.size) ? b.size_of(n.size, dtype::i32)
                                 : b.integer_constant(n.size, dtype::i32),
              false};
    default:  // axis_index
      return {b.iota({dtype::i32, shape::of({n.size})}, 0), true};
  }
}

/// A collective of another axis: the lanes stay in front.
constexpr int vmap_other_collective(ir::builder& b, const lane_node& n) {
  ir::attribute_list attributes = b.g.attributes_of(n.z);
  if (b.g[n.z].code != op::ppermute) {  // whose attributes are lanes, or a shift
    for (int i = 1; i < attributes.size; ++i) attributes.values[i] += 1;
  }
  return same_op_in_lanes(b, n, attributes);
}

}  // namespace atled::passes::detail
