// atled/passes/collective.hpp: derivatives of what combines the lanes of a named axis.
// Reads: passes/ids.hpp. Used by passes/jvp.hpp and passes/transpose.hpp.
//
// A value either differs between lanes or is shared by them (node::varies). Its cotangent does the
// same: that of a shared value is the sum over the lanes that use it, which passes/transpose.hpp
// takes where a shared value enters an op that differs. So psum, whose result is shared, hands its
// cotangent to each lane as it is.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes::detail {

/// The mean of the tangents of all lanes that are equal to the extremum.
constexpr int pmax_rule(ir::builder& b, int z, int x, int dx) {
  const int chosen = b.binary(op::eq, x, z);
  const auto axis = b.g.attributes_of(z);
  const int total = b.append(op::psum, {b.select(chosen, dx, zeros_like(b, dx))}, axis);
  return b.div(total, b.append(op::psum, {b.convert(chosen, b.type(x).element)}, axis));
}

/// Operand `x` of a collective `z` is the same in all lanes.
constexpr bool is_shared_by_lanes(const ir::builder& b, int z, int x) {
  return ((b.varies(x) >> b.g.axes[b.g.attribute(z)].bit) & 1U) == 0;
}

/// The transpose of `all_gather`: each lane's own place, or the sum of all if they gave the same.
constexpr int ungathered(ir::builder& b, int ct, int z) {
  const int x = b.g.operand(z, 0);
  const auto axis = static_cast<int>(b.g.attribute(z, 1));
  // What has been summed over the lanes for each lane to take its place: one collective does both.
  const int whole = b.g[ct].code == op::reshape ? b.g.operand(ct, 0) : ct;
  if (!is_shared_by_lanes(b, z, x) && b.g[whole].code == op::psum &&
      b.g.attribute(whole) == b.g.attribute(z)) {
    const int summed = b.reshape(b.g.operand(whole, 0), b.type(z).dims);
    return b.append(op::psum_scatter, {summed}, b.g.attributes_of(z), b.type(x));
  }
  if (is_shared_by_lanes(b, z, x)) return b.reduce(op::reduce_sum, ct, std::int64_t{1} << axis);
  tensor_type own = b.type(z);
  own.dims[axis] = 1;
  int operands[max_rank + 1]{ct};
  for (int i = 0; i < own.rank(); ++i) operands[i + 1] = b.constant(0, dtype::i32);
  operands[axis + 1] =
      b.append(op::axis_index, {}, ir::attribute_list::of(b.g.attribute(z)), {dtype::i32, {}});
  return b.reshape(b.append(op::dynamic_slice, operands, own.rank() + 1, {}, own), b.type(x).dims);
}

/// The cotangent of the operand `x` of a linear collective `z`.
constexpr int transposed_collective(ir::builder& b, int ct, int z, int x) {
  ir::attribute_list attributes = b.g.attributes_of(z);
  switch (b.g[z].code) {
    case op::psum:  // of a shared value: as many times that value
      return is_shared_by_lanes(b, z, x) ? b.append(op::psum, {ct}, attributes) : ct;
    case op::all_gather:
      return ungathered(b, ct, z);
    case op::psum_scatter:
      return b.append(op::all_gather, {ct}, attributes, b.type(x));
    case op::all_to_all:
      attributes.values[1] = b.g.attribute(z, 2);
      attributes.values[2] = b.g.attribute(z, 1);
      return b.append(op::all_to_all, {ct}, attributes, b.type(x));
    default: {  // ppermute
      const auto axis = static_cast<int>(attributes.values[0]);
      if (b.g.axes[axis].is_open()) {  // a shift around the ring
        attributes.values[1] = -attributes.values[1];
        return b.append(op::ppermute, {ct}, attributes);
      }
      const auto sources = ir::lane_sources::unpacked(attributes, b.g.axes[axis].size);
      return b.append(op::ppermute, {ct}, sources.inverse().packed(axis));
    }
  }
}

}  // namespace atled::passes::detail
