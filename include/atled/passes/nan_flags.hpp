// atled/passes/nan_flags.hpp: a graph whose results say which of its values hold a NaN.
// Reads: passes/rewrite.hpp, ir/regions.hpp. Called by transform/debug_nans.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/regions.hpp"
#include "atled/passes/rewrite.hpp"

namespace atled::passes {

/// A graph with a flag, i32[], for each value that could hold a NaN: its outputs, in order.
struct flagged_graph {
  ir::graph g;
  int num_nodes;  ///< those that it had without the flags
  int flagged[ir::graph::max_outputs];
  int num_flags;
  int results[ir::graph::max_outputs];  ///< what the outputs were
  int num_results;
};

/// Adds to a graph that is simple a flag for each floating value outside of loops and branches.
///
/// Values inside a body have none: the results of its loop or branch have. Views have none: they
/// are what they look at. Cost: O(nodes + edges).
[[nodiscard]] constexpr flagged_graph with_nan_flags(const ir::graph& simple) {
  ir::builder b;
  rewrite(simple, b, keep);
  flagged_graph out{};
  out.num_nodes = b.g.num_nodes;
  out.num_results = b.g.num_outputs;
  for (int i = 0; i < b.g.num_outputs; ++i) out.results[i] = b.g.outputs[i];
  b.g.num_outputs = 0;
  ir::scopes inside{};
  inside.extend(b.g);
  for (int id = 0; id < out.num_nodes && out.num_flags < ir::graph::max_outputs; ++id) {
    const ir::node& n = b.g[id];
    const bool is_value = is_floating(n.type.element) && n.type.size() > 0 &&
                          info(n.code).kind != op_kind::shape && n.code != op::constant &&
                          n.code != op::iota && !has_regions(n.code);
    if (!is_value || inside.of[id] != 0) continue;
    b.site = n.at;
    const int flags = b.convert(b.binary(op::ne, id, id), dtype::i32);
    const std::int64_t all = (std::int64_t{1} << n.type.rank()) - 1;
    const int flag = n.type.rank() == 0 ? flags : b.reduce(op::reduce_max, flags, all);
    out.flagged[out.num_flags++] = id;
    b.g.outputs[b.g.num_outputs++] = flag;
  }
  out.g = b.g;
  return out;
}

}  // namespace atled::passes
