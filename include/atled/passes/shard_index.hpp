// atled/passes/shard_index.hpp: gathers, scatters, products and matrices of a sharded program.
// Reads: passes/shard_shape.hpp. Next: passes/shard_regions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_shape.hpp"

namespace atled::passes::detail {

class shard_index : public shard_shape {
 public:
  using shard_shape::shard_shape;

 protected:
  constexpr void gather(int id) {
    const int x = g_.operand(id, 0);
    const int at = g_.operand(id, 1);
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch = static_cast<int>(g_.attribute(id, 1));
    settle(at, state_[at].masks);
    const bool may_stay = is_plain_sum(x) && g_.type(id).bytes() <= g_.type(x).bytes() &&
                          (axes_of(state_[at].masks) & state_[x].partial) == 0;
    if (!may_stay) settle(x, state_[x].masks);
    split_masks value = state_[x].masks;
    split_masks out = 0;
    std::uint32_t twice = 0;
    for (int tries = 0; tries < 2; ++tries) {
      out = gathered_split(id, value, state_[at].masks, twice);
      if (twice == 0) break;
      value = without(value, state_[x].gathered);
    }
    if (twice != 0) {
      index_conflict(id, x, at);
      return;
    }
    // The axes in front are shared by both.
    split_masks places = state_[at].masks;
    for (int i = 0; i < batch; ++i) {
      value = with_mask(value, i, mask_of(out, i));
      places = with_mask(places, i, mask_of(out, i));
    }
    const std::uint32_t over = mask_of(value, axis);
    state_[id] = {out, static_cast<std::uint8_t>(state_[x].partial | over), 0};
    const int y = state_[x].partial != 0 ? take_parts(x, value) : take(x, value);
    const int index = over == 0 ? take(at, places) : own_places(id, take(at, places), over);
    if (y < 0 || index < 0) {
      place_[id] = ir::poison;
      return;
    }
    const auto mode = over == 0 ? static_cast<index_mode>(g_.attribute(id, 2)) : index_mode::fill;
    place_[id] = b_.gather(y, index, axis, batch, mode);
  }

  /// The split of what a gather gives; `twice` are mesh axes that would be used twice.
  constexpr split_masks gathered_split(int id, split_masks value, split_masks at,
                                       std::uint32_t& twice) const {
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch = static_cast<int>(g_.attribute(id, 1));
    const int rank = g_.type(g_.operand(id, 0)).rank();
    const int at_rank = g_.type(g_.operand(id, 1)).rank();
    split_masks out = 0;
    std::uint32_t used = mask_of(value, axis);
    int k = 0;
    twice = 0;
    const auto push = [&](std::uint32_t mask) {
      twice |= used & mask;
      used |= mask;
      out = with_mask(out, k++, mask);
    };
    for (int i = 0; i < axis; ++i) {
      const std::uint32_t a = mask_of(value, i);
      const std::uint32_t b = i < batch ? mask_of(at, i) : 0;
      if (!is_prefix(a, b) && !is_prefix(b, a)) twice |= a | b;
      push(is_prefix(a, b) ? b : a);
    }
    for (int i = batch; i < at_rank; ++i) push(mask_of(at, i));
    for (int i = axis + 1; i < rank; ++i) push(mask_of(value, i));
    return out;
  }

  constexpr void index_conflict(int id, int x, int at) {
    text why;
    refuse(id, why << "value " << spec_text(x) << " and indices " << spec_text(at)
                   << ": a mesh axis would split two axes; put with_sharding_constraint on one of "
                      "them");
  }

  constexpr void scatter(int id) {
    const int x = g_.operand(id, 0);
    const int at = g_.operand(id, 1);
    const int updates = g_.operand(id, 2);
    const bool is_add = g_[id].code == op::scatter_add;
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch = static_cast<int>(g_.attribute(id, 1));
    settle(x, state_[x].masks);
    settle(at, state_[at].masks);
    const bool grows = g_.type(id).bytes() > g_.type(updates).bytes();
    if (!is_add || grows || !is_plain_sum(updates)) settle(updates, state_[updates].masks);
    const int at_rank = g_.type(at).rank();
    const int rank = g_.type(x).rank();
    scatter_split s{};
    for (int tries = 0; tries < 3; ++tries) {  // zeros are split as the result will be
      const bool may_wish = is_zero(x) && wish_[id] != no_wish && wish_[id] != 0;
      if (tries == 0 && !may_wish) continue;
      const split_masks value = tries == 0   ? wish_[id]
                                : tries == 1 ? state_[x].masks
                                             : without(state_[x].masks, state_[x].gathered);
      s = split_of_scatter(axis, batch, at_rank, rank, value, state_[at].masks,
                           state_[updates].masks);
      if (!s.is_conflict) break;
    }
    if (s.is_conflict) {
      index_conflict(id, x, updates);
      return;
    }
    if (((axes_of(s.value) | axes_of(s.updates) | s.over) & state_[updates].partial) != 0) {
      settle(updates, s.updates);  // ranks would add parts of a sum in different places
      scatter(id);
      return;
    }
    emit_scatter(id, s);
  }

  struct scatter_split {
    split_masks value, at, updates;
    std::uint32_t over;  ///< mesh axes that split the indices: each rank has some of the updates
    bool is_conflict;
  };
  static constexpr scatter_split split_of_scatter(int axis, int batch, int at_rank, int rank,
                                                  split_masks value, split_masks at,
                                                  split_masks updates) {
    scatter_split out{value, at, updates, 0, false};
    std::uint32_t used = mask_of(value, axis);
    const auto joint = [&](std::uint32_t a, std::uint32_t b) {
      if (!is_prefix(a, b) && !is_prefix(b, a)) out.is_conflict = true;
      return is_prefix(a, b) ? b : a;
    };
    const auto use = [&](std::uint32_t mask) {
      if ((mask & used) != 0) out.is_conflict = true;
      used |= mask;
    };
    const int places = at_rank - batch;
    for (int i = 0; i < rank; ++i) {
      if (i == axis) continue;
      const int k = i < axis ? i : i - 1 + places;
      std::uint32_t mask = joint(mask_of(value, i), mask_of(updates, k));
      if (i < batch) mask = joint(mask, mask_of(at, i));
      use(mask);
      out.value = with_mask(out.value, i, mask);
      out.updates = with_mask(out.updates, k, mask);
      if (i < batch) out.at = with_mask(out.at, i, mask);
    }
    for (int i = 0; i < places; ++i) {
      const std::uint32_t mask = joint(mask_of(at, batch + i), mask_of(updates, axis + i));
      use(mask);
      out.over |= mask;
      out.at = with_mask(out.at, batch + i, mask);
      out.updates = with_mask(out.updates, axis + i, mask);
    }
    return out;
  }

  constexpr void emit_scatter(int id, const scatter_split& s) {
    const int x = g_.operand(id, 0);
    const int updates = g_.operand(id, 2);
    const bool is_add = g_[id].code == op::scatter_add;
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const std::uint32_t partial = state_[updates].partial | (is_add ? s.over : 0);
    const tensor_type block = block_type(id, s.value);
    state_[id] = {s.value, static_cast<std::uint8_t>(partial), 0};
    const int value = partial != 0 ? b_.splat(0, block) : take(x, s.value);
    const std::uint32_t parts = mask_of(s.value, axis);
    const int own = take(g_.operand(id, 1), s.at);
    const int index = parts == 0 ? own : own_places(id, own, parts);
    const int given =
        state_[updates].partial != 0 ? take_parts(updates, s.updates) : take(updates, s.updates);
    ir::attribute_list attributes = g_.attributes_of(id);
    if (parts != 0) attributes.values[2] = static_cast<std::int64_t>(index_mode::fill);
    if (is_add && s.over != 0 && is_reproducible()) {
      scatter_in_tree(id, s, value, index, given, attributes);
      return;
    }
    place_[id] = b_.append(g_[id].code, {value, index, given}, attributes);
    if (partial != 0 && !is_zero(x)) addend_[id] = x + 1;
    if (!is_add && s.over != 0) place_[id] = over_all(op::pmax, place_[id], s.over);
  }

  /// Parts of the updates, each added to zeros, and what they make added up.
  constexpr void scatter_in_tree(int id, const scatter_split& s, int zeros, int index, int given,
                                 const ir::attribute_list& attributes) {
    const int x = g_.operand(id, 0);
    const int at = g_.operand(id, 1);
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch = static_cast<int>(g_.attribute(id, 1));
    int along = -1;
    for (int i = g_.type(at).rank() - 1; i >= batch; --i) {
      if (mask_of(s.at, i) == 0) continue;
      if (along >= 0) {
        refuse(id, text("indices split along two axes have no reproducible sum"));
        return;
      }
      along = i;
    }
    const int parts = local_parts(id, g_.type(at).dims[along], s.over);
    if (parts == 0) return;
    const int sum = sum_of_parts(parts, [&](int part) {
      return b_.append(op::scatter_add,
                       {zeros, part_of(index, along, part, parts),
                        part_of(given, axis + along - batch, part, parts)},
                       attributes);
    });
    state_[id].partial = 0;
    place_[id] = sum_of_ranks(sum, s.over);
    if (!is_zero(x)) place_[id] = b_.add(place_[id], take(x, s.value));
  }

  // --- products and matrices -----------------------------------------------------------------

  constexpr void dot(int id) {
    const int x = g_.operand(id, 0);
    const int y = g_.operand(id, 1);
    const auto axes = ir::dot_axes::unpacked(g_.attributes_of(id));
    const std::int64_t bytes = g_.type(id).bytes();
    const bool x_stays = is_plain_sum(x) && state_[y].partial == 0 && bytes <= g_.type(x).bytes();
    const bool y_stays = is_plain_sum(y) && state_[x].partial == 0 && bytes <= g_.type(y).bytes();
    if (!x_stays) settle(x, state_[x].masks);
    if (!y_stays) settle(y, state_[y].masks);
    const dot_split s = split_of_dot(axes, without(state_[x].masks, state_[x].gathered),
                                     without(state_[y].masks, state_[y].gathered),
                                     g_.type(x).rank(), g_.type(y).rank());
    if (s.lhs_axis >= 0) {
      text why;
      refuse(id, why << "lhs " << spec_text(x) << " and rhs " << spec_text(y) << ": lhs axis "
                     << s.lhs_axis << " and rhs axis " << s.rhs_axis
                     << " go together and are sharded two ways; put with_sharding_constraint on "
                        "one of them");
      return;
    }
    if (s.twice != 0) {
      text why;
      why << "lhs " << spec_text(x) << " and rhs " << spec_text(y) << ": mesh axis ";
      for (int a = 0; a < given_.mesh.num_axes; ++a) {
        if (((s.twice >> a) & 1U) != 0) why << given_.mesh.name(a) << ' ';
      }
      refuse(id, why << "would split two axes of the product; put with_sharding_constraint on one "
                        "of them");
      return;
    }
    const std::uint32_t open = state_[x].partial | state_[y].partial;
    if ((open & (axes_of(s.lhs) | axes_of(s.rhs))) != 0) {
      settle(x, s.lhs);
      settle(y, s.rhs);
      dot(id);
      return;
    }
    state_[id] = {s.out, static_cast<std::uint8_t>(open | s.partial), 0};
    const int lhs = state_[x].partial != 0 ? take_parts(x, s.lhs) : take(x, s.lhs);
    const int rhs = state_[y].partial != 0 ? take_parts(y, s.rhs) : take(y, s.rhs);
    if (s.partial != 0 && is_reproducible()) {
      dot_in_tree(id, s, lhs, rhs, axes);
      return;
    }
    place_[id] = b_.dot(lhs, rhs, axes);
  }

  constexpr void dot_in_tree(int id, const dot_split& s, int lhs, int rhs,
                             const ir::dot_axes& axes) {
    int pair = -1;
    for (int i = 0; i < axes.num_contract; ++i) {
      if (mask_of(s.lhs, axes.lhs_contract[i]) == 0) continue;
      if (pair >= 0) {
        refuse(id, text("two contracted axes that are split have no reproducible sum; put "
                        "with_sharding_constraint on an operand"));
        return;
      }
      pair = i;
    }
    const int left = axes.lhs_contract[pair];
    const int right = axes.rhs_contract[pair];
    const int parts = local_parts(id, g_.type(g_.operand(id, 0)).dims[left], s.partial);
    if (parts == 0) return;
    const int sum = sum_of_parts(parts, [&](int part) {
      return b_.dot(part_of(lhs, left, part, parts), part_of(rhs, right, part, parts), axes);
    });
    state_[id].partial = 0;
    place_[id] = sum_of_ranks(sum, s.partial);
  }

  constexpr void matrices(int id) {
    const int rank = g_.type(id).rank();
    const std::int64_t last_two = std::int64_t{3} << (rank - 2);
    if (g_[id].num_operands == 1) {
      along_whole_axes(id, last_two, false);
      return;
    }
    for (int i = 0; i < 2; ++i) settle(g_.operand(id, i), state_[g_.operand(id, i)].masks);
    const std::int64_t rows = std::int64_t{1} << (rank - 2);
    const split_masks matrix = whole_along(id, 0, last_two);
    const split_masks right = whole_along(id, 1, rows);
    if (!b_.problem.empty()) return;
    const joint_split both = joined_splits({matrix, 0, 0}, {right, 0, 0});
    if (both.axis >= 0) {
      conflict(id, 1, both);
      return;
    }
    state_[id] = {both.split, 0, 0};
    int operands[2] = {take(g_.operand(id, 0), with_mask(both.split, rank - 1, 0)),
                       take(g_.operand(id, 1), both.split)};
    place_[id] = same(id, operands, both.split);
  }
};

}  // namespace atled::passes::detail
