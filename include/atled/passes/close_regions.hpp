// atled/passes/close_regions.hpp: each body becomes a graph of its own, which is planned like a
// program, and each loop or cond one node that takes all it needs as operands.
// Reads: passes/expand.hpp, passes/jvp_regions.hpp. Next: passes/layout.hpp; the bodies are planned
// by transform/program.hpp and run by runtime/regions.hpp.
//
// In a closed graph                                      its bodies are graphs with the parameters
//   loop  begins of carries, stacks, [count],            carries, items, what the body reads
//         what the body reads, what the predicate reads  carries, what the predicate reads
//   cond  index, what branch 0 reads, branch 1 ...       what the branch reads
// The results of a loop or cond are the nodes that follow it, all of them, in order. Views and
// constants are not passed but made inside.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/expand.hpp"
#include "atled/passes/jvp_regions.hpp"
#include "atled/passes/plan.hpp"

namespace atled::passes {

/// A body of a loop (0: its trip, 1: its predicate) or a branch of a cond.
struct region_part {
  int node;
  int part;
};

/// Number of bodies of a loop or cond.
[[nodiscard]] constexpr int num_parts(const ir::graph& g, int id) {
  if (g[id].code == op::cond) return ir::cond_parts::of(g, id).num_branches;
  return ir::loop_parts::of(g, id).predicate() >= 0 ? 2 : 1;
}

namespace detail {

/// Calls `fn` for the results of a body.
template <class Fn>
constexpr void for_each_part_result(const ir::graph& g, const region_part& of, Fn&& fn) {
  if (g[of.node].code == op::cond) {
    const auto cond = ir::cond_parts::of(g, of.node);
    for (int i = 0; i < cond.num_results; ++i) fn(cond.result(of.part, i));
    return;
  }
  const auto loop = ir::loop_parts::of(g, of.node);
  if (of.part == 1) return fn(loop.predicate());
  for (int i = 0; i < loop.num_results(); ++i) fn(loop.result(i));
}

/// Made again inside a body that reads it.
constexpr bool is_made_inside(op code) {
  return code == op::constant || code == op::iota || is_view_op(code);
}

class region_closer {
 public:
  constexpr region_closer(const ir::graph& from, ir::builder& into) : g_(from), b_(into) {
    inside_.extend(from);
  }

  constexpr void close_program() {
    copy_names(g_, b_);
    for (int i = 0; i < g_.num_parameters; ++i) make_parameter(g_.parameters[i]);
    for (int i = 0; i < g_.num_outputs; ++i) output(g_.outputs[i]);
    separate_outputs(b_);
  }

  constexpr void close_part(const region_part& of) {
    copy_names(g_, b_);
    within_ = of.node;
    depth_ = g_.attribute(of.node, 1);
    if (g_[of.node].code == op::loop) {
      const auto loop = ir::loop_parts::of(g_, of.node);
      const int bound = loop.num_carries + (of.part == 0 ? loop.num_items : 0);
      for (int i = 0; i < bound; ++i) make_parameter(loop.carry(i));
    }
    ids read{};
    find_reads(of, read);
    for (const int x : read) make_parameter(x);
    for_each_part_result(g_, of, [&](int x) { output(x); });
    separate_outputs(b_);
  }

 private:
  const ir::graph& g_;
  ir::builder& b_;
  ir::scopes inside_{};
  int within_ = ir::no_node;  // the loop or cond whose body this is
  std::int64_t depth_ = 0;
  int place_[ir::graph::max_nodes]{};  // + 1
  int seen_[ir::graph::max_nodes]{};   // the last count of `stamp_`
  int stamp_ = 0;
  int stack_[2 * ir::graph::max_nodes]{};
  int num_stack_ = 0;

  constexpr void make_parameter(int id) {
    b_.site = g_[id].at;
    place_[id] = b_.parameter(g_.type(id)) + 1;
  }
  constexpr void output(int id) {
    place(id);
    b_.g.outputs[b_.g.num_outputs++] = place_[id] - 1;
  }

  /// The outer values that a body reads, in the order in which a walk from its results finds them.
  constexpr void find_reads(const region_part& of, ids& out) {
    const std::int64_t depth = g_.attribute(of.node, 1);
    const std::int64_t region = g_.attribute(of.node, 0);
    const int bottom = num_stack_;
    ++stamp_;
    const auto visit = [&](int x) {
      if (seen_[x] == stamp_) return;
      seen_[x] = stamp_;
      stack_[num_stack_++] = x;
    };
    for_each_part_result(g_, of, visit);
    while (num_stack_ > bottom) {
      const int id = stack_[--num_stack_];
      const bool is_own = is_bound(g_[id].code) && g_.attribute(id, 0) == region;
      if (is_own && g_[id].code != op::enter) continue;
      if (!inside_.is_within(id, depth) && !is_made_inside(g_[id].code)) {
        out.push(id);
        continue;
      }
      for (int i = 0; i < g_[id].num_operands; ++i) visit(g_.operand(id, i));
    }
  }

  [[nodiscard]] constexpr bool is_entry(int id) const {
    return g_[id].code == op::enter && within_ >= 0 &&
           g_.attribute(id, 0) == g_.attribute(within_, 0);
  }

  template <class Fn>
  constexpr void for_each_dependence(int id, Fn&& fn) {
    if (!has_regions(g_[id].code)) {
      for (int i = 0; i < g_[id].num_operands; ++i) fn(g_.operand(id, i));
      return;
    }
    if (g_[id].code == op::cond) {
      fn(g_.operand(id, 0));
    } else {
      const auto loop = ir::loop_parts::of(g_, id);
      for (int i = 0; i < loop.num_carries + loop.num_items; ++i) {
        fn(g_.operand(loop.carry(i), 0));
      }
      if (loop.count() >= 0) fn(loop.count());
    }
    for (int part = 0; part < num_parts(g_, id); ++part) {
      ids read{};
      find_reads({id, part}, read);
      for (const int x : read) fn(x);
    }
  }

  constexpr void place(int root) {
    stack_[num_stack_++] = root;
    while (num_stack_ > 0) {
      const int id = stack_[num_stack_ - 1];
      bool is_ready = true;
      if (place_[id] == 0) {
        ir::operand_list waits{};
        for_each_dependence(id, [&](int x) {
          if (place_[x] == 0) waits.push(x);
        });
        is_ready = waits.size == 0;
        for (int i = 0; i < waits.size; ++i) stack_[num_stack_++] = waits.values[i];
        if (is_ready) place_[id] = copy(id) + 1;
      }
      if (is_ready) --num_stack_;
    }
  }

  constexpr int copy(int id) {
    b_.site = g_[id].at;
    if (is_entry(id)) return place_[g_.operand(id, 0)] - 1;
    if (g_[id].code == op::result_of) {
      return place_[g_.operand(id, 0)] + static_cast<int>(g_.attribute(id));
    }
    moving_node moving{};
    moving.code = g_[id].code;
    moving.type = g_.type(id);
    const bool closes = has_regions(moving.code);
    if (closes) {
      moving.attributes.push(id);
    } else {
      moving.attributes = g_.attributes_of(id);
      if (moving.code == op::barrier) moving.attributes.values[0] = b_.g.num_nodes;
    }
    for_each_dependence(id, [&](int x) {
      const op from = g_[x].code;
      const bool has_no_memory = closes && (from == op::constant || from == op::iota);
      moving.operands[moving.num_operands++] =
          has_no_memory ? b_.copy(place_[x] - 1) : place_[x] - 1;
    });
    const int out = keep(b_, moving);
    if (!closes) return out;
    const int results = moving.code == op::cond ? ir::cond_parts::of(g_, id).num_results
                                                : ir::loop_parts::of(g_, id).num_results();
    for (int i = 0; i < results; ++i) {
      b_.append(op::result_of, {out}, ir::attribute_list::of(i), ir::result_type(g_, id, i));
    }
    return out;
  }
};

}  // namespace detail

/// The program without its bodies. The attribute of a loop or cond is its node in `from`.
[[nodiscard]] constexpr ir::graph closed_program(const ir::graph& from) {
  ir::builder out;
  detail::region_closer(from, out).close_program();
  return out.g;
}

/// One body. Its outputs are distinct nodes that compute. Cost: O(nodes + edges) of `from`.
[[nodiscard]] constexpr ir::graph closed_part(const ir::graph& from, const region_part& of) {
  ir::builder out;
  detail::region_closer(from, out).close_part(of);
  return out.g;
}

/// A trip writes its carries where it read them, and rows where the stack is.
[[nodiscard]] constexpr donation part_donation(const ir::graph& from, const region_part& of) {
  donation out{};
  const bool is_trip = from[of.node].code == op::loop && of.part == 0;
  int outputs = 0;
  detail::for_each_part_result(from, of, [&](int) { ++outputs; });
  const int carries = is_trip ? ir::loop_parts::of(from, of.node).num_carries : 0;
  for (int i = 0; i < outputs; ++i) out.parameter_of[i] = i < carries ? i : -2;
  return out;
}

}  // namespace atled::passes
