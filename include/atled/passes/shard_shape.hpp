// atled/passes/shard_shape.hpp: ops of a sharded program that move elements, and reductions.
// Reads: passes/shard_elementwise.hpp. Next: passes/shard_index.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_elementwise.hpp"

namespace atled::passes::detail {

class shard_shape : public shard_elementwise {
 public:
  using shard_elementwise::shard_elementwise;

 protected:
  /// A move of elements: linear, and done on the parts of a sum unless the value grows.
  constexpr int moved_operand(int id, int x, split_masks wanted, split_masks result) {
    const bool is_open = is_plain_sum(x) && g_.type(id).bytes() <= g_.type(x).bytes() &&
                         (axes_of(result) & state_[x].partial) == 0;
    if (!is_open) settle(x, wanted);
    state_[id] = {result, state_[x].partial, state_[x].gathered};
    return is_open ? take_parts(x, wanted) : take(x, wanted);
  }

  constexpr void broadcast(int id) {
    const int x = g_.operand(id, 0);
    settle(x, state_[x].masks);
    const tensor_type& type = g_.type(id);
    split_masks own = state_[x].masks;
    if (type.size() > g_.type(x).size()) own = without(own, state_[x].gathered);
    const split_masks out = broadcast_split(own, g_.attribute(id), type.rank());
    state_[id] = {out, 0, static_cast<std::uint8_t>(state_[x].gathered & axes_of(out))};
    place_[id] = b_.broadcast(take(x, own), block_type(id, out).dims, g_.attribute(id));
  }

  constexpr void reshape(int id) {
    const int x = g_.operand(id, 0);
    if (!is_plain_sum(x)) settle(x, state_[x].masks);
    const shape& from = g_.type(x).dims;
    const shape& to = g_.type(id).dims;
    split_masks own = state_[x].masks;
    split_or_axis out = reshaped_split(given_.mesh, own, from, to);
    if (out.axis >= 0 && state_[x].gathered != 0) {
      own = without(own, state_[x].gathered);
      out = reshaped_split(given_.mesh, own, from, to);
    }
    if (out.axis >= 0) {
      text why;
      why << g_.type(x) << " as " << spec_text(x) << " to " << g_.type(id) << ": axis " << out.axis
          << " is split, and must stay the outermost part of an axis that it divides; put "
             "with_sharding_constraint on the operand";
      refuse(id, why);
      return;
    }
    const int y = moved_operand(id, x, own, out.split);
    place_[id] = b_.reshape(y, block_type(id, out.split).dims);
  }

  /// One operand, of which these axes must not be split.
  constexpr void along_whole_axes(int id, std::int64_t axes, bool is_linear) {
    const int x = g_.operand(id, 0);
    if (!is_linear || !is_plain_sum(x)) settle(x, state_[x].masks);
    const split_masks own = whole_along(id, 0, axes);
    if (!b_.problem.empty()) return;
    int operands[1] = {moved_operand(id, x, own, own)};
    place_[id] = same(id, operands, own);
  }

  /// Axes of the first operand whose size or order a slice or pad changes.
  [[nodiscard]] constexpr std::int64_t changed_axes(int id) const {
    const shape& from = g_.type(g_.operand(id, 0)).dims;
    std::int64_t out = 0;
    for (int i = 0; i < from.rank; ++i) {
      const bool is_same = g_[id].code == op::dynamic_slice ||
                           g_[id].code == op::dynamic_update_slice || g_.attribute(id, i) == 0;
      const shape& to = g_[id].code == op::dynamic_update_slice ? g_.type(g_.operand(id, 1)).dims
                                                                : g_.type(id).dims;
      if (!is_same || from[i] != to[i]) out |= std::int64_t{1} << i;
    }
    return out;
  }

  constexpr void pad(int id) {
    const int x = g_.operand(id, 0);
    const int filler = g_.operand(id, 1);
    settle(x, state_[x].masks);
    settle(filler, 0);
    const split_masks own = whole_along(id, 0, changed_axes(id));
    if (!b_.problem.empty()) return;
    state_[id] = {own, 0, state_[x].gathered};
    int operands[2] = {take(x, own), take(filler, 0)};
    place_[id] = same(id, operands, own);
  }

  constexpr void concatenate(int id) {
    const auto axis = static_cast<int>(g_.attribute(id));
    const int count = g_[id].num_operands;
    const std::uint32_t partial = state_[g_.operand(id, 0)].partial;
    bool is_open = partial != 0;
    for (int i = 0; i < count; ++i) {
      const int x = g_.operand(id, i);
      is_open = is_open && is_plain_sum(x) && state_[x].partial == partial;
    }
    for (int i = 0; i < count; ++i) {
      const int x = g_.operand(id, i);
      if (!is_open) settle(x, state_[x].masks);
      if (mask_of(state_[x].masks, axis) != 0) make_whole(id, i, std::int64_t{1} << axis);
      if (!b_.problem.empty()) return;
    }
    partition_spec joint{};
    if (!join(id, joint)) return;
    is_open = is_open && (axes_of(joint.masks) & partial) == 0;
    int operands[ir::operand_types::capacity]{};
    for (int i = 0; i < count; ++i) {
      const int x = g_.operand(id, i);
      if (!is_open) settle(x, joint.masks);
      operands[i] = is_open ? take_parts(x, joint.masks) : take(x, joint.masks);
    }
    state_[id] = joint;
    if (is_open) state_[id].partial = static_cast<std::uint8_t>(partial);
    place_[id] = same(id, operands, joint.masks);
  }

  /// Value (and update) by axes that are taken whole; then one start an axis.
  constexpr void dynamic(int id) {
    const int x = g_.operand(id, 0);
    const int first = g_[id].code == op::dynamic_slice ? 1 : 2;
    const std::int64_t changed = changed_axes(id);
    for (int i = 0; i < first; ++i) settle(g_.operand(id, i), state_[g_.operand(id, i)].masks);
    partition_spec joint{};
    for (int i = 0; i < first; ++i) {
      const partition_spec own{whole_along(id, i, changed), 0, state_[g_.operand(id, i)].gathered};
      if (!b_.problem.empty()) return;
      const joint_split both = joined_without_a_word(joint, own);
      if (both.axis >= 0) {
        conflict(id, i, both);
        return;
      }
      joint = {both.split, 0, i == 0 ? own.gathered : static_cast<std::uint8_t>(0)};
    }
    int operands[max_rank + 2]{};
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const int y = g_.operand(id, i);
      if (i >= first) settle(y, 0);
      operands[i] = take(y, i < first ? joint.masks : 0);
    }
    state_[id] = joint;
    (void)x;
    place_[id] = same(id, operands, joint.masks);
  }

  // --- reductions ----------------------------------------------------------------------------

  constexpr void reduction(int id) {
    const int x = g_.operand(id, 0);
    const op code = g_[id].code;
    const std::int64_t mask = g_.attribute(id);
    const int rank = g_.type(x).rank();
    if (code != op::reduce_sum || !is_plain_sum(x)) settle(x, state_[x].masks);
    const split_masks own = state_[x].masks;
    const std::uint32_t over = reduced_mesh_axes(own, mask);
    const split_masks out = reduced_split(own, mask, rank);
    state_[id] = {out, 0, static_cast<std::uint8_t>(state_[x].gathered & axes_of(out))};
    if (code == op::reduce_sum && over != 0 && is_reproducible()) {
      place_[id] = tree_reduced(id, take(x, own), own, mask, g_.type(x).dims);
      return;
    }
    if (code == op::reduce_sum) {
      state_[id].partial = static_cast<std::uint8_t>(state_[x].partial | over);
      place_[id] =
          b_.reduce(code, state_[x].partial != 0 ? take_parts(x, own) : take(x, own), mask);
      return;
    }
    const int y = take(x, own);
    if (over == 0 || y < 0) {
      place_[id] = y < 0 ? y : b_.reduce(code, y, mask);
    } else if (code == op::reduce_max || code == op::reduce_min) {
      place_[id] =
          over_all(code == op::reduce_max ? op::pmax : op::pmin, b_.reduce(code, y, mask), over);
    } else if (code == op::reduce_logsumexp && is_reproducible()) {
      place_[id] = logsumexp_in_tree(id, y, own, mask, over);
    } else if (code == op::reduce_logsumexp) {
      place_[id] = logsumexp_over(b_.reduce(code, y, mask), over, is_less_its_largest(x));
    } else if (code == op::reduce_prod && is_reproducible()) {
      refuse(id, text("a product along a split axis has no reproducible form yet; make it whole "
                      "with with_sharding_constraint"));
    } else if (code == op::reduce_prod) {
      place_[id] = product_over(b_.reduce(code, y, mask), over);
    } else {
      place_[id] = place_of_extreme(id, y, own, mask, over);
    }
  }

  /// log(sum(exp(z))) over ranks, with the largest of all taken out.
  constexpr int logsumexp_over(int z, std::uint32_t over, bool is_safe) {
    if (is_safe) return b_.unary(op::log, over_all(op::psum, b_.unary(op::exp, z), over));
    const int most = over_all(op::pmax, z, over);
    const int safe = b_.select(b_.unary(op::is_finite, most), most, b_.splat(0, b_.type(z)));
    const int parts = b_.unary(op::exp, b_.sub(z, safe));
    return b_.add(safe, b_.unary(op::log, over_all(op::psum, parts, over)));
  }

  /// The same with a sum whose bits do not depend on the mesh.
  constexpr int logsumexp_in_tree(int id, int y, split_masks own, std::int64_t mask,
                                  std::uint32_t over) {
    const int x = g_.operand(id, 0);
    const shape dims = b_.type(y).dims;
    int safe = ir::no_node;
    if (!is_less_its_largest(x)) {
      const int most = over_all(op::pmax, b_.reduce(op::reduce_max, y, mask), over);
      safe = b_.select(b_.unary(op::is_finite, most), most, b_.splat(0, b_.type(most)));
      const std::int64_t kept = ((std::int64_t{1} << dims.rank) - 1) & ~mask;
      y = b_.sub(y, b_.broadcast(safe, dims, kept));
    }
    const int sum = tree_reduced(id, b_.unary(op::exp, y), own, mask, g_.type(x).dims);
    if (sum < 0) return sum;
    const int log_sum = b_.unary(op::log, sum);
    return safe == ir::no_node ? log_sum : b_.add(safe, log_sum);
  }

  /// It is y - reduce_max(y), if that is finite: passes/stable.hpp makes such.
  [[nodiscard]] constexpr bool is_less_its_largest(int x) const {
    if (g_[x].code != op::sub || g_[g_.operand(x, 1)].code != op::broadcast) return false;
    int most = g_.operand(g_.operand(x, 1), 0);
    if (g_[most].code == op::select && is_zero(g_.operand(most, 2))) most = g_.operand(most, 1);
    return g_[most].code == op::reduce_max && g_.operand(most, 0) == g_.operand(x, 0);
  }

  constexpr int product_over(int y, std::uint32_t over) {
    for (int a = 0; a < given_.mesh.num_axes && y >= 0; ++a) {
      if (((over >> a) & 1U) == 0) continue;
      if (given_.mesh.is_open(a)) return no_open_axis(a, "a product");
      shape dims{};
      dims.push(given_.mesh.sizes[a]);
      for (int i = 0; i < b_.type(y).rank(); ++i) dims.push(b_.type(y).dims[i]);
      ir::attribute_list attributes = ir::attribute_list::of(axis_[a]);
      attributes.push(0);
      const int all = b_.append(op::all_gather, {y}, attributes, {b_.type(y).element, dims});
      y = b_.reduce(op::reduce_prod, all, 1);
    }
    return y;
  }

  /// The first place of the largest (smallest) among the ranks' own.
  constexpr int place_of_extreme(int id, int y, split_masks own, std::int64_t mask,
                                 std::uint32_t over) {
    const bool is_max = g_[id].code == op::argmax;
    int axis = 0;
    while (!ir::has_axis(mask, axis)) ++axis;
    const int own_best = b_.reduce(is_max ? op::reduce_max : op::reduce_min, y, mask);
    const int own_place = b_.reduce(g_[id].code, y, mask);
    const int best = over_all(is_max ? op::pmax : op::pmin, own_best, over);
    int chosen = b_.binary(op::eq, own_best, best);
    if (is_floating(b_.type(y).element)) {  // NaN is found first
      chosen = b_.binary(op::bit_or, chosen, b_.binary(op::ne, own_best, own_best));
    }
    const int start = start_of(mask_of(own, axis), b_.type(y).dims[axis]);
    if (start < 0 || own_place < 0) return ir::poison;
    const tensor_type type = b_.type(own_place);
    const int place = b_.add(own_place, b_.broadcast(start, type.dims, 0));
    const int none = b_.splat(2147483647.0, type);
    return over_all(op::pmin, b_.select(chosen, place, none), over);
  }
};

}  // namespace atled::passes::detail
