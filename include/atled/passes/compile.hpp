// atled/passes/compile.hpp: the fixed order of passes from a traced graph to a plan.
// Reads: every pass. Called by transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/batch_run.hpp"
#include "atled/passes/bucket_sums.hpp"
#include "atled/passes/close_regions.hpp"
#include "atled/passes/emit.hpp"
#include "atled/passes/expand.hpp"
#include "atled/passes/home.hpp"
#include "atled/passes/join_regions.hpp"
#include "atled/passes/late_sums.hpp"
#include "atled/passes/memory.hpp"
#include "atled/passes/remat.hpp"
#include "atled/passes/schedule.hpp"
#include "atled/passes/simplify.hpp"

namespace atled::passes {

/// A graph that is simple, and in the forms that kernels run.
[[nodiscard]] constexpr ir::graph prepare(const ir::graph& traced) {
  ir::builder simple;
  simplify(traced, simple);
  if (!has_ranks(simple.g)) return simple.g;
  ir::builder late;
  move_sums(simple.g, late);
  ir::builder sent;
  bucket_sums(late.g, sent);
  return sent.g;
}
/// Loops and branches of one region as one.
[[nodiscard]] constexpr ir::graph joined(const ir::graph& g) {
  ir::builder out;
  join_regions(g, out);
  return out.g;
}

[[nodiscard]] constexpr ir::graph expanded(const ir::graph& simple) {
  ir::builder out;
  expand(simple, out);
  if (out.g.num_scopes == 0) return out.g;
  ir::builder again;
  remat(out.g, again);
  return again.g;
}

/// Views and groups; the grouper turns some operands into copies, which changes their views.
struct grouped {
  layout views;
  grouping groups;
};

[[nodiscard]] constexpr grouped group_nodes(const ir::graph& g) {
  grouped out{};
  make_layout(g, out.views);
  make_groups(g, out.views, out.groups);
  return out;
}

[[nodiscard]] constexpr storage stored_values(const ir::graph& g, const grouped& in) {
  storage out{};
  choose_storage(g, in.views, in.groups, out);
  find_homes(g, in.views, in.groups, out);
  return out;
}

[[nodiscard]] constexpr plan emitted(const ir::graph& g, const grouped& in, const storage& kept,
                                     const donation& donated) {
  plan out{};
  emit(g, in.views, in.groups, kept, donated, out);
  return out;
}

[[nodiscard]] constexpr plan placed(const ir::graph& g, const donation& donated,
                                    const plan& unordered) {
  plan out = unordered;
  schedule(out);
  find_runs(g, out);
  place_values(g, donated, out);
  return out;
}

}  // namespace atled::passes
