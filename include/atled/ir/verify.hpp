// atled/ir/verify.hpp: the laws that hold for a graph between any two passes.
// Reads: ir/type_rules.hpp. A broken law is an error of the library, never of its user.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/regions.hpp"
#include "atled/ir/type_rules.hpp"

namespace atled::ir {
namespace detail {

/// `node 7 (dot of 3, 5): `, the beginning of a sentence about a broken law.
constexpr text node_text(const graph& g, int id) {
  text out;
  out << "verify: node " << id << " (" << info(g[id].code).name;
  for (int i = 0; i < g[id].num_operands; ++i) out << (i == 0 ? " of " : ", ") << g.operand(id, i);
  return out << " : " << g.type(id) << "): ";
}

/// Number of attributes an op has on operands of these types; -1 where it depends on more.
constexpr int num_attributes_of(op code, const operand_types& in) {
  switch (info(code).kind) {
    case op_kind::source:
      return 1;
    case op_kind::elementwise:
      return code == op::threefry || code == op::polygamma || code == op::checkpoint_name ? 1 : 0;
    case op_kind::shape:
      if (code == op::reshape) return 0;
      if (code == op::sharding_constraint) return 2;
      return code == op::slice || code == op::pad ? 2 * in[0].rank() : 1;
    case op_kind::index:
      return code == op::dynamic_slice || code == op::dynamic_update_slice ? 0 : 3;
    case op_kind::reduction:
      return 1;
    case op_kind::cumulative:
      return code == op::cumsum || code == op::reverse_cumsum ? 1 : 2;
    case op_kind::ordering:
      return 3;
    case op_kind::linear:
      return code == op::triangular_solve ? 1 : 0;
    case op_kind::product:
      return 6;
    case op_kind::call:
      return code == op::custom || code == op::custom_linear ? 2 : code == op::external ? 3 : 1;
    case op_kind::collective:
      if (code == op::ppermute) return -1;
      if (code == op::all_to_all) return 3;
      return code == op::all_gather || code == op::psum_scatter ? 2 : 1;
    case op_kind::region:
      if (code == op::loop) return 7;
      return code == op::cond ? 4 : code == op::result_of ? 1 : 3;
  }
  __builtin_unreachable();
}

/// A broadcast's mask names as many result axes as the operand has, of its size or of any if it
/// is 1.
constexpr bool is_broadcast(const shape& from, const shape& to, std::int64_t mask) {
  int axis = 0;
  for (int i = 0; i < to.rank; ++i) {
    if (!has_axis(mask, i)) continue;
    if (axis >= from.rank || (from[axis] != to[i] && from[axis] != 1)) return false;
    ++axis;
  }
  return axis == from.rank && (mask >> to.rank) == 0;
}

constexpr bool is_permutation_of(std::int64_t packed, int rank) {
  int seen = 0;
  for (int i = 0; i < rank; ++i) seen |= 1 << permuted_axis(packed, i);
  return seen == (1 << rank) - 1;
}

/// What `pad` places lies inside the result.
constexpr bool is_inside(const shape& from, const shape& to, const attribute_list& attributes) {
  if (from.rank != to.rank) return false;
  for (int i = 0; i < from.rank; ++i) {
    const auto low = attributes.values[i];
    const auto step = attributes.values[from.rank + i] + 1;
    if (low < 0 || step < 1) return false;
    if (from[i] > 0 && low + (from[i] - 1) * step >= to[i]) return false;
  }
  return true;
}

/// The update of a scatter has the shape that a gather would give; slices fit into their value.
constexpr bool is_index_op(op code, const operand_types& in, const attribute_list& attributes,
                           const tensor_type& type) {
  const bool gathers = code != op::dynamic_slice && code != op::dynamic_update_slice;
  if (gathers) {
    const auto axis = static_cast<int>(attributes.values[0]);
    const auto batch_dims = static_cast<int>(attributes.values[1]);
    if (axis < batch_dims || axis >= in[0].rank() || batch_dims > in[1].rank()) return false;
    if (code == op::gather) return true;
    return gather_type(in[0], in[1], axis, batch_dims).type == in[2];
  }
  const int starts = code == op::dynamic_slice ? 1 : 2;
  if (in.size != starts + in[0].rank()) return false;
  for (int i = starts; i < in.size; ++i) {
    if (in[i].rank() != 0 || !is_integer(in[i].element)) return false;
  }
  const tensor_type& part = code == op::dynamic_slice ? type : in[1];
  if (part.element != in[0].element || part.rank() != in[0].rank()) return false;
  for (int i = 0; i < part.rank(); ++i) {
    if (bound_of(part.dims[i]) > bound_of(in[0].dims[i])) return false;
  }
  return true;
}

/// A loop has the operands that its attributes count, and next values of its carries' types.
constexpr std::string_view loop_law(const graph& g, int id) {
  const auto loop = loop_parts::of(g, id);
  const int others =
      (loop.has(loop_parts::has_count) ? 1 : 0) + (loop.has(loop_parts::has_predicate) ? 1 : 0);
  if (g[id].num_operands != 2 * loop.num_carries + loop.num_items + others + loop.num_ys) {
    return "its operands must be those that it counts";
  }
  for (int i = 0; i < loop.num_carries + loop.num_items; ++i) {
    const int x = loop.carry(i);
    if (g[x].code != (i < loop.num_carries ? op::carry : op::item)) return "it must bind them";
    if (g.attribute(x, 1) != loop.depth) return "what it binds must have its depth";
    if (i < loop.num_carries && !(g.type(x) == g.type(loop.result(i)))) {
      return "a carry must keep its type";
    }
    if (i >= loop.num_carries && g.type(g.operand(x, 0)).dims[0] != loop.trips) {
      return "a stack must have a row for each trip";
    }
  }
  const bool is_bounded = loop.trips >= 0 || loop.num_items + loop.num_ys == 0;
  return is_bounded ? "" : "a loop with stacks must be bounded";
}

/// Branches give results of the same types.
constexpr std::string_view cond_law(const graph& g, int id) {
  const auto cond = cond_parts::of(g, id);
  if (g[id].num_operands != 1 + cond.num_branches * cond.num_results) {
    return "its operands must be those that it counts";
  }
  for (int branch = 1; branch < cond.num_branches; ++branch) {
    for (int i = 0; i < cond.num_results; ++i) {
      if (!(g.type(cond.result(branch, i)) == g.type(cond.result(0, i)))) {
        return "its branches must give the same types";
      }
    }
  }
  return "";
}

/// Laws of loops, branches and what belongs to them.
constexpr std::string_view region_law(const graph& g, int id) {
  switch (g[id].code) {
    case op::loop:
      return loop_law(g, id);
    case op::cond:
      return cond_law(g, id);
    case op::item:
      return g.type(g.operand(id, 0)).rank() > 0 ? "" : "a stack must have an axis";
    case op::result_of: {
      const int of = g.operand(id, 0);
      if (!has_regions(g[of].code)) return "it must be of a loop or cond";
      return g.type(id) == result_type(g, of, static_cast<int>(g.attribute(id)))
                 ? ""
                 : "it must have the type of the result";
    }
    default:
      return "";
  }
}

/// Attributes that `infer_type` takes on trust: empty where they are right.
constexpr std::string_view attribute_law(op code, const operand_types& in,
                                         const attribute_list& attributes,
                                         const tensor_type& type) {
  const std::int64_t first = attributes.values[0];
  switch (code) {
    case op::variable:
      return in[0] == type ? "" : "a variable has the type of its operand";
    case op::constant:
      return type.rank() == 0 ? "" : "a constant is a scalar";
    case op::iota:
      return first >= 0 && first < type.rank() ? "" : "its axis must exist";
    case op::broadcast:
      return is_broadcast(in[0].dims, type.dims, first) && in[0].element == type.element
                 ? ""
                 : "the mask must fit operand and result";
    case op::transpose:
      return is_permutation_of(first, in[0].rank()) ? "" : "the axes must be a permutation";
    case op::pad:
      return is_inside(in[0].dims, type.dims, attributes) && in[1].rank() == 0 &&
                     in[0].element == type.element && in[1].element == type.element
                 ? ""
                 : "the value must lie inside the result";
    case op::gather:
    case op::scatter_add:
    case op::scatter_max:
    case op::dynamic_slice:
    case op::dynamic_update_slice:
      return is_index_op(code, in, attributes, type) ? "" : "operands must fit each other";
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
    case op::axis_index:
    case op::axis_size:
      return first >= 0 ? "" : "its axis must have a name";
    case op::cumsum:
    case op::reverse_cumsum:
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
    case op::argsort:
    case op::concatenate:
      return first >= 0 && first < in[0].rank() ? "" : "its axis must exist";
    default:
      return "";
  }
}

constexpr text broken_law_of(const graph& g, int id) {
  const node& n = g[id];
  operand_types in{};
  for (int i = 0; i < n.num_operands; ++i) {
    const int x = g.operand(id, i);
    if (x < 0 || x >= id) return node_text(g, id) << "operands must precede their node";
    in.types[in.size++] = g.type(x);
  }
  const int wanted = info(n.code).num_operands;
  if (wanted >= 0 && wanted != n.num_operands) {
    return node_text(g, id) << "it must have " << wanted << " operands";
  }
  if (n.num_operands == 0 && wanted != 0 && n.code != op::loop)
    return node_text(g, id) << "it has no operands";
  const int attributes_wanted = num_attributes_of(n.code, in);
  if (attributes_wanted >= 0 && n.num_attributes != attributes_wanted) {
    return node_text(g, id) << "it has " << n.num_attributes << " attributes, but must have "
                            << attributes_wanted;
  }
  const attribute_list attributes = g.attributes_of(id);
  if (const auto law = attribute_law(n.code, in, attributes, n.type); !law.empty()) {
    return node_text(g, id) << law;
  }
  if (const auto law = region_law(g, id); !law.empty()) return node_text(g, id) << law;
  const typed result = infer_type(n.code, in, attributes, n.type);
  if (!result.ok()) return node_text(g, id) << result.problem;
  if (!(result.type == n.type)) return node_text(g, id) << "its type must be " << result.type;
  return {};
}

}  // namespace detail

/// The first broken law, or an empty text.
///
/// - Operands precede their node, and are as many as the op takes.
/// - A node has the attributes of its op, and the type that `infer_type` gives.
/// - Parameters are numbered from 0 in the order of their nodes; outputs are nodes.
/// - A loop's carries keep their type, branches agree, and no output is inside of one.
/// Cost: O(nodes + edges).
[[nodiscard]] constexpr text verify(const graph& g) {
  int parameters = 0;
  for (int id = 0; id < g.num_nodes; ++id) {
    if (const text law = detail::broken_law_of(g, id); !law.empty()) return law;
    if (g[id].code != op::parameter) continue;
    if (parameters >= g.num_parameters || g.attribute(id) != parameters ||
        g.parameters[parameters] != id) {
      return detail::node_text(g, id) << "parameters must be numbered in their order";
    }
    ++parameters;
  }
  if (parameters != g.num_parameters) return "verify: a parameter has no node";
  for (int i = 0; i < g.num_outputs; ++i) {
    if (g.outputs[i] < 0 || g.outputs[i] >= g.num_nodes) {
      text out;
      return out << "verify: output " << i << " is no node";
    }
  }
  if (const int i = escaped_output(g); i >= 0) {
    text out;
    return out << "verify: output " << i << " is inside of a loop or branch";
  }
  return {};
}

}  // namespace atled::ir
