// atled/ir/compact.hpp: a graph cut to its size, so that a program can carry it to run time.
// Reads: ir/graph.hpp. Used by transform/program.hpp for printing.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

#include <array>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

namespace atled::ir {

/// A graph on the heap: its unused capacity is zero pages that are never touched.
class graph_ptr {
 public:
  /// Throws: std::bad_alloc.
  graph_ptr() : graph_(static_cast<graph*>(std::calloc(1, sizeof(graph)))) {
    if (graph_ == nullptr) throw std::bad_alloc();
  }
  graph_ptr(graph_ptr&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  graph_ptr& operator=(graph_ptr&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  ~graph_ptr() { std::free(graph_); }

  [[nodiscard]] graph& operator*() const { return *graph_; }
  [[nodiscard]] graph* operator->() const { return graph_; }
  [[nodiscard]] graph* get() const { return graph_; }

 private:
  graph* graph_;
};

struct graph_sizes {
  std::size_t nodes, operands, attributes, parameters, outputs;
};

[[nodiscard]] constexpr graph_sizes sizes_of(const graph& g) {
  return {static_cast<std::size_t>(g.num_nodes), static_cast<std::size_t>(g.num_operands),
          static_cast<std::size_t>(g.num_attributes), static_cast<std::size_t>(g.num_parameters),
          static_cast<std::size_t>(g.num_outputs)};
}

/// The used part of a graph.
template <graph_sizes Sizes>
struct compact_graph {
  std::array<node, Sizes.nodes> nodes;
  std::array<int, Sizes.operands> operands;
  std::array<std::int64_t, Sizes.attributes> attributes;
  std::array<int, Sizes.parameters> parameters;
  std::array<int, Sizes.outputs> outputs;

  [[nodiscard]] static constexpr compact_graph of(const graph& g) {
    compact_graph out{};
    for (std::size_t i = 0; i < Sizes.nodes; ++i) out.nodes[i] = g.nodes[i];
    for (std::size_t i = 0; i < Sizes.operands; ++i) out.operands[i] = g.operands[i];
    for (std::size_t i = 0; i < Sizes.attributes; ++i) out.attributes[i] = g.attributes[i];
    for (std::size_t i = 0; i < Sizes.parameters; ++i) out.parameters[i] = g.parameters[i];
    for (std::size_t i = 0; i < Sizes.outputs; ++i) out.outputs[i] = g.outputs[i];
    return out;
  }

  /// The whole graph again. Throws: std::bad_alloc.
  [[nodiscard]] graph_ptr expand() const {
    graph_ptr g;
    for (std::size_t i = 0; i < Sizes.nodes; ++i) g->nodes[i] = nodes[i];
    for (std::size_t i = 0; i < Sizes.operands; ++i) g->operands[i] = operands[i];
    for (std::size_t i = 0; i < Sizes.attributes; ++i) g->attributes[i] = attributes[i];
    for (std::size_t i = 0; i < Sizes.parameters; ++i) g->parameters[i] = parameters[i];
    for (std::size_t i = 0; i < Sizes.outputs; ++i) g->outputs[i] = outputs[i];
    g->num_nodes = static_cast<int>(Sizes.nodes);
    g->num_operands = static_cast<int>(Sizes.operands);
    g->num_attributes = static_cast<int>(Sizes.attributes);
    g->num_parameters = static_cast<int>(Sizes.parameters);
    g->num_outputs = static_cast<int>(Sizes.outputs);
    for (const node& n : nodes) g->num_regions += n.code >= op::carry ? 1 : 0;
    return g;
  }
};

/// The nodes that an output needs, and all parameters, under new numbers.
///
/// Cost: O(nodes + edges). Throws: std::bad_alloc.
[[nodiscard]] inline graph_ptr live_part(const graph& g) {
  std::vector<bool> is_live(static_cast<std::size_t>(g.num_nodes));
  std::vector<int> place(is_live.size(), no_node);
  const auto keep = [&](int id) {
    if (id >= 0) is_live[static_cast<std::size_t>(id)] = true;
  };
  for (int i = 0; i < g.num_parameters; ++i) keep(g.parameters[i]);
  for (int i = 0; i < g.num_outputs; ++i) keep(g.outputs[i]);
  for (int id = g.num_nodes - 1; id >= 0; --id) {
    if (!is_live[static_cast<std::size_t>(id)]) continue;
    for (int k = 0; k < g[id].num_operands; ++k) keep(g.operand(id, k));
  }
  const auto placed = [&](int id) { return id < 0 ? id : place[static_cast<std::size_t>(id)]; };
  graph_ptr out;
  for (int id = 0; id < g.num_nodes; ++id) {
    if (!is_live[static_cast<std::size_t>(id)]) continue;
    place[static_cast<std::size_t>(id)] = out->num_nodes;
    node& n = out->nodes[out->num_nodes++] = g[id];
    n.operands_begin = out->num_operands;
    n.attributes_begin = out->num_attributes;
    for (int k = 0; k < n.num_operands; ++k) {
      out->operands[out->num_operands++] = placed(g.operand(id, k));
    }
    for (int k = 0; k < n.num_attributes; ++k) {
      out->attributes[out->num_attributes++] = g.attribute(id, k);
    }
  }
  for (int i = 0; i < g.num_parameters; ++i) out->parameters[i] = placed(g.parameters[i]);
  for (int i = 0; i < g.num_outputs; ++i) out->outputs[i] = placed(g.outputs[i]);
  out->num_parameters = g.num_parameters;
  out->num_outputs = g.num_outputs;
  out->num_regions = g.num_regions;
  return out;
}

}  // namespace atled::ir
