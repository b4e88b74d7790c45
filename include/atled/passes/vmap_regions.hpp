// atled/passes/vmap_regions.hpp: loops and branches on many lanes at once.
// Reads: passes/lanes.hpp, ir/regions.hpp. Called by passes/vmap.hpp.
//
//   a loop whose number of trips is the same in all lanes      one loop, mapped carries where
//   needed a loop whose lanes end on their own                        runs until the last has
//   ended; lanes
//                                                              that have ended keep their carries
//   a cond whose branch is the same in all lanes               one cond
//   a cond whose lanes take branches of their own              all branches, and a selection; a
//   loop
//                                                              inside runs for the lanes in it only
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/lanes.hpp"

namespace atled::passes::detail {

class lane_regions {
 public:
  /// Finds out which nodes from `first` to `last` will be mapped, also around loops.
  ///
  /// Cost: O(edges), again for each loop whose carry becomes mapped on its way.
  template <class IsNeeded>
  constexpr void find(const ir::graph& g, const ids& inputs, int first, int last, int axis,
                      std::int64_t size, const IsNeeded& is_needed) {
    first_ = first;
    size_ = size;
    for (const int id : inputs) {
      if (id >= first && id <= last) mapped_[id - first] = true;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (int id = first; id <= last; ++id) {
        if (!is_needed(id)) continue;
        if (!is_mapped(id) && depends_on_lane(g, id, axis)) mapped_[id - first] = true;
        if (g[id].code == op::loop) changed = note_loop(g, id) || changed;
        if (g[id].code == op::cond) changed = note_cond(g, id) || changed;
      }
    }
    for (int id = first; id <= last; ++id) {
      if (is_needed(id)) note_guard(g, id);
    }
  }

  /// What takes the place of a node of op_kind::region. `at(x)` is what `x` has become.
  template <class At>
  constexpr lane_value rule(ir::builder& b, int z, const At& at) {
    const std::int64_t region = b.g.attribute(z, 0);
    const int x = b.g[z].num_operands > 0 ? b.g.operand(z, 0) : ir::no_node;
    switch (b.g[z].code) {
      case op::carry:
        return {b.bound(op::carry, is_mapped(z) ? in_front(b, at(x)) : at(x).id, moved(b, region),
                        b.g.attribute(z, 1)),
                is_mapped(z)};
      case op::item: {
        const lane_value stack = at(x);
        const int rows = stack.is_mapped ? moved_axis(b, stack.id, 1, 0) : stack.id;
        return {b.bound(op::item, rows, moved(b, region), b.g.attribute(z, 1)), stack.is_mapped};
      }
      case op::enter: {
        const lane_value outer = at(x);
        if (is_own_[region]) return outer;
        const auto branch = static_cast<int>(b.g.attribute(z, 2));
        return {b.enter(outer.id, moved(b, region), b.g.attribute(z, 1), branch), outer.is_mapped};
      }
      case op::loop:
        return {loop(b, z, at), false};
      case op::cond:
        if (is_own_[region]) return at(ir::cond_parts::of(b.g, z).index());
        return {cond(b, z, at), false};
      default:
        return result(b, z, x, at);
    }
  }

 private:
  struct guard {
    std::int64_t region;
    std::int64_t branch;  // -1: a loop
    std::int64_t depth;
    int parent;  // + 1
  };
  static constexpr int max_guards = 1 << 10;

  int first_ = 0;
  std::int64_t size_ = 0;
  bool mapped_[ir::graph::max_nodes]{};   // at id - first
  int guard_of_[ir::graph::max_nodes]{};  // at id - first: + 1
  guard guards_[max_guards]{};
  int num_guards_ = 0;
  // By the number of a region:
  bool is_own_[ir::graph::max_nodes]{};    // lanes end, or take branches, on their own
  int node_of_[ir::graph::max_nodes]{};    // its loop or cond
  int region_of_[ir::graph::max_nodes]{};  // the region that takes its place
  int trip_of_[ir::graph::max_nodes]{};    // of a counted loop: the number of the trip + 1

  [[nodiscard]] constexpr bool is_mapped(int id) const {
    return id >= first_ && mapped_[id - first_];
  }

  [[nodiscard]] constexpr bool depends_on_lane(const ir::graph& g, int id, int axis) const {
    const op code = g[id].code;
    if (code == op::custom_linear) return true;  // what its pullback has kept may be
    if (is_collective(code) && g.attribute(id) == axis) {
      return code != op::psum && code != op::pmax && code != op::pmin && code != op::all_gather &&
             code != op::axis_size;
    }
    if (code == op::result_of) {
      const int of = g.operand(id, 0);
      const auto i = static_cast<int>(g.attribute(id));
      if (is_own_[g.attribute(of, 0)]) return true;
      if (g[of].code == op::loop) {
        const auto loop = ir::loop_parts::of(g, of);
        return is_mapped(loop.result(i)) || (i < loop.num_carries && is_mapped(loop.carry(i)));
      }
      const auto cond = ir::cond_parts::of(g, of);
      for (int branch = 0; branch < cond.num_branches; ++branch) {
        if (is_mapped(cond.result(branch, i))) return true;
      }
      return false;
    }
    for (int i = 0; i < g[id].num_operands; ++i) {
      if (is_mapped(g.operand(id, i))) return true;
    }
    return false;
  }
  constexpr bool note_loop(const ir::graph& g, int id) {
    const auto loop = ir::loop_parts::of(g, id);
    const bool was_own = is_own_[loop.region];
    const bool is_own = (loop.predicate() >= 0 && is_mapped(loop.predicate())) ||
                        (loop.count() >= 0 && is_mapped(loop.count()));
    is_own_[loop.region] = was_own || is_own;
    node_of_[loop.region] = id;
    bool changed = is_own && !was_own;
    for (int i = 0; i < loop.num_carries; ++i) {
      const int carry = loop.carry(i);
      if (is_mapped(carry) || !(is_own_[loop.region] || is_mapped(loop.result(i)))) continue;
      mapped_[carry - first_] = true;
      changed = true;
    }
    return changed;
  }
  constexpr bool note_cond(const ir::graph& g, int id) {
    const auto cond = ir::cond_parts::of(g, id);
    node_of_[cond.region] = id;
    if (is_own_[cond.region] || !is_mapped(cond.index())) return false;
    is_own_[cond.region] = true;
    return true;
  }

  // --- which lanes are inside ------------------------------------------------------------------

  [[nodiscard]] constexpr int guard_at(int id) const {
    return id >= first_ ? guard_of_[id - first_] - 1 : -1;
  }
  [[nodiscard]] constexpr int deeper(int a, int b) const {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return guards_[a].depth >= guards_[b].depth ? a : b;
  }
  constexpr void note_guard(const ir::graph& g, int id) {
    int out = -1;
    for (int i = 0; i < g[id].num_operands; ++i) out = deeper(out, guard_at(g.operand(id, i)));
    if (is_bound(g[id].code) && is_own_[g.attribute(id, 0)]) {
      out = find_guard(g.attribute(id, 0), g[id].code == op::enter ? g.attribute(id, 2) : -1,
                       g.attribute(id, 1), out);
    } else if (has_regions(g[id].code)) {
      while (out >= 0 && guards_[out].depth >= g.attribute(id, 1)) out = guards_[out].parent - 1;
    }
    guard_of_[id - first_] = out + 1;
  }
  constexpr int find_guard(std::int64_t region, std::int64_t branch, std::int64_t depth,
                           int parent) {
    int out = 0;
    while (out < num_guards_ && (guards_[out].region != region || guards_[out].branch != branch)) {
      ++out;
    }
    if (out == num_guards_) guards_[num_guards_++] = {region, branch, depth, 0};
    guards_[out].parent = deeper(guards_[out].parent - 1, parent) + 1;
    return out;
  }

  /// A boolean for each lane that is inside of a guard, and of those around it; no node for all.
  template <class At>
  constexpr int lanes_inside(ir::builder& b, int index, const At& at) {
    int out = ir::no_node;
    for (; index >= 0; index = guards_[index].parent - 1) {
      const guard& here = guards_[index];
      const int mask = here.branch < 0 ? active_lanes(b, node_of_[here.region], at)
                                       : lanes_in_branch(b, here, at);
      if (mask == ir::no_node) continue;
      out = out == ir::no_node ? mask : b.binary(op::bit_and, out, mask);
    }
    return out;
  }
  template <class At>
  constexpr int lanes_in_branch(ir::builder& b, const guard& here, const At& at) {
    const auto cond = ir::cond_parts::of(b.g, node_of_[here.region]);
    const int index = at(cond.index()).id;
    if (index < 0) return ir::poison;
    if (b.type(index).element == dtype::boolean) {
      return here.branch == 1 ? index : b.unary(op::logical_not, index);
    }
    const int number =
        b.broadcast(b.integer_constant(here.branch, dtype::i32), b.type(index).dims, 0);
    const op compare = here.branch == 0                       ? op::le
                       : here.branch == cond.num_branches - 1 ? op::ge
                                                              : op::eq;
    return b.binary(compare, index, number);
  }
  /// The lanes that have not ended, as far as the loop itself decides.
  template <class At>
  constexpr int active_lanes(ir::builder& b, int z, const At& at) {
    const auto loop = ir::loop_parts::of(b.g, z);
    if (loop.predicate() >= 0) {
      const lane_value predicate = at(loop.predicate());
      return predicate.is_mapped ? predicate.id : ir::no_node;
    }
    const lane_value count = at(loop.count());
    if (!count.is_mapped) return ir::no_node;
    return b.binary(op::lt, repeated(b, trip_number(b, z), size_), count.id);
  }
  // Rows are counted by an item, since a reversed loop begins with the last; else by a carry.
  constexpr int trip_number(ir::builder& b, int z) {
    const auto loop = ir::loop_parts::of(b.g, z);
    int& out = trip_of_[loop.region];
    if (out == 0) {
      const int from = loop.trips < 0 ? b.integer_constant(0, dtype::i32)
                                      : b.iota({dtype::i32, shape::of({loop.trips})}, 0);
      out =
          b.bound(loop.trips < 0 ? op::carry : op::item, from, moved(b, loop.region), loop.depth) +
          1;
    }
    return out - 1;
  }
  static constexpr int any_of(ir::builder& b, int lanes) {
    if (lanes < 0) return ir::poison;
    const int most = b.reduce(op::reduce_max, b.convert(lanes, dtype::i32), 1);
    return b.binary(op::ne, most, b.integer_constant(0, dtype::i32));
  }

  // --- rules -----------------------------------------------------------------------------------

  constexpr std::int64_t moved(ir::builder& b, std::int64_t region) {
    if (region_of_[region] == 0) region_of_[region] = b.new_region_like(region);
    return region_of_[region];
  }
  [[nodiscard]] constexpr int in_front(ir::builder& b, const lane_value& x) const {
    return x.is_mapped ? x.id : repeated(b, x.id, size_);
  }
  /// `lanes` says for each lane which of the two.
  static constexpr int choose(ir::builder& b, int lanes, int x, int y) {
    if (lanes < 0 || x < 0 || y < 0) return ir::poison;
    return b.select(b.broadcast(lanes, b.type(x).dims, 1), x, y);
  }

  template <class At>
  constexpr int loop(ir::builder& b, int z, const At& at) {
    const auto loop = ir::loop_parts::of(b.g, z);
    const int outside = lanes_inside(b, guard_at(z), at);
    const bool is_own = is_own_[loop.region];
    int active = is_own ? active_lanes(b, z, at) : ir::no_node;
    if (active != ir::no_node && outside != ir::no_node && loop.predicate() >= 0) {
      active = b.binary(op::bit_and, active, outside);
    }
    const bool counts = is_own && loop.count() >= 0 && loop.predicate() < 0;
    const int trip = counts ? trip_number(b, z) : ir::no_node;
    const bool has_counter = counts && loop.trips < 0;
    ir::operand_list operands{};
    for (int i = 0; i < loop.num_carries; ++i) operands.push(at(loop.carry(i)).id);
    if (has_counter) operands.push(trip);
    for (int i = 0; i < loop.num_items; ++i) operands.push(at(loop.item(i)).id);
    if (counts && !has_counter) operands.push(trip);
    if (loop.count() >= 0) {
      const lane_value count = at(loop.count());
      operands.push(count.is_mapped ? b.reduce(op::reduce_max, count.id, 1) : count.id);
    }
    if (loop.predicate() >= 0) operands.push(predicate_of(b, loop, active, outside, at));
    for (int i = 0; i < loop.num_results(); ++i) {
      const bool is_carry = i < loop.num_carries;
      const lane_value value = at(loop.result(i));
      const bool is_wide = is_carry ? is_mapped(loop.carry(i)) : is_own || value.is_mapped;
      int next = is_wide ? in_front(b, value) : value.id;
      if (active != ir::no_node) {
        const int rest = is_carry ? at(loop.carry(i)).id : next < 0 ? next : zeros_like(b, next);
        next = choose(b, active, next, rest);
      }
      operands.push(next);
    }
    if (has_counter && loop.num_ys == 0) {
      operands.push(b.add(trip, b.integer_constant(1, dtype::i32)));
    }
    const int carries = loop.num_carries + (has_counter ? 1 : 0);
    const int items = loop.num_items + (counts && !has_counter ? 1 : 0);
    return ir::make_loop(b, moved(b, loop.region), loop.depth, loop.trips, loop.flags, carries,
                         items, loop.num_ys, operands);
  }
  template <class At>
  constexpr int predicate_of(ir::builder& b, const ir::loop_parts& loop, int active, int outside,
                             const At& at) {
    const lane_value given = at(loop.predicate());
    if (active != ir::no_node) return any_of(b, active);
    const int shared = given.is_mapped ? any_of(b, given.id) : given.id;
    return outside == ir::no_node ? shared : b.binary(op::bit_and, shared, any_of(b, outside));
  }

  template <class At>
  constexpr int cond(ir::builder& b, int z, const At& at) {
    const auto cond = ir::cond_parts::of(b.g, z);
    ir::operand_list operands{};
    operands.push(at(cond.index()).id);
    for (int branch = 0; branch < cond.num_branches; ++branch) {
      for (int i = 0; i < cond.num_results; ++i) {
        const lane_value value = at(cond.result(branch, i));
        operands.push(is_mapped_result(cond, i, at) ? in_front(b, value) : value.id);
      }
    }
    return ir::make_cond(b, moved(b, cond.region), cond.depth, cond.num_branches, cond.num_results,
                         operands);
  }
  template <class At>
  [[nodiscard]] static constexpr bool is_mapped_result(const ir::cond_parts& cond, int i,
                                                       const At& at) {
    for (int branch = 0; branch < cond.num_branches; ++branch) {
      if (at(cond.result(branch, i)).is_mapped) return true;
    }
    return false;
  }

  template <class At>
  constexpr lane_value result(ir::builder& b, int z, int of, const At& at) {
    const auto i = static_cast<int>(b.g.attribute(z));
    const int made = at(of).id;
    if (made < 0) return {ir::poison, true};
    if (b.g[of].code == op::loop) {
      const auto loop = ir::loop_parts::of(b.g, of);
      if (i < loop.num_carries) return {b.result_of(made, i), is_mapped(loop.carry(i))};
      const int extra = ir::loop_parts::of(b.g, made).num_carries - loop.num_carries;
      const int stack = b.result_of(made, i + extra);
      const bool is_wide = is_own_[loop.region] || at(loop.result(i)).is_mapped;
      return {is_wide ? moved_axis(b, stack, 1, 0) : stack, is_wide};
    }
    const auto cond = ir::cond_parts::of(b.g, of);
    if (!is_own_[cond.region]) return {b.result_of(made, i), is_mapped_result(cond, i, at)};
    int out = in_front(b, at(cond.result(cond.num_branches - 1, i)));
    for (int branch = cond.num_branches - 2; branch >= 0; --branch) {
      const int here = in_front(b, at(cond.result(branch, i)));
      if (b.type(made).element == dtype::boolean) {
        out = choose(b, made, out, here);
      } else {
        const int number =
            b.broadcast(b.integer_constant(branch, dtype::i32), b.type(made).dims, 0);
        out = choose(b, b.binary(op::le, made, number), here, out);
      }
    }
    return {out, true};
  }
};

}  // namespace atled::passes::detail
