// atled/runtime/inline_layout.hpp: whether a program is so small that one function should hold all
// of it, and where that function keeps its values.
// Reads: ir/graph.hpp. Next: runtime/inline_program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

#include <cstddef>
#include <cstdint>

namespace atled::runtime {

/// Limits of a program that is compiled as one function. Units: nodes; elements of all values that
/// are computed; multiply-adds of one product.
inline constexpr int max_inline_nodes = 512;
inline constexpr std::int64_t max_inline_elements = 4096;
inline constexpr std::int64_t max_inline_product = 4096;
/// The most results, operands of one node, and nodes in one fold expression: clang allows 256.
inline constexpr int max_inline_fold = 128;

/// One node of a small program: what is needed of the graph, and where its values are.
struct inline_node {
  op code;
  dtype element;
  std::int64_t size;  ///< elements
  int num_operands;
  int operands_begin;   ///< in inline_layout::operands
  std::int64_t bits;    ///< the first attribute
  int base;             ///< the node whose values these are
  bool is_one_value;    ///< one number, for all elements
  std::int64_t offset;  ///< of a node's own values in the function's memory, in bytes
};

/// A small program. It stands for its graph in what is compiled: a reference to a graph would put
/// all of its capacity into the program.
struct inline_layout {
  bool fits;
  std::int64_t bytes;  ///< of the function's memory
  int num_nodes;
  inline_node nodes[max_inline_nodes];
  int operands[4 * max_inline_nodes];
  int num_outputs;
  int outputs[max_inline_fold];

  [[nodiscard]] constexpr int operand(int id, int index) const {
    return operands[nodes[id].operands_begin + index];
  }
};

namespace detail {

/// Ops for which runtime/inline_program.hpp has a case.
[[nodiscard]] constexpr bool is_inlinable(op code) {
  switch (code) {
    case op::parameter:
    case op::constant:
    case op::iota:
    case op::broadcast:
    case op::reshape:
    case op::transpose:
    case op::slice:
    case op::reverse:
    case op::concatenate:
    case op::pad:
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
    case op::dot:
      return true;
    default:
      return info(code).kind == op_kind::elementwise && code != op::stop_gradient &&
             code != op::checkpoint_name;
  }
}

[[nodiscard]] constexpr bool has_inline_type(const ir::graph& g, int id) {
  const dtype element = g.type(id).element;
  const bool is_reduced = info(g[id].code).kind == op_kind::reduction;
  return size_of(element) != 2 && !(is_reduced && element == dtype::boolean);
}

/// Steps of the sum in each element of a dot.
[[nodiscard]] constexpr std::int64_t contracted_size(const ir::graph& g, int id) {
  const auto axes = ir::dot_axes::unpacked(g.attributes_of(id));
  std::int64_t out = 1;
  for (int i = 0; i < axes.num_contract; ++i) {
    out *= g.type(g.operand(id, 0)).dims[axes.lhs_contract[i]];
  }
  return out;
}

}  // namespace detail

[[nodiscard]] constexpr inline_layout make_inline_layout(const ir::graph& g) {
  inline_layout out{};
  if (g.num_nodes > max_inline_nodes || g.num_operands > 4 * max_inline_nodes ||
      g.num_outputs > max_inline_fold) {
    return out;
  }
  out.num_nodes = g.num_nodes;
  out.num_outputs = g.num_outputs;
  std::int64_t elements = 0;
  for (int i = 0; i < g.num_operands; ++i) out.operands[i] = g.operands[i];
  for (int id = 0; id < g.num_nodes; ++id) {
    const ir::node& from = g[id];
    const std::int64_t size = from.type.size();
    if (!detail::is_inlinable(from.code) || !detail::has_inline_type(g, id)) return out;
    if (from.num_operands > max_inline_fold) return out;
    if (from.code == op::dot && size * detail::contracted_size(g, id) > max_inline_product) {
      return out;
    }
    inline_node& n = out.nodes[id];
    n.code = from.code;
    n.element = from.type.element;
    n.size = size;
    n.num_operands = from.num_operands;
    n.operands_begin = from.operands_begin;
    n.bits = from.num_attributes > 0 ? g.attribute(id) : 0;
    const op_kind kind = info(from.code).kind;
    bool is_same = from.code == op::reshape;  // the values of operand 0, in their order
    if (kind == op_kind::elementwise) {
      n.is_one_value = true;
      for (int k = 0; k < from.num_operands; ++k) {
        n.is_one_value = n.is_one_value && out.nodes[g.operand(id, k)].is_one_value;
      }
    } else if (kind == op_kind::shape && from.code != op::pad && from.code != op::concatenate) {
      n.is_one_value = out.nodes[g.operand(id, 0)].is_one_value;
      is_same = is_same || n.is_one_value;
    }
    n.is_one_value = n.is_one_value || size == 1;
    n.base = is_same ? out.nodes[g.operand(id, 0)].base : id;
    if (is_same || from.code == op::parameter) continue;
    const std::int64_t kept = n.is_one_value ? 1 : size;
    elements += kept;
    n.offset = out.bytes;
    out.bytes += (kept * size_of(n.element) + 63) / 64 * 64;
  }
  for (int i = 0; i < g.num_outputs; ++i) {
    out.outputs[i] = g.outputs[i];
    // a result that is an argument could lie where another result is written
    if (out.nodes[out.nodes[g.outputs[i]].base].code == op::parameter) return out;
  }
  out.fits = elements <= max_inline_elements;
  return out;
}

}  // namespace atled::runtime
