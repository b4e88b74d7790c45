// atled/passes/vmap.hpp: a function on one lane becomes the function on all lanes: for each node
// its batched form, appended to the graph. Reads: passes/lanes.hpp, passes/vmap_index.hpp. The
// rules are in `vmap_rule` below; what does not depend on a lane stays as it is.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/vmap_collective.hpp"
#include "atled/passes/vmap_custom.hpp"
#include "atled/passes/vmap_index.hpp"
#include "atled/passes/vmap_regions.hpp"

namespace atled::passes {
namespace detail {

/// All attributes that name axes, moved behind the axis of lanes: a mask, a permutation or an axis.
constexpr ir::attribute_list behind_lanes(const ir::graph& g, int z) {
  ir::attribute_list out = g.attributes_of(z);
  switch (g[z].code) {
    case op::broadcast:  // the lanes of the operand are those of the result
      out.values[0] = out.values[0] * 2 + 1;
      break;
    case op::transpose: {
      std::int64_t order = 0;
      for (int i = 0; i < g.type(z).rank(); ++i) {
        order = ir::with_permuted_axis(order, i + 1, ir::permuted_axis(out.values[0], i) + 1);
      }
      out.values[0] = order;
      break;
    }
    case op::reverse:
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
      out.values[0] *= 2;
      break;
    default:  // one axis
      out.values[0] += 1;
      break;
  }
  return out;
}

/// A list of two numbers an axis, with those of the axis of lanes in front.
constexpr ir::attribute_list with_lanes_in_front(const ir::graph& g, int z, std::int64_t first,
                                                 std::int64_t second) {
  const int rank = g[z].num_attributes / 2;
  ir::attribute_list out{};
  out.push(first);
  for (int i = 0; i < rank; ++i) out.push(g.attribute(z, i));
  out.push(second);
  for (int i = 0; i < rank; ++i) out.push(g.attribute(z, rank + i));
  return out;
}

/// A mapped filler takes its places by a selection: `pad` has one for all.
constexpr int vmap_pad(ir::builder& b, const lane_node& n) {
  const auto attributes = with_lanes_in_front(b.g, n.z, 0, 0);
  const tensor_type type = n.type(b);
  if (!n.is_mapped(1)) return b.append(op::pad, {n[0], n[1]}, attributes, type);
  const int value = n.in_front(b, 0);
  if (value < 0 || n[1] < 0) return ir::poison;
  const int zero = b.constant(0, type.element);
  const int placed = b.append(op::pad, {value, zero}, attributes, type);
  const int kept = b.splat(0, {dtype::boolean, b.type(value).dims});
  const int filled = b.append(op::pad, {kept, b.constant(1, dtype::boolean)}, attributes,
                              {dtype::boolean, type.dims});
  return b.select(filled, b.broadcast(n[1], type.dims, 1), placed);
}

/// Lanes of both operands are a batch axis; those of one are a free axis, moved to the front.
constexpr int vmap_dot(ir::builder& b, const lane_node& n) {
  const auto axes = ir::dot_axes::unpacked(b.g.attributes_of(n.z));
  const int left = n.is_mapped(0) ? 1 : 0;
  const int right = n.is_mapped(1) ? 1 : 0;
  ir::dot_axes moved{};
  if (left + right == 2) moved.batch(0, 0);
  for (int i = 0; i < axes.num_batch; ++i) {
    moved.batch(axes.lhs_batch[i] + left, axes.rhs_batch[i] + right);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    moved.contract(axes.lhs_contract[i] + left, axes.rhs_contract[i] + right);
  }
  const int out = b.dot(n[0], n[1], moved);
  if (left + right == 2) return out;
  const int lhs_free = b.type(b.g.operand(n.z, 0)).rank() - axes.num_batch - axes.num_contract;
  return moved_axis(b, out, axes.num_batch + (left == 1 ? 0 : lhs_free), 0);
}

/// Right sides of lanes that share their matrix stand side by side: one solve of all.
constexpr int vmap_triangular_solve(ir::builder& b, const lane_node& n) {
  const ir::attribute_list attributes = b.g.attributes_of(n.z);
  if (n.is_mapped(0) || n[1] < 0) return same_op_in_lanes(b, n, attributes);
  const int rank = b.type(n[1]).rank();
  const int turned = moved_axis(b, n[1], 0, rank - 2);  // [..., N, lanes, K]
  const shape apart = b.type(turned).dims;
  shape together = apart;
  --together.rank;
  together[rank - 2] = apart[rank - 2] * apart[rank - 1];
  const int y = b.reshape(turned, together);
  const int x = b.append(op::triangular_solve, {n[0], y}, attributes);
  return moved_axis(b, b.reshape(x, apart), rank - 2, 0);
}

/// Node `n.z` on all lanes, at least one operand of which is mapped: the lanes are axis 0.
constexpr int vmap_rule(ir::builder& b, const lane_node& n) {
  switch (b.g[n.z].code) {
    case op::parameter:  // without operands: never mapped
    case op::constant:
    case op::iota:
    case op::axis_index:
    case op::axis_size:
    case op::barrier:  // made after all transformations
    case op::carry:    // see passes/vmap_regions.hpp
    case op::item:
    case op::enter:
    case op::loop:
    case op::cond:
    case op::result_of:
      return ir::poison;
    case op::variable:  // of an inner transformation, whose work is done
      return b.on_far_side(n.z, n[0]);

    case op::sharding_constraint: {  // lanes are not split
      ir::attribute_list attributes = b.g.attributes_of(n.z);
      attributes.values[0] <<= 8;
      return same_op_in_lanes(b, n, attributes);
    }
    case op::extent: {
      const int all =
          b.append(op::extent, {n[0]}, ir::attribute_list::of(b.g.attribute(n.z) * 2), b.type(n.z));
      return b.broadcast(all, n.type(b).dims, 0);
    }
    case op::reshape:
      return b.reshape(n[0], n.type(b).dims);
    case op::broadcast:
    case op::transpose:
    case op::reverse:
    case op::concatenate:
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
    case op::cumsum:
    case op::reverse_cumsum:
    case op::argsort:
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
      return same_op_in_lanes(b, n, behind_lanes(b.g, n.z));
    case op::triangular_solve:
      return vmap_triangular_solve(b, n);
    case op::slice:
      return same_op_in_lanes(b, n, with_lanes_in_front(b.g, n.z, 0, 1));
    case op::pad:
      return vmap_pad(b, n);
    case op::gather:
      return vmap_gather(b, n);
    case op::scatter_add:
    case op::scatter_max:
      return vmap_scatter(b, n);
    case op::dynamic_slice:
      return vmap_dynamic_slice(b, n);
    case op::dynamic_update_slice:
      return vmap_dynamic_update_slice(b, n);
    case op::dot:
      return vmap_dot(b, n);
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
      return vmap_other_collective(b, n);
    case op::custom:  // these two are taken apart in `vmap`
    case op::custom_linear:
      return ir::poison;
    case op::custom_part:
    case op::external_result:
      return b.append(b.g[n.z].code, {n[0]}, b.g.attributes_of(n.z), n.type(b));
    case op::external:
      return vmap_external(b, n);

    case op::neg:  // elementwise: lanes are elements like others
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
    case op::convert:
    case op::stop_gradient:
    case op::checkpoint_name:
    case op::add:
    case op::sub:
    case op::mul:
    case op::strong_mul:
    case op::div:
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
    case op::select:
    case op::threefry:
    case op::cholesky:  // on the last two axes
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd:
      return same_op_in_lanes(b, n, b.g.attributes_of(n.z));
  }
  __builtin_unreachable();
}

}  // namespace detail

/// Nodes of all lanes: where `is_mapped`, axis 0 counts the lanes; else all lanes share the node.
struct lane_ids {
  ids values;
  bool is_mapped[ids::capacity];
};

/// Appends `outputs` for all lanes, given `inputs` for all lanes.
///
/// Pre: `inputs` are `op::variable`s that the caller has made, of the type in one lane; axis 0 of
/// `mapped_inputs` counts `size` lanes. `axis` is the name that the lanes have in ir::graph::axes,
/// or -1. `ir::no_node` among the outputs stays.
/// Post: row i of a mapped output is the output for row i of all inputs. Nodes that do not depend
/// on an input are used as they are, once for all lanes. No collective of `axis` is left.
/// Cost: O(nodes + edges) between the first input and the last output.
/// Ill-formed: a value has 8 axes in one lane.
constexpr void vmap(ir::builder& b, const ids& outputs, const ids& inputs, const ids& mapped_inputs,
                    std::int64_t size, int axis, lane_ids& results) {
  results.values.size = 0;
  if (outputs.has_poison() || inputs.has_poison() || mapped_inputs.has_poison()) {
    for (int i = 0; i < outputs.size; ++i) results.values.push(ir::poison);
    return;
  }
  const int current = b.scope;
  const int first = inputs.lowest();
  const int last = outputs.highest();
  bool needed[ir::graph::max_nodes]{};      // at last - id: an output depends on it
  int stand_in_of[ir::graph::max_nodes]{};  // at id - first: what takes its place + 1, 0 is itself
  bool is_mapped[ir::graph::max_nodes]{};   // at id - first

  for (const int id : outputs) {
    if (id >= first) needed[last - id] = true;
  }
  for (int id = last; id >= first; --id) {
    if (!needed[last - id]) continue;
    for (int i = 0; i < b.g[id].num_operands; ++i) {
      if (const int x = b.g.operand(id, i); x >= first) needed[last - x] = true;
    }
  }
  for (int i = 0; i < inputs.size; ++i) {
    if (inputs[i] > last) continue;
    stand_in_of[inputs[i] - first] = mapped_inputs[i] + 1;
    is_mapped[inputs[i] - first] = true;
  }
  detail::lane_regions regions{};
  const bool has_regions = b.g.num_regions > 0;
  if (has_regions) {
    regions.find(b.g, inputs, first, last, axis, size, [&](int id) { return needed[last - id]; });
  }
  const auto at = [&](int x) {
    const int stand_in = x >= first ? stand_in_of[x - first] - 1 : ir::no_node;
    return detail::lane_value{stand_in == ir::no_node ? x : stand_in,
                              x >= first && is_mapped[x - first]};
  };
  for (int id = first; id <= last; ++id) {
    if (!needed[last - id] || stand_in_of[id - first] != 0) continue;
    if (has_regions && info(b.g[id].code).kind == op_kind::region) {
      const int scope = b.g[id].scope;
      b.site = b.g[id].at;
      b.scope = scope;
      const detail::lane_value out = regions.rule(b, id, at);
      b.move_home(out.id, scope, b.g[id].home);
      stand_in_of[id - first] = out.id + 1;
      is_mapped[id - first] = out.is_mapped;
      continue;
    }
    detail::lane_node n{};
    n.size = size;
    n.z = id;
    n.count = b.g[id].num_operands;
    bool is_same = true;
    for (int i = 0; i < n.count; ++i) {
      const int x = b.g.operand(id, i);
      const int stand_in = x >= first ? stand_in_of[x - first] - 1 : ir::no_node;
      n.operands[i] = {stand_in == ir::no_node ? x : stand_in, x >= first && is_mapped[x - first]};
      is_same = is_same && stand_in == ir::no_node;
    }
    const op code = b.g[id].code;
    const bool is_own = is_collective(code) && b.g.attribute(id) == axis;
    if (is_same && !is_own) continue;
    const int scope = b.g[id].scope;
    b.site = b.g[id].at;
    b.scope = scope;
    detail::lane_value out{ir::poison, true};
    if (is_own) {
      out = detail::vmap_collective(b, n);
    } else if (!n.any_mapped()) {
      out = {detail::same_op_when_shared(b, n), false};
    } else if (b.type(id).rank() == max_rank) {
      text why;
      why << b.type(id) << " in each of " << size << " lanes: it would have more than 8 axes";
      b.fail("vmap", why);
    } else if (code == op::custom) {
      out.id = detail::vmap_custom(b, n, axis);
    } else if (code == op::custom_linear) {
      out.id = detail::vmap_custom_linear(b, n, axis);
    } else {
      out.id = detail::vmap_rule(b, n);
    }
    b.move_home(out.id, scope, b.g[id].home);
    stand_in_of[id - first] = out.id + 1;
    is_mapped[id - first] = out.is_mapped;
  }
  b.scope = current;
  for (int i = 0; i < outputs.size; ++i) {
    const int id = outputs[i];
    const bool is_same = id < first || stand_in_of[id - first] == 0;
    results.is_mapped[i] = !is_same && is_mapped[id - first];
    results.values.push(is_same ? id : stand_in_of[id - first] - 1);
  }
}

namespace detail {

constexpr void on_all_lanes(ir::builder& b, const lane_map& map, int* outputs, int count,
                            bool* is_mapped) {
  ids wanted{};
  ids inputs{};
  ids mapped{};
  lane_ids results{};
  for (int k = 0; k < count; ++k) wanted.push(outputs[k]);
  for (int i = 0; i < map.count; ++i) {
    inputs.push(map.inputs[i]);
    mapped.push(map.mapped[i]);
  }
  if (inputs.size == 0) return;
  vmap(b, wanted, inputs, mapped, map.size, map.axis, results);
  for (int k = 0; k < count; ++k) {
    outputs[k] = results.values[k];
    is_mapped[k] = results.is_mapped[k];
  }
}

}  // namespace detail
}  // namespace atled::passes
