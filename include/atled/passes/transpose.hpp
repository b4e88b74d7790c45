// atled/passes/transpose.hpp: the second half of reverse mode: tangents in become cotangents out.
// Reads: passes/ids.hpp. The rules are in `transpose_rule` below, one case for each linear op.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/collective.hpp"
#include "atled/passes/transpose_regions.hpp"

namespace atled::passes {
namespace detail {

/// Sums over the axes that a broadcast added or repeated.
constexpr int transposed_broadcast(ir::builder& b, int ct, const shape& from, std::int64_t mask) {
  std::int64_t summed = 0;
  int axis = 0;
  for (int i = 0; i < b.type(ct).rank(); ++i) {
    const bool is_repeated = !ir::has_axis(mask, i) || (from[axis] == 1 && b.type(ct).dims[i] != 1);
    if (is_repeated) summed |= std::int64_t{1} << i;
    if (ir::has_axis(mask, i)) ++axis;
  }
  return b.reshape(b.reduce(op::reduce_sum, ct, summed), from);
}

/// Result axes of a dot and the places of its operands' axes among them.
struct dot_places {
  int free_begin_rhs;                  // first result axis that is free in rhs
  int lhs_free, rhs_free;              // how many
  int rhs_free_axes[max_rank];         // axes of rhs, ascending
  int lhs_free_axes[max_rank];         // axes of lhs, ascending
  int rank_of_lhs_contract[max_rank];  // place of lhs_contract[i] among them, ascending
  int rank_of_rhs_contract[max_rank];

  [[nodiscard]] static constexpr dot_places of(const ir::dot_axes& axes, int lhs_rank,
                                               int rhs_rank) {
    dot_places out{};
    for (int i = 0; i < lhs_rank; ++i) {
      if (axes.role_of_lhs(i) == 'f') out.lhs_free_axes[out.lhs_free++] = i;
    }
    for (int i = 0; i < rhs_rank; ++i) {
      if (axes.role_of_rhs(i) == 'f') out.rhs_free_axes[out.rhs_free++] = i;
    }
    out.free_begin_rhs = axes.num_batch + out.lhs_free;
    for (int i = 0; i < axes.num_contract; ++i) {
      for (int j = 0; j < axes.num_contract; ++j) {
        out.rank_of_lhs_contract[i] += axes.lhs_contract[j] < axes.lhs_contract[i] ? 1 : 0;
        out.rank_of_rhs_contract[i] += axes.rhs_contract[j] < axes.rhs_contract[i] ? 1 : 0;
      }
    }
    return out;
  }
};

/// d_lhs = ct . rhs over the free axes of rhs, its axes in the order of lhs.
constexpr int transposed_dot_lhs(ir::builder& b, int ct, int lhs, int rhs,
                                 const ir::dot_axes& axes) {
  const int lhs_rank = b.type(lhs).rank();
  const auto places = dot_places::of(axes, lhs_rank, b.type(rhs).rank());
  // The factor whose axes come last in lhs is taken second: the transpose then moves whole rows.
  const bool swaps = lhs_rank > 0 && axes.role_of_lhs(lhs_rank - 1) == 'f';
  ir::dot_axes back{};
  for (int i = 0; i < axes.num_batch; ++i) back.batch(i, axes.rhs_batch[i]);
  for (int i = 0; i < places.rhs_free; ++i) {
    back.contract(places.free_begin_rhs + i, places.rhs_free_axes[i]);
  }
  // the result has the axes batch, then free of lhs and contracted in the order of rhs
  const int free = axes.num_batch + (swaps ? axes.num_contract : 0);
  const int contracted = axes.num_batch + (swaps ? 0 : places.lhs_free);
  std::int64_t order = 0;
  for (int i = 0; i < axes.num_batch; ++i) {
    order = ir::with_permuted_axis(order, axes.lhs_batch[i], i);
  }
  for (int i = 0; i < places.lhs_free; ++i) {
    order = ir::with_permuted_axis(order, places.lhs_free_axes[i], free + i);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    order = ir::with_permuted_axis(order, axes.lhs_contract[i],
                                   contracted + places.rank_of_rhs_contract[i]);
  }
  return permuted(b, swaps ? b.dot(rhs, ct, back.swapped()) : b.dot(ct, rhs, back), order);
}
constexpr int transposed_dot_rhs(ir::builder& b, int ct, int lhs, int rhs,
                                 const ir::dot_axes& axes) {
  const int rhs_rank = b.type(rhs).rank();
  const auto places = dot_places::of(axes, b.type(lhs).rank(), rhs_rank);
  const bool swaps = rhs_rank > 0 && axes.role_of_rhs(rhs_rank - 1) == 'c';
  ir::dot_axes back{};
  for (int i = 0; i < axes.num_batch; ++i) back.batch(axes.lhs_batch[i], i);
  for (int i = 0; i < places.lhs_free; ++i) {
    back.contract(places.lhs_free_axes[i], axes.num_batch + i);
  }
  // the result has the axes batch, then contracted in the order of lhs and free of rhs
  const int contracted = axes.num_batch + (swaps ? places.rhs_free : 0);
  const int free = axes.num_batch + (swaps ? 0 : axes.num_contract);
  std::int64_t order = 0;
  for (int i = 0; i < axes.num_batch; ++i) {
    order = ir::with_permuted_axis(order, axes.rhs_batch[i], i);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    order = ir::with_permuted_axis(order, axes.rhs_contract[i],
                                   contracted + places.rank_of_lhs_contract[i]);
  }
  for (int i = 0; i < places.rhs_free; ++i) {
    order = ir::with_permuted_axis(order, places.rhs_free_axes[i], free + i);
  }
  return permuted(b, swaps ? b.dot(ct, lhs, back.swapped()) : b.dot(lhs, ct, back), order);
}

/// The elements that `pad` took from its first operand.
constexpr int unpadded(ir::builder& b, int ct, int z) {
  const shape& dims = b.type(b.g.operand(z, 0)).dims;
  shape starts{};
  shape strides{};
  starts.rank = strides.rank = dims.rank;
  for (int i = 0; i < dims.rank; ++i) {
    starts[i] = b.g.attribute(z, i);
    strides[i] = b.g.attribute(z, dims.rank + i) + 1;
  }
  return b.slice(ct, starts, dims, strides);
}

/// The sum of the elements that `pad` filled.
constexpr int sum_of_filled(ir::builder& b, int ct, int z) {
  const shape& dims = b.type(b.g.operand(z, 0)).dims;
  const int kept = b.splat(0, {dtype::boolean, dims});
  const int yes = b.constant(1, dtype::boolean);
  const int filled =
      b.append(op::pad, {kept, yes}, b.g.attributes_of(z), {dtype::boolean, b.type(z).dims});
  const std::int64_t all = (std::int64_t{1} << dims.rank) - 1;
  return b.reduce(op::reduce_sum, b.select(filled, ct, zeros_like(b, ct)), all);
}

/// The part of `ct` that one operand of a concatenation gave.
constexpr int part_of(ir::builder& b, int ct, int axis, std::int64_t start, const shape& dims) {
  shape starts{};
  shape strides{};
  starts.rank = strides.rank = dims.rank;
  for (int i = 0; i < dims.rank; ++i) strides[i] = 1;
  starts[axis] = start;
  return b.slice(ct, starts, dims, strides);
}

/// The transpose of `slice`: its result is put back where it was taken from.
constexpr int unsliced(ir::builder& b, int ct, int z) {
  const tensor_type& type = b.type(b.g.operand(z, 0));
  shape low{};
  shape interior{};
  low.rank = interior.rank = type.rank();
  for (int i = 0; i < type.rank(); ++i) {
    low[i] = b.g.attribute(z, i);
    interior[i] = b.g.attribute(z, type.rank() + i) - 1;
  }
  return b.pad(ct, b.constant(0, type.element), low, interior, type.dims);
}

/// `code` on `first` and `second` (which may be absent) and the operands of `z` from `skip` on.
constexpr int with_operands(ir::builder& b, op code, int z, int first, int second, int skip,
                            const tensor_type& wanted) {
  int operands[ir::operand_types::capacity]{};
  int count = 0;
  operands[count++] = first;
  if (second != ir::no_node) operands[count++] = second;
  for (int i = skip; i < b.g[z].num_operands; ++i) operands[count++] = b.g.operand(z, i);
  return b.append(code, operands, count, {}, wanted);
}

/// The user's bwd on the cotangents of the parts, of which `part` is the first in a list.
constexpr void transpose_custom(ir::builder& b, cotangent_table& table, int z, int part) {
  int cotangents[ir::operand_types::capacity]{};
  int out[ir::operand_types::capacity]{};
  for (int& ct : cotangents) ct = ir::no_node;
  while (part >= 0) {
    cotangents[b.g.attribute(part)] = table.of(part);
    part = table.next_part[table.last - part] - 1;
  }
  const auto count = static_cast<int>(b.g.attribute(z, 1));
  int kept[ir::operand_types::capacity]{};
  for (int i = count; i < b.g[z].num_operands; ++i) kept[i - count] = b.g.operand(z, i);
  b.pullback(b.g.attribute(z)).pull(b, kept, cotangents, out);
  for (int i = 0; i < count; ++i) {
    const int x = b.g.operand(z, i);
    if (out[i] == ir::no_node || !table.is_linear(x)) continue;
    table.accumulate(b, x, b.psum(out[i], b.varies(z) & ~b.varies(x)));
  }
}

/// Sends the cotangent `ct` of node `z` to those of its operands that are linear; false where `z`
/// is not linear in them.
constexpr bool transpose_rule(ir::builder& b, cotangent_table& table, int z, int ct) {
  const int count = b.g[z].num_operands;
  const int x = count > 0 ? b.g.operand(z, 0) : ir::no_node;
  const int y = count > 1 ? b.g.operand(z, 1) : ir::no_node;
  const bool to_x = table.is_linear(x);
  const bool to_y = table.is_linear(y);
  // What lanes share is used in each: its cotangent is the sum of theirs.
  const auto give = [&](int id, int cotangent) {
    if (!table.is_linear(id)) return;
    table.accumulate(b, id, b.psum(cotangent, b.varies(z) & ~b.varies(id)));
  };
  switch (b.g[z].code) {
    case op::parameter:
    case op::constant:
    case op::iota:
    case op::stop_gradient:
      return true;
    case op::variable:  // one of the inputs has no linear operand
      if (to_x && b.is_border(z)) {
        table.accumulate(b, x, b.on_near_side(z, ct));
      } else {
        give(x, ct);
      }
      return true;
    case op::carry:  // reached from inside only, where they are inputs
    case op::item:
    case op::enter:
      return true;
    case op::result_of:  // kept until the loop or cond is reached, whose results come before it
      table.keep_for(x, static_cast<int>(b.g.attribute(z)), ct);
      return true;
    case op::loop:
      transpose_loop(b, table, z);
      return true;
    case op::cond:
      transpose_cond(b, table, z);
      return true;

    case op::neg:
      give(x, b.neg(ct));
      return true;
    case op::sharding_constraint: {  // what was moved one way may move back without a word
      ir::attribute_list attributes = b.g.attributes_of(z);
      if (attributes.values[0] != 0) {
        attributes.values[1] |= ir::back_again;
        ct = b.append(op::sharding_constraint, {ct}, attributes);
      }
      give(x, ct);
      return true;
    }
    case op::checkpoint_name:
    case op::barrier:
      give(x, ct);
      return true;
    case op::convert:
      give(x, b.convert(ct, b.type(x).element));
      return true;
    case op::add:
      give(x, ct);
      give(y, ct);
      return true;
    case op::sub:
      give(x, ct);
      if (to_y) give(y, b.neg(ct));
      return true;
    case op::mul:  // by a residual
    case op::strong_mul:
      if (to_x && to_y) return false;
      give(to_x ? x : y, b.binary(b.g[z].code, ct, to_x ? y : x));
      return true;
    case op::div:
      if (to_y) return false;
      give(x, b.div(ct, y));
      return true;
    case op::select:
      if (to_y) give(y, b.select(x, ct, zeros_like(b, ct)));
      if (const int other = b.g.operand(z, 2); table.is_linear(other)) {
        give(other, b.select(x, zeros_like(b, ct), ct));
      }
      return true;

    case op::broadcast:
      give(x, transposed_broadcast(b, ct, b.type(x).dims, b.g.attribute(z)));
      return true;
    case op::reshape:
      give(x, b.reshape(ct, b.type(x).dims));
      return true;
    case op::transpose: {
      std::int64_t inverse = 0;
      for (int i = 0; i < b.type(x).rank(); ++i) {
        inverse = ir::with_permuted_axis(inverse, ir::permuted_axis(b.g.attribute(z), i), i);
      }
      give(x, b.transpose(ct, inverse));
      return true;
    }
    case op::slice:
      give(x, unsliced(b, ct, z));
      return true;
    case op::pad:
      if (to_x) give(x, unpadded(b, ct, z));
      if (to_y) give(y, sum_of_filled(b, ct, z));
      return true;
    case op::concatenate: {
      const auto axis = static_cast<int>(b.g.attribute(z));
      std::int64_t start = 0;
      for (int i = 0; i < count; ++i) {
        const int part = b.g.operand(z, i);
        const shape& dims = b.type(part).dims;
        if (table.is_linear(part)) give(part, part_of(b, ct, axis, start, dims));
        start += dims[axis];
      }
      return true;
    }
    case op::reverse:
      give(x, b.append(op::reverse, {ct}, b.g.attributes_of(z)));
      return true;

    case op::gather:
      give(x, b.append(op::scatter_add, {zeros_like(b, x), y, ct}, b.g.attributes_of(z)));
      return true;
    case op::scatter_add:
      give(x, ct);
      if (const int updates = b.g.operand(z, 2); table.is_linear(updates)) {
        give(updates, b.append(op::gather, {ct, y}, b.g.attributes_of(z)));
      }
      return true;
    case op::dynamic_slice:
      give(x, with_operands(b, op::dynamic_update_slice, z, zeros_like(b, x), ct, 1, {}));
      return true;
    case op::dynamic_update_slice:
      if (to_x) {
        const int gap = zeros_like(b, y);
        give(x, with_operands(b, op::dynamic_update_slice, z, ct, gap, 2, {}));
      }
      if (to_y) {
        give(y, with_operands(b, op::dynamic_slice, z, ct, ir::no_node, 2, b.type(y)));
      }
      return true;

    case op::reduce_sum: {
      const shape& dims = b.type(x).dims;
      const std::int64_t all = (std::int64_t{1} << dims.rank) - 1;
      give(x, b.broadcast(ct, dims, all & ~b.g.attribute(z)));
      return true;
    }
    case op::cumsum:
      give(x, b.append(op::reverse_cumsum, {ct}, b.g.attributes_of(z)));
      return true;
    case op::reverse_cumsum:
      give(x, b.append(op::cumsum, {ct}, b.g.attributes_of(z)));
      return true;
    case op::triangular_solve: {  // in its right sides
      if (to_x) return false;
      const std::int64_t flags = b.g.attribute(z) ^ triangle::transposed;
      give(y, b.append(op::triangular_solve, {x, ct}, ir::attribute_list::of(flags)));
      return true;
    }
    case op::dot: {
      if (to_x && to_y) return false;
      const auto axes = ir::dot_axes::unpacked(b.g.attributes_of(z));
      if (to_x) give(x, transposed_dot_lhs(b, ct, x, y, axes));
      if (to_y) give(y, transposed_dot_rhs(b, ct, x, y, axes));
      return true;
    }

    case op::custom_part:
      table.note_part(x, z);
      return true;
    case op::custom_linear:
      transpose_custom(b, table, z, ct);
      return true;
    case op::psum:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
      give(x, transposed_collective(b, ct, z, x));
      return true;

    case op::exp:
    case op::expm1:
    case op::log:
    case op::log1p:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::sqrt:
    case op::rsqrt:
    case op::erf:
    case op::erfc:
    case op::erf_inv:
    case op::sinh:
    case op::cosh:
    case op::cbrt:
    case op::lgamma:
    case op::polygamma:
    case op::abs:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::is_finite:
    case op::logical_not:
    case op::rem:
    case op::pow:
    case op::max:
    case op::min:
    case op::atan2:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::eq:
    case op::ne:
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
    case op::threefry:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::scatter_max:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
    case op::argsort:
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
    case op::custom:
    case op::external:
    case op::external_result:
    case op::extent:
    case op::pmax:
    case op::pmin:
    case op::axis_index:
    case op::axis_size:
    case op::cholesky:
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd:
      return false;
  }
  __builtin_unreachable();
}

}  // namespace detail

/// Appends the cotangents of `linear_inputs`, given those of `linear_outputs`.
///
/// Pre: the outputs are linear in the inputs, `op::variable`s that the caller has made.
/// Post: <ct, J dx> = <J^T ct, dx> for all ct, dx. A cotangent has the type of its input; it is
/// `ir::no_node` where it is zero everywhere. The nodes that were there are unchanged.
/// Cost: O(nodes + edges); one `add` for each use of a value after its first.
/// Ill-formed: a node on the way is not linear.
/// Source: Radul et al., You Only Linearize Once, POPL 2023.
constexpr void transpose(ir::builder& b, const ids& linear_outputs, const ids& cotangents,
                         const ids& linear_inputs, ids& input_cotangents) {
  input_cotangents.size = 0;
  if (linear_outputs.has_poison() || cotangents.has_poison() || linear_inputs.has_poison()) {
    for (int i = 0; i < linear_inputs.size; ++i) input_cotangents.push(ir::poison);
    return;
  }
  detail::cotangent_table table{};
  table.first = linear_inputs.lowest();
  table.last = linear_outputs.highest();
  for (const int id : linear_inputs) {
    if (id <= table.last) table.role[id - table.first] = detail::linear_role::input;
  }
  table.mark_linear(b.g, table.first, table.last);
  for (int i = 0; i < linear_outputs.size; ++i) {
    if (cotangents[i] == ir::no_node || !table.is_linear(linear_outputs[i])) continue;
    b.site = b.g[linear_outputs[i]].at;
    const std::uint32_t more = b.varies(cotangents[i]) & ~b.varies(linear_outputs[i]);
    table.accumulate(b, linear_outputs[i], b.psum(cotangents[i], more));
  }
  for (int id = table.last; id >= table.first; --id) {
    const int ct = table.of(id);
    if (ct == ir::no_node || table.is_input(id)) continue;
    b.site = b.g[id].at;
    if (!detail::transpose_rule(b, table, id, ct)) {
      b.fail("linear_transpose", text("the function is not linear: ")
                                     << info(b.g[id].code).name
                                     << " of its argument has no transpose");
    }
  }
  for (const int id : linear_inputs) {
    input_cotangents.push(id <= table.last ? table.of(id) : ir::no_node);
  }
}

}  // namespace atled::passes
