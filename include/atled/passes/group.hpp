// atled/passes/group.hpp: which nodes are computed together, in one kernel.
// Reads: passes/layout.hpp. Next: passes/store.hpp decides what leaves a group, passes/emit.hpp
// writes its instructions.
//
// Groups carry levels: every value that a group reads from another group comes from a lower level,
// so joining can never close a cycle. A node joins
//   1. the group of an operand that it can read element by element (or a row's value, per row),
//   2. else a group of the same shape that reads the same memory,
//   3. else a new group, one level above all that it reads.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/layout.hpp"

namespace atled::passes {

enum class group_kind : std::uint8_t {
  loop,    ///< elementwise nodes and reductions over one domain
  dot,     ///< a product and what is done to each of its elements
  opaque,  ///< one node with a kernel of its own
  copy,    ///< one node that only moves its operand
};

struct group {
  group_kind kind;
  shape domain;
  int lead;  ///< the product, the opaque or the copied node
  int level;
  int num_members;
  int num_inputs;       ///< operands read from outside, an upper bound
  bool has_row_reduce;  ///< reductions along the last axis
  bool has_partial;     ///< reductions over other axes, complete only after the kernel
  bool is_read;         ///< by another group
  int first;            ///< the member of the smallest number
  int not_before;       ///< no node before this one may be a member: see op::barrier
  int parent;           ///< + 1; 0 for a group that was not merged into another
};

/// The largest groups: a kernel's build time grows with its instructions.
inline constexpr int max_group_members = 48;
inline constexpr int max_group_inputs = 24;

/// Where each node is computed.
struct grouping {
  static constexpr int max_groups = 1 << 15;
  group groups[max_groups];
  int num_groups;
  int group_of[ir::graph::max_nodes];  ///< + 1; 0 for sources and views
  bool per_row[ir::graph::max_nodes];  ///< one value a row of the group's domain
  bool after[ir::graph::max_nodes];    ///< known only after the kernel: a partial reduction
  int copy_of[ir::graph::max_nodes];   ///< index in `copies` of a copied node; 0 for others
  view copies[max_groups];             ///< what a copied node reads, in its group's domain
  int num_copies;

  [[nodiscard]] constexpr int find(int id) const {
    while (groups[id].parent != 0) id = groups[id].parent - 1;
    return id;
  }
  /// The group that computes a node, or -1.
  [[nodiscard]] constexpr int of(int node) const {
    return group_of[node] == 0 ? -1 : find(group_of[node] - 1);
  }
};

[[nodiscard]] constexpr bool is_source(op code) {
  return code == op::parameter || code == op::constant || code == op::iota;
}

/// The result of a reduction over the last axis has the shape of the other axes.
[[nodiscard]] constexpr bool is_row_shape(const shape& dims, const shape& domain) {
  if (domain.rank == 0 || dims.rank < domain.rank - 1 || dims.rank > domain.rank) return false;
  for (int i = 0; i < domain.rank - 1; ++i) {
    if (dims[i] != domain[i]) return false;
  }
  return dims.rank == domain.rank - 1 || dims[dims.rank - 1] == 1;
}

namespace detail {

class grouper {
 public:
  constexpr grouper(const ir::graph& g, layout& views, grouping& out)
      : g_(g), views_(views), out_(out) {}

  constexpr void run() {
    for (int id = 0; id < g_.num_nodes; ++id) place(id);
  }

 private:
  const ir::graph& g_;
  layout& views_;
  grouping& out_;
  int reader_[ir::graph::max_nodes]{};  // + 1: a loop group that reads this memory in order

  constexpr void place(int id) {
    const ir::node& n = g_[id];
    const op_kind kind = info(n.code).kind;
    if (views_.of[id].base != id) note_barrier(id);
    if (views_.of[id].base != id || is_source(n.code)) return;
    if (n.code == op::result_of) {  // a value of the step that runs its loop or cond
      out_.group_of[id] = out_.group_of[g_.operand(id, 0)];
      return;
    }
    if (kind == op_kind::elementwise) {
      place_elementwise(id);
    } else if (is_fused_reduction(id)) {
      place_reduction(id);
    } else if (n.code == op::dot) {
      make_dot_operands_regular(id);
      place_alone(id, group_kind::dot, n.type.dims);
    } else if (kind == op_kind::shape && n.code != op::pad && n.code != op::concatenate) {
      place_alone(id, group_kind::copy, g_.type(g_.operand(id, 0)).dims);
      note_copy(id, views_.of[g_.operand(id, 0)]);
    } else {
      if (n.code != op::pad && n.code != op::concatenate) make_operands_contiguous(id);
      place_alone(id, group_kind::opaque, n.type.dims);
    }
  }

  // A view of a value behind a barrier is behind it too.
  constexpr void note_barrier(int id) {
    if (g_.num_scopes == 0) return;
    not_before_[id] = g_[id].code == op::barrier ? static_cast<int>(g_.attribute(id))
                                                 : not_before_[g_.operand(id, 0)];
  }
  int not_before_[ir::graph::max_nodes]{};
  [[nodiscard]] constexpr int not_before(int id) const {
    int out = 0;
    for (int i = 0; g_.num_scopes > 0 && i < g_[id].num_operands; ++i) {
      const int bound = not_before_[g_.operand(id, i)];
      if (bound > out) out = bound;
    }
    return out;
  }

  constexpr void make_operands_contiguous(int id) {
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const int x = g_.operand(id, i);
      const op base = g_[views_.of[x].base].code;
      const bool has_memory = base != op::constant && base != op::iota;
      if (!has_memory || !is_contiguous(views_.of[x], g_.type(x).dims)) copy_operand(x);
    }
  }

  [[nodiscard]] constexpr bool is_fused_reduction(int id) const {
    const op code = g_[id].code;
    return code == op::reduce_sum || code == op::reduce_prod || code == op::reduce_max ||
           code == op::reduce_min;
  }

  [[nodiscard]] constexpr int level_above(int node) const {
    const int from = out_.of(node);
    return from < 0 ? 0 : out_.groups[from].level + 1;
  }

  constexpr int new_group(group_kind kind, const shape& domain, int lead, int level) {
    group& made = out_.groups[out_.num_groups];
    made.kind = kind;
    made.domain = domain;
    made.lead = lead;
    made.level = level;
    made.first = lead;
    return out_.num_groups++;
  }

  constexpr void place_alone(int id, group_kind kind, const shape& domain) {
    int level = 0;
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const int base = views_.of[g_.operand(id, i)].base;
      const int above = level_above(base);
      if (above > level) level = above;
      mark_read(base);
    }
    const int made = new_group(kind, domain, id, level);
    out_.group_of[id] = made + 1;
    out_.groups[made].num_members = 1;
  }

  constexpr void mark_read(int base) {
    const int from = out_.of(base);
    if (from >= 0) out_.groups[from].is_read = true;
  }

  // Can a node of shape `dims`, seeing `v`, take its value from inside the group?
  [[nodiscard]] constexpr bool reads_inside(int id_group, const view& v, const shape& dims) const {
    const group& in = out_.groups[id_group];
    if (in.kind != group_kind::loop && in.kind != group_kind::dot) return false;
    if (in.num_members >= max_group_members || in.num_inputs >= max_group_inputs) return false;
    if (out_.after[v.base]) return false;
    const bool whole = dims == in.domain;
    if (!out_.per_row[v.base]) return whole && is_contiguous(v, dims);
    if (!whole) return is_row_shape(dims, in.domain) && is_contiguous(v, dims);
    return is_row_value(v, dims);
  }

  // The view repeats one value along the last axis and walks the rows in order.
  [[nodiscard]] static constexpr bool is_row_value(const view& v, const shape& dims) {
    if (v.offset != 0) return false;
    std::int64_t step = 1;
    for (int i = dims.rank - 1; i >= 0; --i) {
      if (dims[i] != 1 && v.strides[i] != (i == dims.rank - 1 ? 0 : step)) return false;
      if (i != dims.rank - 1) step *= dims[i];
    }
    return true;
  }

  constexpr void place_elementwise(int id) {
    const shape& dims = g_[id].type.dims;
    int best = -1;
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const view& v = views_.of[g_.operand(id, i)];
      const int from = out_.of(v.base);
      if (from < 0 || !reads_inside(from, v, dims)) continue;
      if (out_.groups[from].first < not_before(id)) continue;
      if (best < 0 || out_.groups[from].level > out_.groups[best].level) best = from;
    }
    if (best >= 0) best = settle(id, best);
    if (best < 0) best = join_reader(id);
    if (best < 0) {
      int level = 0;
      for (int i = 0; i < g_[id].num_operands; ++i) {
        const int above = level_above(views_.of[g_.operand(id, i)].base);
        if (above > level) level = above;
      }
      best = new_group(group_kind::loop, dims, id, level);
    }
    join(id, best);
  }

  // Makes all other operands come from below `best`: by merging groups of one level, or by moving
  // a group up that nobody reads yet. Returns the group, or -1.
  constexpr int settle(int id, int best) {
    const shape& dims = g_[id].type.dims;
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const view& v = views_.of[g_.operand(id, i)];
      const int from = out_.of(v.base);
      best = out_.find(best);
      if (from < 0 || from == best) {
        if (from == best && !reads_inside(best, v, dims)) return -1;
        continue;
      }
      group& target = out_.groups[best];
      const group& other = out_.groups[from];
      if (other.level < target.level) continue;
      if (other.level == target.level && reads_inside(from, v, dims) && merge(from, best)) continue;
      if (target.is_read) return -1;
      target.level = other.level + 1;
    }
    best = out_.find(best);
    return out_.groups[best].first < not_before(id) ? -1 : best;
  }

  constexpr bool merge(int from, int into) {
    group& a = out_.groups[from];
    group& b = out_.groups[into];
    if (!(a.domain == b.domain)) return false;
    if (a.first < b.not_before || b.first < a.not_before) return false;
    if (a.num_members + b.num_members >= max_group_members) return false;
    if (a.num_inputs + b.num_inputs >= max_group_inputs) return false;
    const bool any_dot = a.kind == group_kind::dot || b.kind == group_kind::dot;
    const bool any_reduction =
        a.has_row_reduce || b.has_row_reduce || a.has_partial || b.has_partial;
    if (any_dot && (a.kind == b.kind || any_reduction)) return false;
    if (a.kind == group_kind::dot) {
      b.kind = group_kind::dot;
      b.lead = a.lead;
    }
    b.num_members += a.num_members;
    b.num_inputs += a.num_inputs;
    b.has_row_reduce |= a.has_row_reduce;
    b.has_partial |= a.has_partial;
    b.is_read |= a.is_read;
    if (a.first < b.first) b.first = a.first;
    if (a.not_before > b.not_before) b.not_before = a.not_before;
    a.parent = into + 1;
    return true;
  }

  // A loop over the same shape that reads one of the operands anyway, high enough for all of them.
  constexpr int join_reader(int id) {
    const bool reduces = info(g_[id].code).kind == op_kind::reduction;
    const shape& dims = reduces ? g_.type(g_.operand(id, 0)).dims : g_[id].type.dims;
    int level = 0;
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const int above = level_above(views_.of[g_.operand(id, i)].base);
      if (above > level) level = above;
    }
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const view& v = views_.of[g_.operand(id, i)];
      if (reader_[v.base] == 0) continue;
      const int found = out_.find(reader_[v.base] - 1);
      const group& candidate = out_.groups[found];
      if (candidate.kind != group_kind::loop || candidate.level < level) continue;
      if (candidate.first < not_before(id)) continue;
      if (!(candidate.domain == dims) || !is_contiguous(v, dims)) continue;
      if (candidate.num_members >= max_group_members) continue;
      if (candidate.num_inputs >= max_group_inputs) continue;
      return found;
    }
    return -1;
  }

  constexpr void join(int id, int into) {
    group& target = out_.groups[into];
    out_.group_of[id] = into + 1;
    ++target.num_members;
    if (const int bound = not_before(id); bound > target.not_before) target.not_before = bound;
    const bool reduces = info(g_[id].code).kind == op_kind::reduction;
    const shape& dims = reduces ? g_.type(g_.operand(id, 0)).dims : g_[id].type.dims;
    if (!reduces) out_.per_row[id] = !(dims == target.domain);
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const view& v = views_.of[g_.operand(id, i)];
      const int from = out_.of(v.base);
      if (from == into || g_[v.base].code == op::constant) continue;
      ++target.num_inputs;
      mark_read(v.base);
      if (target.kind == group_kind::loop && is_contiguous(v, dims)) reader_[v.base] = into + 1;
    }
  }

  // Reductions: along the last axis a row's value; over other axes, or over all, a partial result.
  // passes/expand.hpp has split those that mix the last axis with some others.
  constexpr void place_reduction(int id) {
    const int x = g_.operand(id, 0);
    const view& v = views_.of[x];
    const shape& dims = g_.type(x).dims;
    const std::int64_t mask = g_.attribute(id);
    const bool along_row = is_row_reduction(mask, dims);
    const int from = out_.of(v.base);
    int target = -1;
    if (from >= 0 && out_.groups[from].kind == group_kind::loop && !out_.per_row[v.base] &&
        dims == out_.groups[from].domain && reads_inside(from, v, dims) &&
        out_.groups[from].first >= not_before(id)) {
      target = from;
    }
    if (target < 0) target = join_reader(id);
    if (target < 0) target = new_group(group_kind::loop, dims, id, level_above(v.base));
    join(id, target);
    if (along_row) {
      out_.groups[target].has_row_reduce = true;
      out_.per_row[id] = true;
    } else {
      out_.groups[target].has_partial = true;
      out_.after[id] = true;
    }
  }

 public:
  /// A vector is a row of its own unless it is long enough to be worth several threads.
  [[nodiscard]] static constexpr bool is_row_reduction(std::int64_t mask, const shape& dims) {
    constexpr std::int64_t long_row = 1 << 16;
    return dims.rank > 0 && mask == (std::int64_t{1} << (dims.rank - 1)) &&
           (dims.rank > 1 || dims[0] <= long_row);
  }

 private:
  // The contracted axes of both operands must be one axis in memory; else the operand is copied.
  constexpr void make_dot_operands_regular(int id) {
    const auto axes = ir::dot_axes::unpacked(g_.attributes_of(id));
    const int lhs = g_.operand(id, 0);
    const int rhs = g_.operand(id, 1);
    const bool lhs_regular = contracts_regularly(lhs, axes.lhs_contract, axes.num_contract);
    const bool rhs_regular = contracts_regularly(rhs, axes.rhs_contract, axes.num_contract);
    if (!lhs_regular) copy_operand(lhs);
    if (!rhs_regular) copy_operand(rhs);
  }
  [[nodiscard]] constexpr bool contracts_regularly(int x, const int* axes, int count) const {
    const view& v = views_.of[x];
    const op base = g_[v.base].code;
    if (base == op::constant || base == op::iota) return false;  // they have no memory
    std::int64_t expected = -1;
    for (int i = count - 1; i >= 0; --i) {
      const std::int64_t size = g_.type(x).dims[axes[i]];
      if (size == 1) continue;
      if (expected >= 0 && v.strides[axes[i]] != expected) return false;
      expected = v.strides[axes[i]] * size;
    }
    return true;
  }
  constexpr void copy_operand(int x) {
    const view from = views_.of[x];
    const int made = new_group(group_kind::copy, g_.type(x).dims, x, level_above(from.base));
    mark_read(from.base);
    out_.group_of[x] = made + 1;
    out_.groups[made].num_members = 1;
    views_.of[x] = contiguous_view(x, g_.type(x).dims);
    note_copy(x, from);
  }
  constexpr void note_copy(int x, const view& from) {
    out_.copy_of[x] = ++out_.num_copies;
    out_.copies[out_.num_copies] = from;
  }
};

}  // namespace detail

/// Assigns every node that computes to a group. Some operands of dots become copies of themselves:
/// their views change. Cost: O(nodes + edges).
constexpr void make_groups(const ir::graph& g, layout& views, grouping& out) {
  detail::grouper(g, views, out).run();
}

}  // namespace atled::passes
