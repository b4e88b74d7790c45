// atled/passes/rewrite.hpp: the one loop that copies a graph, replacing nodes by a rule on the way.
// Reads: ir/builder.hpp. Rules: passes/simplify.hpp and others; `keep` below changes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"

namespace atled::passes {

/// One node on its way from a graph to another: its operands are nodes of the other already.
struct moving_node {
  op code;
  int operands[ir::operand_types::capacity];
  int num_operands;
  ir::attribute_list attributes;
  tensor_type type;
  int id;  ///< in the graph that it comes from

  constexpr int operator[](int i) const { return operands[i]; }
};

/// The rule that copies a node as it is.
[[nodiscard]] constexpr int keep(ir::builder& into, const moving_node& n) {
  if (n.code == op::variable) return into.variable(n[0]);
  return into.append(n.code, n.operands, n.num_operands, n.attributes, n.type);
}

/// Takes over the named axes, the checkpointed calls, the host functions, and which numbers
/// regions have.
constexpr void copy_names(const ir::graph& from, ir::builder& into) {
  into.copy_tables(from);
  into.g.num_regions = from.num_regions;
}

/// Copies into an empty builder what the outputs of `from` depend on, each node as
/// `rule(into, moving_node)` says: the id of the node that takes its place.
///
/// Post: all parameters are there, in order, used or not; equal nodes are one; the outputs are
/// those of `from`, in order. A node's position in the user's source goes with what takes its
/// place. A rule may also say what type a parameter takes. Cost: O(nodes + edges) calls of the
/// builder and of the rule.
template <class Rule>
constexpr void rewrite(const ir::graph& from, ir::builder& into, Rule&& rule) {
  bool needed[ir::graph::max_nodes]{};  // at last - id
  int place_of[ir::graph::max_nodes]{};
  const int last = from.num_nodes - 1;
  for (int i = 0; i < from.num_outputs; ++i) {
    if (from.outputs[i] >= 0) needed[last - from.outputs[i]] = true;
  }
  for (int id = last; id >= 0; --id) {
    if (!needed[last - id]) continue;
    for (int i = 0; i < from[id].num_operands; ++i) needed[last - from.operand(id, i)] = true;
  }
  copy_names(from, into);
  for (int id = 0; id <= last; ++id) {
    const ir::node& n = from[id];
    if (n.code == op::parameter) {
      into.site = n.at;
      if constexpr (requires { rule.parameter_type(n.type); }) {
        place_of[id] = into.parameter(rule.parameter_type(n.type));
      } else {
        place_of[id] = into.parameter(n.type);
      }
      continue;
    }
    if (!needed[last - id]) continue;
    moving_node moving{};
    moving.code = n.code;
    moving.num_operands = n.num_operands;
    moving.type = n.type;
    moving.id = id;
    for (int i = 0; i < n.num_operands; ++i) moving.operands[i] = place_of[from.operand(id, i)];
    for (int i = 0; i < n.num_attributes; ++i) moving.attributes.push(from.attribute(id, i));
    into.site = n.at;
    into.scope = n.scope;
    place_of[id] = rule(into, moving);
    if (n.home != n.scope) into.move_home(place_of[id], n.scope, n.home);
  }
  into.scope = 0;
  for (int i = 0; i < from.num_outputs; ++i) {
    const int output = from.outputs[i];
    into.g.outputs[into.g.num_outputs++] = output < 0 ? output : place_of[output];
  }
}

/// Copies what the outputs depend on, and nothing else: dead code stays behind.
constexpr void copy_live(const ir::graph& from, ir::builder& into) {
  rewrite(from, into, keep);
}

}  // namespace atled::passes
