// atled/passes/shard_regions.hpp: loops and branches of a sharded program: how carries begin and
// come back. Reads: passes/shard_index.hpp. Next: passes/shard.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_index.hpp"

namespace atled::passes::detail {

class shard_regions : public shard_index {
 public:
  using shard_index::shard_index;

 protected:
  constexpr void bound(int id) {
    const int x = g_.operand(id, 0);
    int operands[1]{};
    if (g_[id].code == op::carry && carries_.is_known[id]) {
      const partition_spec& s = carries_.of[id];
      if (s.partial != 0) {  // of zeros: parts of a sum that is 0
        operands[0] = b_.splat(0, block_type(id, s.masks));
      } else {
        settle(x, s.masks);
        operands[0] = take(x, s.masks);
      }
      state_[id] = s;
    } else if (g_[id].code == op::item) {
      settle(x, state_[x].masks);
      const split_masks own = whole_along(id, 0, 1);
      if (!b_.problem.empty()) return;
      operands[0] = take(x, own);
      state_[id] = {own >> 8, 0, 0};
    } else {
      settle(x, state_[x].masks);
      operands[0] = take(x, state_[x].masks);
      state_[id] = {state_[x].masks, 0, state_[x].gathered};
    }
    place_[id] = same(id, operands, state_[id].masks);
    bound_[id] = place_[id];
  }

  constexpr void loop(int id) {
    const auto l = ir::loop_parts::of(g_, id);
    int operands[ir::operand_types::capacity]{};
    const int num_bound = l.num_carries + l.num_items;
    const int first = g_[id].num_operands - l.num_results();
    for (int i = 0; i < first; ++i) {
      const int x = g_.operand(id, i);
      if (i >= num_bound) {
        settle(x, 0);
        whole_along(id, i, -1);
      }
      if (!b_.problem.empty()) return;
      operands[i] = i < num_bound ? bound_[x] : take(x, 0);
    }
    for (int i = 0; i < l.num_results(); ++i) {
      const int x = l.result(i);
      if (i < l.num_carries) {
        operands[first + i] = next_of(id, l.carry(i), x);
      } else {
        if (!is_plain_sum(x)) settle(x, state_[x].masks);
        operands[first + i] = place_[x];  // rows may be parts of sums: those of all trips at once
      }
      if (!b_.problem.empty()) return;
    }
    state_[id] = {};
    place_[id] = same(id, operands, 0);
  }
  /// What a carry becomes, split as the carry is; or the note that it must begin in another way.
  constexpr int next_of(int id, int carry, int x) {
    const partition_spec& begin = state_[carry];
    if (begin.partial != 0 && state_[x].partial == begin.partial && addend_[x] == 0 &&
        stays_open(x)) {
      return take_parts(x, begin.masks);
    }
    const bool is_first_time = !carries_.is_known[carry];
    if (is_first_time && stays_open(x) && addend_[x] == carry + 1 &&
        is_zero(g_.operand(carry, 0))) {
      begins_as(carry, {state_[x].masks, state_[x].partial, 0});
      return place_[carry];
    }
    if (carries_.is_known[carry] && carries_.of[carry].partial != 0) {
      begins_as(carry, {begin.masks, 0, 0});
      return place_[carry];
    }
    settle(x, begin.masks);
    if (is_free_move(x, begin.masks)) return take(x, begin.masks);
    const joint_split both = joined_splits({begin.masks, 0, 0}, state_[x]);
    if (both.axis < 0 && both.split != begin.masks) {
      begins_as(carry, {both.split, 0, 0});
      return place_[carry];
    }
    text why;
    why << g_.type(x) << " begins as " << spec_text(carry) << " and comes back as " << spec_text(x)
        << "; put with_sharding_constraint on what it begins with";
    refuse(id, why);
    return ir::poison;
  }
  constexpr void begins_as(int carry, const partition_spec& spec) {
    carries_.of[carry] = spec;
    carries_.is_known[carry] = true;
    carries_.again = true;
  }

  constexpr void cond(int id) {
    const auto c = ir::cond_parts::of(g_, id);
    int operands[ir::operand_types::capacity]{};
    settle(c.index(), 0);
    operands[0] = take(c.index(), whole_along(id, 0, -1));
    for (int i = 0; i < c.num_results && b_.problem.empty(); ++i) {
      partition_spec joint{};
      for (int branch = 0; branch < c.num_branches; ++branch) {
        const int x = c.result(branch, i);
        settle(x, joint.masks);
        const joint_split both = joined_splits(joint, state_[x]);
        if (both.axis >= 0) {
          conflict(id, 1 + branch * c.num_results + i, both);
          return;
        }
        joint.masks = both.split;
      }
      for (int branch = 0; branch < c.num_branches; ++branch) {
        operands[1 + branch * c.num_results + i] = take(c.result(branch, i), joint.masks);
      }
      for (int branch = 0; branch < c.num_branches; ++branch) {
        state_[c.result(branch, i)].masks = joint.masks;
        place_[c.result(branch, i)] = operands[1 + branch * c.num_results + i];
      }
    }
    state_[id] = {};
    place_[id] = same(id, operands, 0);
  }

  constexpr void result_of(int id) {
    const int x = g_.operand(id, 0);
    const auto index = static_cast<int>(g_.attribute(id));
    if (g_[x].code == op::cond) {
      state_[id] = state_[ir::cond_parts::of(g_, x).result(0, index)];
    } else {
      const auto l = ir::loop_parts::of(g_, x);
      state_[id] = index < l.num_carries ? state_[l.carry(index)]
                                         : partition_spec{state_[l.result(index)].masks << 8,
                                                          state_[l.result(index)].partial, 0};
    }
    place_[id] = b_.result_of(place_[x], index);
  }
};

}  // namespace atled::passes::detail
