// atled/passes/compile.hpp: the fixed order of passes from a traced graph to a plan.
// Reads: every pass. Called by runtime/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/emit.hpp"
#include "atled/passes/expand.hpp"
#include "atled/passes/memory.hpp"
#include "atled/passes/schedule.hpp"
#include "atled/passes/simplify.hpp"

namespace atled::passes {

/// A graph that is simple, and in the forms that kernels run.
[[nodiscard]] constexpr ir::graph prepare(const ir::graph& traced) {
  ir::builder simple;
  simplify(traced, simple);
  return simple.g;
}

[[nodiscard]] constexpr ir::graph expanded(const ir::graph& simple) {
  ir::builder out;
  expand(simple, out);
  return out.g;
}

/// Groups, storage, steps, order and memory for an expanded graph.
///
/// Post: `unsupported` is empty, or the sentence of what no kernel can do.
[[nodiscard]] constexpr plan make_plan(const ir::graph& g, const donation& donated) {
  layout views{};
  make_layout(g, views);
  grouping groups{};
  make_groups(g, views, groups);
  storage kept{};
  choose_storage(g, views, groups, kept);
  plan out{};
  emit(g, views, groups, kept, out);
  schedule(out);
  place_values(g, donated, out);
  return out;
}

}  // namespace atled::passes
