// atled/passes/join_regions.hpp: loops of one region become one loop, which carries, keeps and
// computes only what is needed; branches alike. Reads: passes/rewrite.hpp, passes/jvp_regions.hpp.
// Called before and after passes/simplify.hpp, where a graph has regions.
//
// A loop, the loop of its tangents and the loop that keeps values for the reverse loop share what
// they bind. They are joined unless one of them begins with what another gives (a tangent at a
// result, say): then each runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/jvp_regions.hpp"
#include "atled/passes/rewrite.hpp"

namespace atled::passes {
namespace detail {

/// Copies what the outputs depend on, result by result, each operand before its use.
class region_joiner {
 public:
  constexpr region_joiner(const ir::graph& from, ir::builder& into) : g_(from), b_(into) {}

  constexpr void run() {
    copy_names(g_, b_);
    find_teams();
    for (int i = 0; i < g_.num_outputs; ++i) need(g_.outputs[i]);
    while (num_stack_ > 0) mark(stack_[--num_stack_]);
    for (int i = 0; i < g_.num_parameters; ++i) {
      b_.site = g_[g_.parameters[i]].at;
      place_[g_.parameters[i]] = b_.parameter(g_.type(g_.parameters[i])) + 1;
    }
    for (int i = 0; i < g_.num_outputs; ++i) {
      place(g_.outputs[i]);
      b_.g.outputs[b_.g.num_outputs++] = placed(g_.outputs[i]);
    }
    b_.scope = 0;
  }

 private:
  const ir::graph& g_;
  ir::builder& b_;

  // Loops that become one: the first of them stands for all, the others follow in a list.
  int team_[ir::graph::max_nodes]{};        // of a loop or cond: its first + 1
  int next_[ir::graph::max_nodes]{};        // + 1: the one after it in its team
  int last_[ir::graph::max_nodes]{};        // of a first: the last of its team
  int next_value_[ir::graph::max_nodes]{};  // of a carry: its value after a trip + 1
  bool live_[ir::graph::max_nodes]{};
  int place_[ir::graph::max_nodes]{};  // in the new graph, + 1
  int seen_[ir::graph::max_nodes]{};   // the last count of `stamp_`
  int stamp_ = 0;
  int stack_[2 * ir::graph::max_nodes]{};
  int num_stack_ = 0;

  struct live_result {
    int node;   // of a loop: what its row is; of a cond: the cond
    int index;  // of a cond: which of its results
    int next;   // + 1: the next of the same team
    int place;  // among the results of the new loop or cond
  };
  live_result results_[ir::graph::max_outputs]{};
  int num_results_ = 0;
  int first_result_[ir::graph::max_nodes]{};  // of a team: + 1
  int last_result_[ir::graph::max_nodes]{};

  // --- teams -----------------------------------------------------------------------------------

  // A member begins with what an earlier one gives if it depends on its region's results. The
  // regions that a node depends on are a mask by their number; a false hit costs a loop of its own.
  constexpr void find_teams() {
    std::uint64_t after[ir::graph::max_nodes]{};
    int newest[ir::graph::max_nodes]{};  // of a region: the first of its newest team + 1
    bool reached[ir::graph::max_nodes]{};
    for (int i = 0; i < g_.num_outputs; ++i) reached[g_.outputs[i]] = true;
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      for (int i = 0; reached[id] && i < g_[id].num_operands; ++i)
        reached[g_.operand(id, i)] = true;
    }
    for (int id = 0; id < g_.num_nodes; ++id) {
      if (!reached[id]) continue;
      const ir::node& n = g_[id];
      for (int i = 0; i < n.num_operands; ++i) after[id] |= after[g_.operand(id, i)];
      if (!has_regions(n.code)) continue;
      const std::int64_t region = g_.attribute(id, 0);
      const std::uint64_t own = std::uint64_t{1} << (region % 64);
      int& first = newest[region];
      if (first == 0 || (after[id] & own) != 0) {
        first = id + 1;
      } else {
        next_[last_[first - 1]] = id + 1;
      }
      last_[first - 1] = id;
      team_[id] = first;
      after[id] |= own;
      if (n.code == op::loop) note_carries(id);
    }
  }
  constexpr void note_carries(int id) {
    const auto loop = ir::loop_parts::of(g_, id);
    for (int i = 0; i < loop.num_carries; ++i) {
      next_value_[loop.carry(i)] = loop.result(i) + 1;
    }
  }
  /// A carry that stays what it begins as.
  [[nodiscard]] constexpr bool is_constant(int carry) const {
    const int next = next_value_[carry] - 1;
    return next == carry || next == g_.operand(carry, 0);
  }

  // --- what is needed --------------------------------------------------------------------------

  constexpr void need(int id) {
    if (id < 0 || live_[id]) return;
    live_[id] = true;
    stack_[num_stack_++] = id;
  }
  constexpr void mark(int id) {
    switch (g_[id].code) {
      case op::carry:
        need(g_.operand(id, 0));
        if (!is_constant(id)) need(next_value_[id] - 1);
        return;
      case op::result_of:
        mark_result(g_.operand(id, 0), static_cast<int>(g_.attribute(id)));
        return;
      default:
        for (int i = 0; i < g_[id].num_operands; ++i) need(g_.operand(id, i));
    }
  }
  constexpr void mark_result(int of, int index) {
    const int first = team_[of] - 1;
    if (g_[of].code == op::loop) {
      const auto loop = ir::loop_parts::of(g_, of);
      if (index < loop.num_carries) {
        need(loop.carry(index));
        if (is_constant(loop.carry(index))) return;
      } else {
        need(loop.result(index));
        add_result(first, loop.result(index), 0);
      }
      need(loop.count());
      need(loop.predicate());
      return;
    }
    const auto cond = ir::cond_parts::of(g_, of);
    need(cond.index());
    for (int branch = 0; branch < cond.num_branches; ++branch) need(cond.result(branch, index));
    add_result(first, of, index);
  }
  constexpr void add_result(int first, int node, int index) {
    if (find_result(first, node, index) >= 0) return;
    results_[num_results_++] = {node, index, 0, 0};
    if (first_result_[first] == 0) {
      first_result_[first] = num_results_;
    } else {
      results_[last_result_[first]].next = num_results_;
    }
    last_result_[first] = num_results_ - 1;
  }
  [[nodiscard]] constexpr int find_result(int first, int node, int index) const {
    for (int i = first_result_[first] - 1; i >= 0; i = results_[i].next - 1) {
      if (results_[i].node == node && results_[i].index == index) return i;
    }
    return -1;
  }

  // --- copying ---------------------------------------------------------------------------------

  [[nodiscard]] constexpr int placed(int id) const { return id < 0 ? id : place_[id] - 1; }

  template <class Fn>
  constexpr void for_each_of_loop(int first, Fn&& fn) const {
    for (int id = first; id >= 0; id = next_[id] - 1) {
      const auto loop = ir::loop_parts::of(g_, id);
      for (int i = 0; i < loop.num_carries; ++i) {
        if (!live_[loop.carry(i)]) continue;
        fn(loop.carry(i));
        if (!is_constant(loop.carry(i))) fn(loop.result(i));
      }
      for (int i = 0; i < loop.num_items; ++i) {
        if (live_[loop.item(i)]) fn(loop.item(i));
      }
      if (loop.count() >= 0) fn(loop.count());
      if (loop.predicate() >= 0) fn(loop.predicate());
    }
    for (int i = first_result_[first] - 1; i >= 0; i = results_[i].next - 1) fn(results_[i].node);
  }
  template <class Fn>
  constexpr void for_each_of_cond(int first, Fn&& fn) const {
    fn(ir::cond_parts::of(g_, first).index());
    for (int i = first_result_[first] - 1; i >= 0; i = results_[i].next - 1) {
      const auto cond = ir::cond_parts::of(g_, results_[i].node);
      for (int k = 0; k < cond.num_branches; ++k) fn(cond.result(k, results_[i].index));
    }
  }

  /// Calls `fn` for all that must be placed before `id`; a team is placed as its first.
  template <class Fn>
  constexpr void for_each_dependence(int id, Fn&& fn) const {
    switch (g_[id].code) {
      case op::result_of: {
        const int of = g_.operand(id, 0);
        if (g_[of].code == op::loop && g_.attribute(id) < g_.attribute(of, 4)) {
          const int carry = g_.operand(of, static_cast<int>(g_.attribute(id)));
          if (is_constant(carry)) return fn(g_.operand(carry, 0));
        }
        return fn(team_[of] - 1);
      }
      case op::loop:
        return for_each_of_loop(id, fn);
      case op::cond:
        return for_each_of_cond(id, fn);
      default:
        for (int i = 0; i < g_[id].num_operands; ++i) fn(g_.operand(id, i));
    }
  }
  // Depth first, with a stack of its own: a node is pushed again below what it waits for.
  constexpr void place(int root) {
    if (root < 0) return;
    stack_[num_stack_++] = root;
    while (num_stack_ > 0) {
      const int id = stack_[num_stack_ - 1];
      bool is_ready = true;
      if (place_[id] == 0) {
        for_each_dependence(id, [&](int x) {
          if (place_[x] != 0) return;
          stack_[num_stack_++] = x;
          is_ready = false;
        });
        if (is_ready) place_at_home(id);
      }
      if (is_ready) --num_stack_;
    }
  }

  constexpr void place_at_home(int id) {
    const ir::node& n = g_[id];
    b_.site = n.at;
    b_.scope = n.scope;
    place_[id] = copy(id) + 1;
    if (n.home != n.scope) b_.move_home(place_[id] - 1, n.scope, n.home);
  }
  constexpr int copy(int id) {
    switch (g_[id].code) {
      case op::carry:
        if (is_constant(id)) return placed(g_.operand(id, 0));
        break;
      case op::loop:
        return copy_loop(id);
      case op::cond:
        return copy_cond(id);
      case op::result_of:
        return copy_result(id);
      default:
        break;
    }
    moving_node moving{};
    moving.code = g_[id].code;
    moving.num_operands = g_[id].num_operands;
    moving.type = g_.type(id);
    for (int i = 0; i < moving.num_operands; ++i) moving.operands[i] = placed(g_.operand(id, i));
    moving.attributes = g_.attributes_of(id);
    return keep(b_, moving);
  }

  /// Calls `fn` once for each live carry, or item, of a team.
  template <class Fn>
  constexpr void for_each_bound(int first, op code, Fn&& fn) {
    ++stamp_;
    for (int id = first; id >= 0; id = next_[id] - 1) {
      const auto loop = ir::loop_parts::of(g_, id);
      for (int i = 0; i < loop.num_carries + loop.num_items; ++i) {
        const int x = loop.carry(i);
        if (g_[x].code != code || !live_[x] || seen_[x] == stamp_) continue;
        seen_[x] = stamp_;
        fn(x);
      }
    }
  }

  constexpr int copy_loop(int first) {
    const auto like = ir::loop_parts::of(g_, first);
    ir::operand_list operands{};
    ir::operand_list next{};
    int carries = 0;
    int items = 0;
    int ys = 0;
    for_each_bound(first, op::carry, [&](int carry) {
      if (is_constant(carry)) return;
      operands.push(placed(carry));
      next.push(placed(next_value_[carry] - 1));
      ++carries;
    });
    for_each_bound(first, op::item, [&](int item) {
      operands.push(placed(item));
      ++items;
    });
    if (like.count() >= 0) operands.push(placed(like.count()));
    if (like.predicate() >= 0) operands.push(placed(like.predicate()));
    for (int i = 0; i < next.size; ++i) operands.push(next.values[i]);
    for (int i = first_result_[first] - 1; i >= 0; i = results_[i].next - 1) {
      operands.push(placed(results_[i].node));
      results_[i].place = carries + ys++;
    }
    return ir::make_loop(b_, like.region, like.depth, like.trips, like.flags, carries, items, ys,
                         operands);
  }
  constexpr int copy_cond(int first) {
    const auto like = ir::cond_parts::of(g_, first);
    ir::operand_list operands{};
    operands.push(placed(like.index()));
    int results = 0;
    for (int branch = 0; branch < like.num_branches; ++branch) {
      results = 0;
      for (int i = first_result_[first] - 1; i >= 0; i = results_[i].next - 1) {
        const auto cond = ir::cond_parts::of(g_, results_[i].node);
        operands.push(placed(cond.result(branch, results_[i].index)));
        results_[i].place = results++;
      }
    }
    return ir::make_cond(b_, like.region, like.depth, like.num_branches, results, operands);
  }

  constexpr int copy_result(int id) {
    const int of = g_.operand(id, 0);
    const int first = team_[of] - 1;
    const auto index = static_cast<int>(g_.attribute(id));
    const int made = placed(first);
    if (g_[of].code == op::cond) {
      return b_.result_of(made, results_[find_result(first, of, index)].place);
    }
    const auto loop = ir::loop_parts::of(g_, of);
    if (index >= loop.num_carries) {
      return b_.result_of(made, results_[find_result(first, loop.result(index), 0)].place);
    }
    const int carry = loop.carry(index);
    if (is_constant(carry)) return placed(g_.operand(carry, 0));
    const auto joined = ir::loop_parts::of(b_.g, made);
    int place = 0;
    while (joined.carry(place) != placed(carry)) ++place;
    return b_.result_of(made, place);
  }
};

}  // namespace detail

/// Copies a graph with regions into an empty builder.
///
/// Post: the outputs have the values they had; a region has one loop or cond, but for those that
/// wait for each other; nothing is carried, kept or computed inside that is not needed; a carry
/// that does not change is read where it is. Cost: O(nodes + edges).
constexpr void join_regions(const ir::graph& from, ir::builder& into) {
  detail::region_joiner(from, into).run();
}

}  // namespace atled::passes
