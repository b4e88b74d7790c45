// atled/transform/planned.hpp: the stages of a plan, for a program and for each of its bodies.
// Reads: passes/compile.hpp, runtime/executor.hpp. Next: transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/compile.hpp"
#include "atled/runtime/executor.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace atled::detail {

/// From a graph without bodies to a plan. `Source` has `kernel_graph()`, `donated`, and
/// `open_graph()`, in which the bodies are. These are functions because a reference to a graph
/// would put all of its capacity into the program.
template <class Source>
struct planned_graph : Source {
  static constexpr passes::grouped grouped = passes::group_nodes(Source::kernel_graph());
  static constexpr passes::storage kept = passes::stored_values(Source::kernel_graph(), grouped);
  static constexpr passes::plan unordered =
      passes::emitted(Source::kernel_graph(), grouped, kept, Source::donated);
  static constexpr passes::plan plan =
      passes::placed(Source::kernel_graph(), Source::donated, unordered);
};

/// Body number `Part` of the loop or cond `Node` of `Source::open_graph`.
template <class Source, int Node, int Part>
struct body_source {
  [[nodiscard]] static constexpr const ir::graph& open_graph() { return Source::open_graph(); }
  static constexpr ir::graph closed = passes::closed_part(open_graph(), {Node, Part});
  [[nodiscard]] static constexpr const ir::graph& kernel_graph() { return closed; }
  static constexpr passes::donation donated = passes::part_donation(open_graph(), {Node, Part});
};
template <class Source, int Node, int Part>
using planned_body = planned_graph<body_source<Source, Node, Part>>;

/// Number of loops and conds in a graph.
[[nodiscard]] constexpr int num_regions_of(const ir::graph& g) {
  int out = 0;
  for (int id = 0; g.num_regions > 0 && id < g.num_nodes; ++id) {
    out += has_regions(g[id].code) ? 1 : 0;
  }
  return out;
}
/// The node, in the open graph, of loop or cond number `index` of a closed graph.
[[nodiscard]] constexpr int region_node(const ir::graph& g, int index) {
  int id = 0;
  for (;; ++id) {
    if (has_regions(g[id].code) && index-- == 0) break;
  }
  return static_cast<int>(g.attribute(id));
}

/// What a call costs, bodies included: a loop without a bound counts as one trip, a cond as its
/// dearest branch.
struct plan_facts {
  std::int64_t flops;
  std::int64_t bytes_moved;
  std::int64_t region_bytes;
  std::int64_t dot_workspace;
  std::int64_t loop_workspace;
  bool unsupported;
  std::int64_t arena_bytes;
  int num_parameters;
  int num_outputs;
  runtime::comm_facts comm;

  constexpr void keep_largest(const plan_facts& other) {
    const auto keep = [](std::int64_t& mine, std::int64_t its) { mine = its > mine ? its : mine; };
    keep(dot_workspace, other.dot_workspace);
    keep(loop_workspace, other.loop_workspace);
    unsupported = unsupported || other.unsupported;
  }
};

template <class Planned>
struct lowered_graph;

/// The bodies of one loop or cond, lowered.
template <class Source, int Node>
struct lowered_region {
  [[nodiscard]] static constexpr const ir::graph& g() { return Source::open_graph(); }
  static constexpr auto num_parts = static_cast<std::size_t>(passes::num_parts(g(), Node));
  static constexpr bool is_loop = g()[Node].code == op::loop;

  template <std::size_t... Part>
  static constexpr auto make_parts(std::index_sequence<Part...>) {
    return std::array<const runtime::frozen_program*, num_parts>{
        &lowered_graph<planned_body<Source, Node, static_cast<int>(Part)>>::frozen...};
  }
  static constexpr auto parts = make_parts(std::make_index_sequence<num_parts>{});

  template <std::size_t... Part>
  static constexpr auto make_facts(std::index_sequence<Part...>) {
    return std::array<plan_facts, num_parts>{
        lowered_graph<planned_body<Source, Node, static_cast<int>(Part)>>::facts...};
  }
  static constexpr auto part_facts = make_facts(std::make_index_sequence<num_parts>{});

  static constexpr std::size_t num_sizes = [] {
    if constexpr (!is_loop) return std::size_t{1};
    const auto loop = ir::loop_parts::of(g(), Node);
    return static_cast<std::size_t>(loop.num_carries + loop.num_items + loop.num_ys + 1);
  }();
  static constexpr std::array<std::int64_t, num_sizes> bytes = [] {
    std::array<std::int64_t, num_sizes> out{};
    if constexpr (is_loop) {
      const auto loop = ir::loop_parts::of(g(), Node);
      const int bound = loop.num_carries + loop.num_items;
      for (int i = 0; i < bound; ++i) {
        out[static_cast<std::size_t>(i)] = g().type(loop.carry(i)).bytes();
      }
      for (int i = 0; i < loop.num_ys; ++i) {
        out[static_cast<std::size_t>(bound + i)] =
            g().type(loop.result(loop.num_carries + i)).bytes();
      }
    }
    return out;
  }();

  static constexpr runtime::region_call call = [] {
    runtime::region_call out{};
    out.code = g()[Node].code;
    out.num_parts = static_cast<int>(num_parts);
    out.parts = parts.data();
    out.bytes = bytes.data();
    if constexpr (is_loop) {
      const auto loop = ir::loop_parts::of(g(), Node);
      out.trips = loop.trips;
      out.flags = loop.flags;
      out.num_carries = loop.num_carries;
      out.num_items = loop.num_items;
      out.num_ys = loop.num_ys;
      out.num_results = loop.num_results();
    } else {
      const auto cond = ir::cond_parts::of(g(), Node);
      out.is_wide_index = g().type(cond.index()).element == dtype::i32;
      out.num_results = cond.num_results;
    }
    return out;
  }();

  static constexpr plan_facts facts = [] {
    plan_facts out{};
    std::int64_t pointers = 2;  // with those of operands that are no parameters
    std::int64_t bytes = 0;
    for (std::size_t i = 0; i < num_parts; ++i) {
      const plan_facts& part = part_facts[i];
      const std::int64_t part_bytes = runtime::detail::part_bytes(
          part.num_parameters, part.num_outputs, part.arena_bytes, part.region_bytes);
      out.keep_largest(part);
      pointers += part.num_parameters + part.num_outputs;
      bytes = is_loop || part_bytes > bytes ? part_bytes + (is_loop ? bytes : 0) : bytes;
      if (is_loop) {
        const std::int64_t trips = g().attribute(Node, 2) < 0 ? 1 : g().attribute(Node, 2);
        out.comm.add(part.comm, trips);
        out.flops += trips * part.flops;
        out.bytes_moved += trips * part.bytes_moved;
      } else {
        out.comm.keep_largest(part.comm);
      }
      if (!is_loop && part.flops + part.bytes_moved > out.flops + out.bytes_moved) {
        out.flops = part.flops;
        out.bytes_moved = part.bytes_moved;
      }
    }
    out.region_bytes = bytes + runtime::detail::pointer_bytes(pointers);
    return out;
  }();
};

/// Tables and functions of a plan.
template <class Planned>
struct lowered_graph {
  [[nodiscard]] static constexpr const ir::graph& g() { return Planned::kernel_graph(); }
  static constexpr runtime::frozen_sizes sizes =
      runtime::detail::sizes_of(Planned::plan, g().num_outputs);
  static constexpr auto tables = runtime::freeze<sizes>(g(), Planned::plan);

  template <std::size_t... K>
  static constexpr auto make_kernels(std::index_sequence<K...>) {
    return std::array<runtime::kernel_function, sizeof...(K)>{
        runtime::detail::function_for<Planned, static_cast<int>(K)>()...};
  }
  static constexpr auto kernels =
      make_kernels(std::make_index_sequence<static_cast<std::size_t>(Planned::plan.num_kernels)>{});

  static constexpr auto num_regions = static_cast<std::size_t>(num_regions_of(g()));
  template <std::size_t... R>
  static constexpr auto make_regions(std::index_sequence<R...>) {
    return std::array<runtime::region_call, num_regions>{
        lowered_region<Planned, region_node(g(), static_cast<int>(R))>::call...};
  }
  static constexpr auto regions = make_regions(std::make_index_sequence<num_regions>{});

  template <std::size_t... R>
  static constexpr plan_facts add_facts(std::index_sequence<R...>) {
    plan_facts out{Planned::plan.flops,
                   Planned::plan.bytes_moved,
                   0,
                   tables.dot_workspace,
                   tables.loop_workspace,
                   Planned::plan.unsupported,
                   Planned::plan.arena_bytes,
                   g().num_parameters,
                   g().num_outputs,
                   {}};
    std::array<runtime::comm_facts, num_regions + 1> of_regions{
        lowered_region<Planned, region_node(g(), static_cast<int>(R))>::facts.comm...};
    for (const runtime::frozen_step& s : tables.steps) {
      if (s.collective >= 0)
        out.comm.add(tables.collectives[static_cast<std::size_t>(s.collective)]);
      if (s.region >= 0) out.comm.add(of_regions[static_cast<std::size_t>(s.region)], 1);
    }
    [[maybe_unused]] const auto add = [&](const plan_facts& region) {
      out.keep_largest(region);
      out.flops += region.flops;
      out.bytes_moved += region.bytes_moved;
      if (region.region_bytes > out.region_bytes) out.region_bytes = region.region_bytes;
    };
    (add(lowered_region<Planned, region_node(g(), static_cast<int>(R))>::facts), ...);
    return out;
  }
  static constexpr plan_facts facts = add_facts(std::make_index_sequence<num_regions>{});

  static constexpr runtime::frozen_program frozen{tables.steps.data(),
                                                  Planned::plan.num_steps,
                                                  tables.places.data(),
                                                  kernels.data(),
                                                  tables.late.data(),
                                                  static_cast<int>(tables.late.size()),
                                                  g().num_parameters,
                                                  g().num_outputs,
                                                  Planned::plan.arena_bytes,
                                                  facts.region_bytes,
                                                  facts.dot_workspace,
                                                  facts.loop_workspace,
                                                  tables.strides.data(),
                                                  tables.partial_sizes.data(),
                                                  tables.numbers.data(),
                                                  tables.first_stride.data(),
                                                  tables.first_partial_size.data(),
                                                  tables.first_number.data(),
                                                  regions.data(),
                                                  tables.collectives.data(),
                                                  static_cast<int>(tables.collectives.size()),
                                                  tables.runs.data(),
                                                  static_cast<int>(tables.runs.size()),
                                                  tables.cuts.data(),
                                                  tables.slot_steps.data()};
};

}  // namespace atled::detail
