// atled/passes/vmap_index.hpp: gathers, scatters and slices at computed places, on many lanes.
// Reads: passes/lanes.hpp. Used by passes/vmap.hpp.
//
//   value    index    becomes
//   mapped   shared   the same op beside the axis of lanes
//   shared   mapped   one gather with the lanes among its indices: the value is not repeated
//   mapped   mapped   the lanes are a batch axis that value and indices share
//   window at a mapped start: a gather of each axis along which it is smaller than the value;
//   written there: a gather of the update for each place of the value, and a selection
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/lanes.hpp"

namespace atled::passes::detail {

/// A gather along `axis` of the value that a lane sees, whose first `batch_dims` axes it shares
/// with the indices. The result has its lanes in front.
constexpr int gather_in_lanes(ir::builder& b, lane_value x, lane_value indices, int axis,
                              int batch_dims, index_mode mode, std::int64_t size) {
  if (x.id < 0 || indices.id < 0) return ir::poison;
  if (!x.is_mapped) {  // result: the axes before `axis`, the lanes, the rest
    const int turned = moved_axis(b, indices.id, 0, batch_dims);
    return moved_axis(b, b.gather(x.id, turned, axis, batch_dims, mode), axis, 0);
  }
  if (!indices.is_mapped && batch_dims == 0) {
    return b.gather(x.id, indices.id, axis + 1, 0, mode);
  }
  const int at = indices.is_mapped ? indices.id : repeated(b, indices.id, size);
  return b.gather(x.id, at, axis + 1, batch_dims + 1, mode);
}

constexpr int vmap_gather(ir::builder& b, const lane_node& n) {
  return gather_in_lanes(b, n.operands[0], n.operands[1], static_cast<int>(b.g.attribute(n.z, 0)),
                         static_cast<int>(b.g.attribute(n.z, 1)),
                         static_cast<index_mode>(b.g.attribute(n.z, 2)), n.size);
}

constexpr int vmap_scatter(ir::builder& b, const lane_node& n) {
  const auto axis = static_cast<int>(b.g.attribute(n.z, 0));
  const auto batch_dims = static_cast<int>(b.g.attribute(n.z, 1));
  const auto mode = static_cast<index_mode>(b.g.attribute(n.z, 2));
  const int value = n.in_front(b, 0);
  const int updates = n.in_front(b, 2);
  const bool is_shared = !n.is_mapped(1) && batch_dims == 0;
  const int indices = is_shared ? n[1] : n.in_front(b, 1);
  const int shared = is_shared ? 0 : batch_dims + 1;
  return b.g[n.z].code == op::scatter_add
             ? b.scatter_add(value, indices, updates, axis + 1, shared, mode)
             : b.scatter_max(value, indices, updates, axis + 1, shared, mode);
}

/// A dynamic op on operands with their lanes in front, of which a window takes all.
constexpr int dynamic_op_in_lanes(ir::builder& b, op code, const lane_node& n, int num_values) {
  int operands[ir::operand_types::capacity]{};
  int count = 0;
  for (int i = 0; i < num_values; ++i) operands[count++] = n.in_front(b, i);
  operands[count++] = b.integer_constant(0, b.type(n[num_values]).element);
  for (int i = num_values; i < n.count; ++i) operands[count++] = n[i];
  return b.append(code, operands, count, {}, n.type(b));
}

/// One start for each lane, in a type that holds every place: narrow and unsigned ones are widened.
constexpr int wide_start(ir::builder& b, int start) {
  const dtype element = b.type(start).element;
  if (element == dtype::u8) return b.convert(start, dtype::i32);
  return element == dtype::u32 ? b.convert(start, dtype::i64) : start;
}

/// `x` between two numbers.
constexpr int clamped(ir::builder& b, int x, std::int64_t low, std::int64_t high) {
  if (x < 0) return ir::poison;
  const tensor_type type = b.type(x);
  const auto number = [&](std::int64_t value) {
    return b.broadcast(b.integer_constant(value, type.element), type.dims, 0);
  };
  return b.binary(op::max, b.binary(op::min, x, number(high)), number(low));
}

/// start + 0, 1 ... count - 1, where the start is clamped so that a window of `count` fits in
/// `room`: [lanes, count], or [count] for a shared start.
constexpr lane_value window_places(ir::builder& b, lane_value start, std::int64_t count,
                                   std::int64_t room) {
  const int first = clamped(b, wide_start(b, start.id), 0, room - count);
  if (first < 0) return {ir::poison, start.is_mapped};
  shape dims = b.type(first).dims;
  dims.push(count);
  const int offsets = b.iota({b.type(first).element, dims}, dims.rank - 1);
  return {b.add(b.broadcast(first, dims, start.is_mapped ? 1 : 0), offsets), start.is_mapped};
}

constexpr int vmap_dynamic_slice(ir::builder& b, const lane_node& n) {
  bool is_shared = true;
  for (int i = 1; i < n.count; ++i) is_shared = is_shared && !n.is_mapped(i);
  if (is_shared) return dynamic_op_in_lanes(b, op::dynamic_slice, n, 1);
  const shape window = b.type(n.z).dims;
  lane_value x = n.operands[0];
  for (int axis = 0; axis < window.rank; ++axis) {
    const std::int64_t room = b.type(b.g.operand(n.z, 0)).dims[axis];
    if (x.id < 0 || window[axis] == room) continue;
    const lane_value places = window_places(b, n.operands[axis + 1], window[axis], room);
    if (!x.is_mapped && !places.is_mapped) {
      x.id = b.gather(x.id, places.id, axis, 0, index_mode::clip);
    } else {
      x = {gather_in_lanes(b, x, places, axis, 0, index_mode::clip, n.size), true};
    }
  }
  return x.is_mapped ? x.id : repeated(b, x.id, n.size);
}

constexpr int vmap_dynamic_update_slice(ir::builder& b, const lane_node& n) {
  bool is_shared = true;
  for (int i = 2; i < n.count; ++i) is_shared = is_shared && !n.is_mapped(i);
  if (is_shared) return dynamic_op_in_lanes(b, op::dynamic_update_slice, n, 2);
  const int value = n.in_front(b, 0);
  const shape window = b.type(b.g.operand(n.z, 1)).dims;
  if (value < 0 || n[1] < 0 || window.size() == 0) return value;
  const shape dims = b.type(value).dims;  // lanes, then the axes of the value
  lane_value update = n.operands[1];
  int written = ir::no_node;  // where the window is
  for (int axis = 0; axis < window.rank; ++axis) {
    const std::int64_t room = dims[axis + 1];
    if (window[axis] == room) continue;
    const lane_value start = n.operands[axis + 2];
    const int first = clamped(b, wide_start(b, start.id), 0, room - window[axis]);
    if (first < 0) return ir::poison;
    // the place in the window of each place along the axis: [lanes, room], or [room]
    const dtype element = b.type(first).element;
    shape table = b.type(first).dims;
    table.push(room);
    const int here = b.sub(b.iota({element, table}, table.rank - 1),
                           b.broadcast(first, table, start.is_mapped ? 1 : 0));
    const int nearest = clamped(b, here, 0, window[axis] - 1);
    const std::int64_t mask = (std::int64_t{2} << axis) | (start.is_mapped ? 1 : 0);
    const int inside = b.broadcast(b.binary(op::eq, here, nearest), dims, mask);
    written = written == ir::no_node ? inside : b.binary(op::bit_and, written, inside);
    if (window[axis] == 1) {  // the one element of the update repeats
      shape wide = b.type(update.id).dims;
      wide[axis + (update.is_mapped ? 1 : 0)] = room;
      update.id = b.broadcast(update.id, wide, (std::int64_t{1} << wide.rank) - 1);
    } else if (!update.is_mapped && !start.is_mapped) {
      update.id = b.gather(update.id, nearest, axis, 0, index_mode::clip);
    } else {
      update = {
          gather_in_lanes(b, update, {nearest, start.is_mapped}, axis, 0, index_mode::clip, n.size),
          true};
    }
    if (update.id < 0) return ir::poison;
  }
  const int wide = update.is_mapped ? update.id : repeated(b, update.id, n.size);
  return written == ir::no_node ? wide : b.select(written, wide, value);
}

}  // namespace atled::passes::detail
