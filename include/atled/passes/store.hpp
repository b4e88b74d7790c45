// atled/passes/store.hpp: which values leave their kernel through memory, and which are computed
// again where they are needed.
// Reads: passes/group.hpp. Next: passes/home.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/group.hpp"

namespace atled::passes {

/// Values stored to memory, and for each group the nodes of other groups that it computes again.
struct storage {
  static constexpr int max_clones = 1 << 16;
  bool stored[ir::graph::max_nodes];
  bool moved[ir::graph::max_nodes];  ///< stored in memory of another value: see passes/home.hpp
  view home[ir::graph::max_nodes];   ///< where, for the axes of its own shape
  int clones[max_clones];
  int num_clones;
  int clones_begin[grouping::max_groups];
  int clones_end[grouping::max_groups];
  int members[ir::graph::max_nodes];  ///< nodes by group, each group's in ascending order
  int members_begin[grouping::max_groups + 1];
  int by_level[grouping::max_groups];  ///< groups (not merged away), lowest level first
  int num_groups;
};

/// Where a stored node lies, as a walk along the axes of its own shape.
[[nodiscard]] constexpr view place_of(const ir::graph& g, const storage& kept, int id) {
  return kept.moved[id] ? kept.home[id] : detail::contiguous_view(id, g.type(id).dims);
}

namespace detail {

/// Decides group by group, in order of their levels, so that what a group may read is settled.
class storer {
 public:
  constexpr storer(const ir::graph& g, const layout& views, const grouping& groups, storage& out)
      : g_(g), views_(views), groups_(groups), out_(out) {}

  constexpr void run() {
    list_members();
    sort_by_level();
    mark_hard_uses();
    for (int i = 0; i < out_.num_groups; ++i) decide(out_.by_level[i]);
  }

 private:
  const ir::graph& g_;
  const layout& views_;
  const grouping& groups_;
  storage& out_;
  int visited_[64]{};
  int num_visited_ = 0;

  constexpr void list_members() {
    int count[grouping::max_groups + 1]{};
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (const int at = groups_.of(id); at >= 0) ++count[at];
    }
    for (int i = 0; i < groups_.num_groups; ++i) {
      out_.members_begin[i + 1] = out_.members_begin[i] + count[i];
      count[i] = out_.members_begin[i];
    }
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (const int at = groups_.of(id); at >= 0) out_.members[count[at]++] = id;
    }
  }

  constexpr void sort_by_level() {
    int count[grouping::max_groups + 2]{};
    int highest = 0;
    for (int i = 0; i < groups_.num_groups; ++i) {
      if (groups_.groups[i].parent != 0) continue;
      const int level = groups_.groups[i].level;
      ++count[level + 1];
      if (level > highest) highest = level;
      ++out_.num_groups;
    }
    for (int level = 0; level <= highest; ++level) count[level + 1] += count[level];
    for (int i = 0; i < groups_.num_groups; ++i) {
      if (groups_.groups[i].parent != 0) continue;
      out_.by_level[count[groups_.groups[i].level]++] = i;
    }
  }

  constexpr void store(int node) {
    const bool has_memory = !is_source(g_[node].code) || groups_.of(node) >= 0;  // or a copy has
    if (has_memory) out_.stored[node] = true;
  }

  // What products, copies and opaque kernels read must lie in memory; so must outputs.
  constexpr void mark_hard_uses() {
    for (int i = 0; i < groups_.num_groups; ++i) {
      const group& at = groups_.groups[i];
      if (at.parent != 0 || at.kind == group_kind::loop) continue;
      if (at.kind == group_kind::copy) {
        store(groups_.copies[groups_.copy_of[at.lead]].base);
      } else {
        for (int k = 0; k < g_[at.lead].num_operands; ++k) {
          store(views_.of[g_.operand(at.lead, k)].base);
        }
        if (!has_regions(g_[at.lead].code)) continue;
        for (int m = out_.members_begin[i]; m < out_.members_begin[i + 1]; ++m) {
          store(out_.members[m]);
        }
      }
    }
    for (int i = 0; i < g_.num_outputs; ++i) store(views_.of[g_.outputs[i]].base);
  }

  template <class Fn>
  constexpr void for_each_outer_operand(int at, Fn&& fn) {
    for (int m = out_.members_begin[at]; m < out_.members_begin[at + 1]; ++m) {
      const int id = out_.members[m];
      if (groups_.copy_of[id] != 0) continue;
      if (g_[id].code == op::dot) continue;
      for (int k = 0; k < g_[id].num_operands; ++k) {
        const int operand = g_.operand(id, k);
        const int base = views_.of[operand].base;
        if (groups_.of(base) != at) fn(operand, base);
      }
    }
  }

  constexpr void decide(int at) {
    out_.clones_begin[at] = out_.num_clones;
    const group& in = groups_.groups[at];
    if (in.kind == group_kind::loop || in.kind == group_kind::dot) {
      for_each_outer_operand(at, [&](int, int base) {
        if (!is_elementwise(g_[base].code)) store(base);
      });
      for_each_outer_operand(at, [&](int operand, int base) {
        if (!out_.stored[base] && !is_source(g_[base].code) && !clone(at, operand, base)) {
          store(base);
        }
      });
    }
    out_.clones_end[at] = out_.num_clones;
  }

  // Computing `node` again costs nothing in memory if all that it needs is stored anyway; if one
  // new value must be stored in its place, later uses of its neighbours share that value.
  constexpr bool clone(int at, int operand, int node) {
    const group& in = groups_.groups[at];
    if (!can_repeat(in, operand, node)) return false;
    num_visited_ = 0;
    full_leaves_ = 0;
    new_leaves_ = 0;
    cost_ = 0;
    num_leaves_ = 0;
    if (!visit(at, node)) return false;
    if (new_leaves_ > 1 || full_leaves_ > 2 || (new_leaves_ == 1 && full_leaves_ != 1)) {
      return false;
    }
    for (int i = 0; i < num_leaves_; ++i) store(leaves_[i]);
    for (int i = 0; i < num_visited_; ++i) out_.clones[out_.num_clones++] = visited_[i];
    return true;
  }

  static constexpr int most_repeated = 24;
  int full_leaves_ = 0;
  int new_leaves_ = 0;
  int cost_ = 0;
  int leaves_[64]{};
  int num_leaves_ = 0;

  [[nodiscard]] constexpr bool can_repeat(const group& in, int operand, int node) const {
    return is_elementwise(g_[node].code) && g_[node].type.dims == in.domain &&
           is_contiguous(views_.of[operand], in.domain);
  }

  constexpr bool visit(int at, int node) {
    const group& in = groups_.groups[at];
    for (int i = 0; i < num_visited_; ++i) {
      if (visited_[i] == node) return true;
    }
    if (num_visited_ >= most_repeated) return false;
    cost_ += cost_of(g_[node].code);
    if (cost_ > 2 * most_repeated) return false;
    visited_[num_visited_++] = node;
    for (int k = 0; k < g_[node].num_operands; ++k) {
      const int operand = g_.operand(node, k);
      const int base = views_.of[operand].base;
      const op code = g_[base].code;
      if (code == op::constant || code == op::iota || groups_.of(base) == at) continue;
      if (!is_source(code) && !out_.stored[base] && can_repeat(in, operand, base)) {
        if (!visit(at, base)) return false;
        continue;
      }
      if (!add_leaf(base, in)) return false;
    }
    return true;
  }

  constexpr bool add_leaf(int base, const group& in) {
    for (int i = 0; i < num_leaves_; ++i) {
      if (leaves_[i] == base) return true;
    }
    if (num_leaves_ >= 16) return false;
    leaves_[num_leaves_++] = base;
    const bool full = g_[base].type.size() == in.domain.size();
    if (full) ++full_leaves_;
    if (full && !out_.stored[base] && !is_source(g_[base].code)) ++new_leaves_;
    return true;
  }

 public:
  /// Rough cost of an elementwise op, in additions.
  [[nodiscard]] static constexpr int cost_of(op code) {
    switch (code) {
      case op::exp:
      case op::expm1:
      case op::log:
      case op::log1p:
      case op::tanh:
      case op::logistic:
      case op::erf:
      case op::sinh:
      case op::cosh:
        return 8;
      case op::sin:
      case op::cos:
      case op::pow:
      case op::atan2:
      case op::threefry:
      case op::erfc:
      case op::erf_inv:
      case op::cbrt:
        return 24;
      case op::lgamma:
      case op::polygamma:
        return 200;
      case op::div:
      case op::rem:
      case op::sqrt:
      case op::rsqrt:
        return 4;
      default:
        return 1;
    }
  }
};

}  // namespace detail

/// Settles what is stored and what is computed again. Cost: O(nodes + edges), with small constants
/// for the bounded search before each value that crosses groups.
constexpr void choose_storage(const ir::graph& g, const layout& views, const grouping& groups,
                              storage& out) {
  detail::storer(g, views, groups, out).run();
}

}  // namespace atled::passes
