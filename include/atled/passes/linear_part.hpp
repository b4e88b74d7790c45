// atled/passes/linear_part.hpp: a loop or branch that computes values and tangents, taken apart:
// one that keeps the values that the tangents read, and one of the tangents alone, which reads them
// from memory. Reads: passes/cotangents.hpp, passes/jvp_regions.hpp. Next: transpose_regions.hpp.
//
//   loop   c, dc -> f(c), f'(c) dc       becomes       loop   c  -> f(c),      keeping f'(c) as
//   rows
//                                                      loop   dc -> row * dc,  a row each trip
//
// What does not change from trip to trip is not kept but read where it is; nor is a row of a stack
// that is there anyway, nor a view, which is made again from what it is a view of;
// nor what a checkpointed call in the body computes on its way, which each trip computes again.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/cotangents.hpp"
#include "atled/passes/jvp_regions.hpp"

namespace atled::passes::detail {

/// The linear loop or cond, of a region of its own, and the outer linear values that it reads, each
/// through an op::variable.
struct linear_region {
  int node;
  std::int64_t region;
  ids captured;
  ids variables;  ///< of `captured`
};

class linear_splitter {
 public:
  constexpr linear_splitter(ir::builder& b, cotangent_table& table, int z)
      : b_(b), table_(table), z_(z), region_(b.g.attribute(z, 0)), depth_(b.g.attribute(z, 1)) {}

  /// Post: result i of the linear region is the i-th result of z that is linear.
  constexpr void run(linear_region& out) {
    out_ = &out;
    out.region = b_.new_region_like(region_);
    map_region(region_, out.region);
    is_loop_ = b_.g[z_].code == op::loop;
    num_parts_ = is_loop_ ? 1 : ir::cond_parts::of(b_.g, z_).num_branches;
    for (part_ = 0; part_ < num_parts_; ++part_) {
      begins_[part_] = order_.size;
      find_order();
      for (int i = begins_[part_]; i < order_.size; ++i) note_operands(order_[i]);
    }
    begins_[num_parts_] = order_.size;
    const bool is_kept = is_loop_ ? keep_loop() : keep_cond();
    if (!is_kept) {
      out.node = ir::poison;
      return;
    }
    for (part_ = 0; part_ < num_parts_; ++part_) {
      remake();
      for (int i = begins_[part_]; i < begins_[part_ + 1]; ++i) copy_at_depth(order_[i]);
      if (!is_loop_) push_results();
    }
    out.node = is_loop_ ? linear_loop() : linear_cond();
  }

 private:
  static constexpr int max_branches = 64;
  static constexpr int max_inner = 1 << 10;
  struct inner_region {
    int node;
    int begin;  // the first of the nodes that were made for it
    int linear;
  };
  struct region_pair {
    std::int64_t from, to;
  };

  ir::builder& b_;
  cotangent_table& table_;
  int z_;
  std::int64_t region_;
  std::int64_t depth_;
  linear_region* out_ = nullptr;
  bool is_loop_ = false;
  int num_parts_ = 0;
  int part_ = 0;
  int begins_[max_branches + 1]{};
  ids order_{};  // linear nodes inside, part by part, operands first
  inner_region inner_[max_inner]{};
  int num_inner_ = 0;
  region_pair regions_[max_inner]{};
  int num_regions_ = 0;
  ids kept_{};                           // values that the linear part reads
  int kept_part_[ids::capacity]{};       // the branch each is in
  int slot_of_[ir::graph::max_nodes]{};  // + 1
  int copy_of_[ir::graph::max_nodes]{};  // + 1
  int keeper_ = ir::no_node;             // the loop or cond that keeps them
  int count_ = ir::no_node;              // number of trips, where that is not fixed
  ids items_{};                          // rows that the linear loop reads
  ir::operand_list results_{};           // of a linear cond
  bool wanted_[ir::graph::max_nodes]{};  // at z - id, and for inner regions at their end - id

  constexpr void map_region(std::int64_t from, std::int64_t to) {
    regions_[num_regions_++] = {from, to};
  }
  constexpr std::int64_t mapped(std::int64_t region) {
    for (int i = 0; i < num_regions_; ++i) {
      if (regions_[i].from == region) return regions_[i].to;
    }
    map_region(region, b_.new_region_like(region));
    return regions_[num_regions_ - 1].to;
  }

  [[nodiscard]] constexpr bool is_within(int id) const {
    return table_.inside.is_within(id, depth_);
  }
  [[nodiscard]] constexpr bool is_deeper(int id) const {
    return table_.inside.is_within(id, depth_ + 1);
  }
  [[nodiscard]] constexpr bool is_inner_linear(int id) const {
    return table_.is_linear(id) && is_within(id);
  }
  [[nodiscard]] constexpr bool is_own(int id) const {
    return is_bound(b_.g[id].code) && b_.g.attribute(id, 0) == region_;
  }
  // A row of a stack that is there, or an outer value: it need not be kept.
  [[nodiscard]] constexpr bool is_at_hand(int id) const {
    return is_own(id) && b_.g[id].code != op::carry;
  }

  template <class Fn>
  constexpr void for_each_linear_result(Fn&& fn) {
    const int count = is_loop_ ? ir::loop_parts::of(b_.g, z_).num_results()
                               : ir::cond_parts::of(b_.g, z_).num_results;
    for (int i = 0; i < count; ++i) {
      if (!table_.is_linear_result(b_.g, z_, i)) continue;
      fn(is_loop_ ? ir::loop_parts::of(b_.g, z_).result(i)
                  : ir::cond_parts::of(b_.g, z_).result(part_, i));
    }
  }

  // Calls `fn` for the linear nodes from `begin` on that those marked below `end` depend on.
  template <class Fn>
  constexpr void sweep(int begin, int end, int pending, Fn&& fn) {
    for (int id = end - 1; pending > 0; --id) {
      if (!wanted_[end - id]) continue;
      wanted_[end - id] = false;
      --pending;
      fn(id);
      for (int i = 0; i < b_.g[id].num_operands; ++i) {
        const int x = b_.g.operand(id, i);
        if (x < begin || !is_inner_linear(x) || wanted_[end - x]) continue;
        wanted_[end - x] = true;
        ++pending;
      }
    }
  }
  constexpr void find_order() {
    int pending = 0;
    for_each_linear_result([&](int id) {
      if (!is_inner_linear(id) || wanted_[z_ - id]) return;
      wanted_[z_ - id] = true;
      ++pending;
    });
    const int begin = order_.size;
    sweep(0, z_, pending, [&](int id) { order_.push(id); });
    reverse_from(begin);
  }
  constexpr void reverse_from(int begin) {
    for (int i = begin, j = order_.size - 1; i < j; ++i, --j) {
      const int x = order_.values[i];
      order_.values[i] = order_.values[j];
      order_.values[j] = x;
    }
  }

  // --- which values are kept -----------------------------------------------------------------

  constexpr void note_operands(int id) {
    if (is_deeper(id)) return;  // of an inner region, which is split as a whole
    if (has_regions(b_.g[id].code)) {
      split_inner(id);
      return;
    }
    if (b_.g[id].code == op::result_of) return;
    if (is_own(id)) return;
    for (int i = 0; i < b_.g[id].num_operands; ++i) note(b_.g.operand(id, i));
  }

  constexpr void split_inner(int id) {
    const int begin = b_.g.num_nodes;
    linear_region inner{};
    linear_splitter(b_, table_, id).run(inner);
    inner_[num_inner_++] = {id, begin, inner.node};
    if (inner.node < 0) return;
    table_.mark_linear(b_.g, begin, b_.g.num_nodes - 1);
    table_.inside.extend(b_.g);
    wanted_[1] = true;
    sweep(begin, inner.node + 1, 1, [&](int x) {
      for (int i = 0; i < b_.g[x].num_operands; ++i) note(b_.g.operand(x, i));
    });
  }

  [[nodiscard]] static constexpr bool is_view(op code) {
    return code == op::broadcast || code == op::reshape || code == op::transpose;
  }

  // An inner value of a checkpointed call in the body: it is computed again each trip.
  [[nodiscard]] constexpr bool is_checkpointed(int x) const {
    const ir::node& n = b_.g[x];
    return n.home != 0 && !is_bound(n.code) && !has_regions(n.code) && n.code != op::result_of &&
           !b_.g.is_inside(b_.g[z_].scope, n.home);
  }

  constexpr void note(int first) {
    waiting_.size = 0;
    waiting_.push(first);
    while (waiting_.size > 0) {
      const int x = waiting_[--waiting_.size];
      if (table_.is_linear(x) || !is_within(x) || is_at_hand(x)) continue;
      if (is_view(b_.g[x].code) || is_deeper(x)) {
        for (int i = 0; i < b_.g[x].num_operands; ++i) waiting_.push(b_.g.operand(x, i));
      } else if (is_checkpointed(x)) {
        if (remade_part_[x] != 0) continue;
        remade_part_[x] = part_ + 1;
        if (first_remade_ < 0 || x < first_remade_) first_remade_ = x;
        for (int i = 0; i < b_.g[x].num_operands; ++i) waiting_.push(b_.g.operand(x, i));
      } else if (slot_of_[x] == 0) {
        kept_part_[kept_.size] = part_;
        kept_.push(x);
        slot_of_[x] = kept_.size;
      }
    }
  }
  ids waiting_{};
  int remade_part_[ir::graph::max_nodes]{};  // + 1
  int first_remade_ = ir::no_node;

  // All of them before the linear nodes, operands first.
  constexpr void remake() {
    if (first_remade_ < 0) return;
    for (int id = first_remade_; id < z_; ++id) {
      if (remade_part_[id] != part_ + 1) continue;
      const ir::node& n = b_.g[id];
      b_.site = n.at;
      int operands[ir::operand_types::capacity]{};
      for (int i = 0; i < n.num_operands; ++i) operands[i] = value(b_.g.operand(id, i));
      copy_of_[id] = 1 + (n.code == op::variable ? copy_of_variable(id, operands[0])
                                                 : b_.append(n.code, operands, n.num_operands,
                                                             b_.g.attributes_of(id), b_.type(id)));
    }
  }

  // --- the loop or cond that keeps them ------------------------------------------------------

  constexpr bool keep_loop() {
    const auto loop = ir::loop_parts::of(b_.g, z_);
    const bool counts = loop.predicate() >= 0;
    count_ = loop.count();
    if (loop.trips < 0 && kept_.size > 0) return fail_unbounded();
    if (kept_.size == 0 && !counts) return true;
    ir::operand_list operands{};
    int carries = 0;
    int items = 0;
    for (int i = 0; i < loop.num_carries; ++i) {
      if (table_.is_linear(loop.carry(i))) continue;
      operands.push(loop.carry(i));
      ++carries;
    }
    const int counted =
        counts ? b_.bound(op::carry, b_.integer_constant(0, dtype::i32), region_, depth_)
               : ir::no_node;
    if (counts) operands.push(counted);
    for (int i = 0; i < loop.num_items; ++i) {
      if (table_.is_linear(loop.item(i))) continue;
      operands.push(loop.item(i));
      ++items;
    }
    if (loop.count() >= 0) operands.push(loop.count());
    if (counts) operands.push(loop.predicate());
    for (int i = 0; i < loop.num_carries; ++i) {
      if (!table_.is_linear(loop.carry(i))) operands.push(loop.result(i));
    }
    if (counts) operands.push(b_.add(counted, b_.integer_constant(1, dtype::i32)));
    for (const int x : kept_) operands.push(x);
    const int all = carries + (counts ? 1 : 0);
    keeper_ = ir::make_loop(b_, region_, depth_, loop.trips, loop.flags, all, items, kept_.size,
                            operands);
    if (counts) count_ = b_.result_of(keeper_, carries);
    first_kept_ = all;
    return true;
  }
  int first_kept_ = 0;

  constexpr bool fail_unbounded() {
    b_.site = b_.g[z_].at;
    b_.fail("while_loop",
            text("the number of trips has no bound: a gradient in reverse keeps values of each "
                 "trip; give one with max_trips<N>"));
    return false;
  }

  constexpr bool keep_cond() {
    if (kept_.size == 0) return true;
    const auto cond = ir::cond_parts::of(b_.g, z_);
    ir::operand_list operands{};
    operands.push(cond.index());
    for (int branch = 0; branch < cond.num_branches; ++branch) {
      for (int i = 0; i < kept_.size; ++i) {
        operands.push(kept_part_[i] == branch ? kept_[i] : zeros_like(b_, kept_[i]));
      }
    }
    keeper_ = ir::make_cond(b_, region_, depth_, cond.num_branches, kept_.size, operands);
    return true;
  }

  // --- the linear part -----------------------------------------------------------------------

  /// What the linear part reads in place of `x`.
  constexpr int value(int x) {
    if (copy_of_[x] != 0) return copy_of_[x] - 1;
    const int out = table_.is_linear(x) ? captured(x) : kept(x);
    if (is_within(x) || table_.is_linear(x)) copy_of_[x] = out + 1;
    return out;
  }
  constexpr int captured(int x) {
    if (x > table_.last) return value(b_.g.operand(x, 0));  // an inner region's variable for it
    b_.site = b_.g[x].at;
    const int out = b_.variable(x);
    b_.vary(out, b_.decided(out_->region));
    out_->captured.push(x);
    out_->variables.push(out);
    return out;
  }
  constexpr int kept(int x) {
    if (!is_within(x)) return x;
    if (is_at_hand(x)) return rebound(x, b_.g.operand(x, 0));
    if (is_deeper(x) && is_bound(b_.g[x].code)) return rebound(x, value(b_.g.operand(x, 0)));
    if (is_view(b_.g[x].code) || is_deeper(x)) return same(x);
    const int slot = slot_of_[x] - 1;
    if (!is_loop_) return b_.enter(b_.result_of(keeper_, slot), out_->region, depth_, part_);
    const int stack = b_.result_of(keeper_, first_kept_ + slot);
    items_.push(b_.bound(op::item, stack, out_->region, depth_));
    return items_[items_.size - 1];
  }
  constexpr int copy_of_variable(int id, int x) {
    return b_.is_border(id) ? b_.on_far_side(id, x) : b_.variable(x);
  }
  /// The op of `x` on what takes the place of its operands.
  constexpr int same(int x) {
    ir::operand_list operands{};
    for (int i = 0; i < b_.g[x].num_operands; ++i) operands.push(value(b_.g.operand(x, i)));
    if (b_.g[x].code == op::variable) return copy_of_variable(x, operands.values[0]);
    return b_.append(b_.g[x].code, operands.values, operands.size, b_.g.attributes_of(x),
                     b_.type(x));
  }
  /// A carry, item or entry like `x`, of the region that takes the place of its own.
  constexpr int rebound(int x, int from) {
    const std::int64_t region = mapped(b_.g.attribute(x, 0));
    const std::int64_t depth = b_.g.attribute(x, 1);
    if (b_.g[x].code == op::enter) {
      return b_.enter(from, region, depth, static_cast<int>(b_.g.attribute(x, 2)));
    }
    const int out = b_.bound(b_.g[x].code, from, region, depth);
    if (is_own(x) && !table_.is_linear(x)) items_.push(out);
    return out;
  }

  constexpr void copy_at_depth(int id) {
    if (is_deeper(id)) return;
    const op code = b_.g[id].code;
    if (has_regions(code)) {
      copy_inner(id);
    } else if (code == op::result_of && inner_of(b_.g.operand(id, 0)) >= 0) {
      const int of = b_.g.operand(id, 0);
      int index = 0;  // among the linear results
      for (int i = 0; i < b_.g.attribute(id); ++i) {
        index += table_.is_linear_result(b_.g, of, i) ? 1 : 0;
      }
      const int linear = inner_[inner_of(of)].linear;
      copy_of_[id] = b_.result_of(linear < 0 ? linear : value(linear), index) + 1;
    } else {
      copy(id);
    }
  }
  [[nodiscard]] constexpr int inner_of(int id) const {
    for (int i = 0; i < num_inner_; ++i) {
      if (inner_[i].node == id) return i;
    }
    return -1;
  }
  constexpr void copy_inner(int id) {
    const inner_region& inner = inner_[inner_of(id)];
    if (inner.linear < 0) return;
    const int begin = order_.size;
    wanted_[1] = true;
    sweep(inner.begin, inner.linear + 1, 1, [&](int x) { order_.push(x); });
    reverse_from(begin);
    for (int i = begin; i < order_.size; ++i) copy(order_[i]);
    order_.size = begin;
  }

  constexpr void copy(int id) {
    const ir::node& n = b_.g[id];
    b_.site = n.at;
    int out = ir::no_node;
    if (n.code == op::variable) {
      out = copy_of_variable(id, value(b_.g.operand(id, 0)));
    } else if (is_bound(n.code)) {
      const int from = b_.g.operand(id, 0);
      out = rebound(id, is_own(id) && n.code != op::enter ? from : value(from));
    } else {
      ir::operand_list operands{};
      for (int i = 0; i < n.num_operands; ++i) operands.push(value(b_.g.operand(id, i)));
      ir::attribute_list attributes = b_.g.attributes_of(id);
      if (has_regions(n.code)) attributes.values[0] = mapped(attributes.values[0]);
      out = b_.append(n.code, operands.values, operands.size, attributes, n.type);
    }
    copy_of_[id] = out + 1;
  }

  constexpr int linear_loop() {
    const auto loop = ir::loop_parts::of(b_.g, z_);
    ir::operand_list operands{};
    int carries = 0;
    int items = 0;
    int ys = 0;
    for (int i = 0; i < loop.num_carries; ++i) {
      if (!table_.is_linear(loop.carry(i))) continue;
      if (copy_of_[loop.carry(i)] == 0) copy(loop.carry(i));
      operands.push(value(loop.carry(i)));
      ++carries;
    }
    for (int i = 0; i < loop.num_items; ++i) {
      if (!table_.is_linear(loop.item(i))) continue;
      if (copy_of_[loop.item(i)] == 0) copy(loop.item(i));
      operands.push(value(loop.item(i)));
      ++items;
    }
    ir::operand_list results{};
    for_each_linear_result([&](int x) { results.push(value(x)); });
    for (const int item : items_) operands.push(item);
    if (count_ >= 0) operands.push(count_);
    for (int i = 0; i < results.size; ++i) operands.push(results.values[i]);
    ys = results.size - carries;
    std::int64_t flags = loop.flags & ir::loop_parts::is_reverse;
    if (count_ >= 0) flags |= ir::loop_parts::has_count;
    return ir::make_loop(b_, out_->region, depth_, loop.trips, flags, carries, items + items_.size,
                         ys, operands);
  }

  constexpr void push_results() {
    if (part_ == 0) results_.push(ir::cond_parts::of(b_.g, z_).index());
    for_each_linear_result([&](int x) { results_.push(value(x)); });
  }
  constexpr int linear_cond() {
    const int results = (results_.size - 1) / num_parts_;
    return ir::make_cond(b_, out_->region, depth_, num_parts_, results, results_);
  }
};

}  // namespace atled::passes::detail
