// atled/passes/shard_elementwise.hpp: elementwise ops of a sharded program: how the splits of their
// operands are joined, and which work on the parts of a sum. Reads: passes/shard_moves.hpp.
// Next: passes/shard_shape.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_moves.hpp"

namespace atled::passes::detail {

class shard_elementwise : public shard_moves {
 public:
  using shard_moves::shard_moves;

 protected:
  /// The split of a result all of whose operands have its sizes, or poison after the sentence.
  constexpr bool join(int id, partition_spec& joint) {
    joint = {};
    std::uint32_t firm = 0;
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const partition_spec& s = state_[g_.operand(id, i)];
      if (s.masks == 0) continue;
      firm |= axes_of(s.masks) & ~std::uint32_t{s.gathered};
      const joint_split both = joined_without_a_word(joint, s);
      if (both.axis >= 0) return conflict(id, i, both);
      joint.masks = both.split;
      joint.gathered = static_cast<std::uint8_t>(axes_of(joint.masks) & ~firm);
    }
    return true;
  }

  constexpr bool conflict(int id, int operand, const joint_split& both) {
    int other = 0;
    for (int i = operand - 1; i >= 0; --i) {
      if (state_[g_.operand(id, i)].masks != 0) other = i;
    }
    const int x = g_.operand(id, other);
    const int y = g_.operand(id, operand);
    text why;
    why << (other == 0 && g_[id].num_operands == 2 ? "lhs " : "") << spec_text(x) << " and "
        << (other == 0 && g_[id].num_operands == 2 ? "rhs " : "") << spec_text(y) << ": ";
    if (both.mesh_axis < 0) {
      why << "axis " << both.axis << " is sharded two ways";
    } else {
      why << "mesh axis " << given_.mesh.name(both.mesh_axis) << " would split two axes";
    }
    return refuse(id, why << "; put with_sharding_constraint on one of them");
  }

  /// Which operands stay parts of a sum; the others are summed.
  constexpr void elementwise(int id) {
    const int count = g_[id].num_operands;
    partition_spec joint{};
    if (!join(id, joint)) return;
    std::uint32_t partial = 0;
    bool any = false;
    for (int i = 0; i < count; ++i) any = any || state_[g_.operand(id, i)].partial != 0;
    int addend = ir::no_node;
    if (any) {
      partial = kept_parts(id, joint, addend);
      for (int i = 0; i < count; ++i) {
        const int x = g_.operand(id, i);
        if (x != addend && (partial == 0 || state_[x].partial != partial)) settle(x, joint.masks);
      }
      if (!join(id, joint)) return;
      if (partial != 0 && (axes_of(joint.masks) & partial) != 0) {  // it was scattered meanwhile
        for (int i = 0; i < count; ++i) settle(g_.operand(id, i), joint.masks);
        partial = 0;
        addend = ir::no_node;
        if (!join(id, joint)) return;
      }
    }
    state_[id] = {joint.masks, static_cast<std::uint8_t>(partial), joint.gathered};
    if (addend != ir::no_node) {
      const bool is_first = g_.operand(id, 0) == addend;
      const int parts = take_parts(g_.operand(id, is_first ? 1 : 0), joint.masks);
      place_[id] = is_first && g_[id].code == op::sub ? b_.neg(parts) : parts;
      addend_[id] = addend + 1;
      return;
    }
    int operands[3 + 1]{};
    for (int i = 0; i < count; ++i) {
      const int x = g_.operand(id, i);
      operands[i] = state_[x].partial != 0 ? take_parts(x, joint.masks) : take(x, joint.masks);
      if (partial != 0 && addend_[x] != 0) addend_[id] = addend_[x];
    }
    place_[id] = same(id, operands, joint.masks);
  }

  /// The mesh axes over which the result is a sum of parts; `addend` is what must be added to it.
  constexpr std::uint32_t kept_parts(int id, const partition_spec& joint, int& addend) const {
    const auto fits = [&](int x) {
      return (axes_of(joint.masks) & state_[x].partial) == 0 ? state_[x].partial : std::uint8_t{0};
    };
    const int x = g_.operand(id, 0);
    const int y = g_[id].num_operands > 1 ? g_.operand(id, 1) : x;
    linearity kind = linearity_of(g_[id].code);
    if (g_[id].code == op::convert && is_floating(g_.type(x).element) &&
        is_floating(g_.type(id).element) &&
        size_of(g_.type(x).element) <= size_of(g_.type(id).element)) {
      kind = linearity::every;
    }
    switch (kind) {
      case linearity::none:
        return 0;
      case linearity::every:
        return is_plain_sum(x) ? fits(x) : 0;
      case linearity::first:
        return is_plain_sum(x) && state_[y].partial == 0 ? fits(x) : 0;
      case linearity::either:
        if (is_plain_sum(x) && state_[y].partial == 0) return fits(x);
        return is_plain_sum(y) && state_[x].partial == 0 ? fits(y) : 0;
      case linearity::selections: {
        const int z = g_.operand(id, 2);
        if (state_[x].partial != 0) return 0;
        if (is_plain_sum(y) &&
            (is_zero(z) || (is_plain_sum(z) && state_[z].partial == state_[y].partial))) {
          return fits(y);
        }
        return is_zero(y) && is_plain_sum(z) ? fits(z) : 0;
      }
      case linearity::sum: {
        const bool is_sub = g_[id].code == op::sub;
        if (stays_open(x) && stays_open(y) && state_[x].partial == state_[y].partial) {
          const bool both = addend_[x] != 0 && addend_[y] != 0;
          return both || (is_sub && addend_[y] != 0) ? 0 : fits(x);
        }
        if (is_plain_sum(x) && state_[y].partial == 0 && !is_sub) {
          addend = fits(x) != 0 ? y : ir::no_node;
          return fits(x);
        }
        if (is_plain_sum(y) && state_[x].partial == 0) {
          addend = fits(y) != 0 ? x : ir::no_node;
          return fits(y);
        }
        return 0;
      }
    }
    __builtin_unreachable();
  }
};

}  // namespace atled::passes::detail
