// atled/passes/shard_moves.hpp: how values of a sharded program come to be split in another way:
// sums, gathers, exchanges, slices, and blocks computed as blocks. Reads: passes/shard_tree.hpp.
// Next: passes/shard_elementwise.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_tree.hpp"

namespace atled::passes::detail {

class shard_moves : public shard_tree {
 public:
  using shard_tree::shard_tree;

 protected:
  // --- values --------------------------------------------------------------------------------

  constexpr void make_whole(int id, int i, std::int64_t axes) {
    const split_masks own = whole_along(id, i, axes);
    if (!b_.problem.empty()) return;
    const int x = g_.operand(id, i);
    place_[x] = moved(x, own, true);
    state_[x].masks = own;
  }

  [[nodiscard]] constexpr tensor_type block_type(int id, split_masks split) const {
    return {g_.type(id).element, block_of(given_.mesh, {split, 0, 0}, g_.type(id).dims)};
  }
  /// The node `id` on these operands, as a block of its type.
  constexpr int same(int id, const int* operands, split_masks split) {
    if (g_[id].code == op::variable) return operands[0];
    return b_.append(g_[id].code, operands, g_[id].num_operands, g_.attributes_of(id),
                     block_type(id, split));
  }
  [[nodiscard]] constexpr bool stays_open(int x) const {
    const int loops = g_[x].code == op::carry ? 1 : 0;  // that bind it
    return state_[x].partial != 0 && uses_[x] == 1 + loops;
  }
  [[nodiscard]] constexpr bool is_plain_sum(int x) const {
    return stays_open(x) && addend_[x] == 0;
  }
  [[nodiscard]] constexpr bool is_zero(int x) const { return splat_of(g_, x).is_zero(); }

  /// Mesh axes over which something moves from one split to another, slices apart.
  [[nodiscard]] static constexpr std::uint32_t removed_axes(split_masks now, split_masks wanted) {
    std::uint32_t out = 0;
    for (int i = 0; now != 0 && i < max_rank; ++i) {
      const std::uint32_t mask = mask_of(now, i);
      out |= mask & ~common_prefix(mask, mask_of(wanted, i));
    }
    return out;
  }
  [[nodiscard]] constexpr bool is_free_move(int x, split_masks wanted) const {
    return (removed_axes(state_[x].masks, wanted) & ~std::uint32_t{state_[x].gathered}) == 0;
  }

  /// The block of `x` under another split. Pre: `x` is no sum of parts.
  constexpr int take(int x, split_masks wanted) {
    if (place_[x] < 0 || !b_.problem.empty()) return ir::poison;
    if (state_[x].masks == wanted) return place_[x];
    for (int k = first_form_[x]; k > 0; k = forms_[k].next) {
      if (forms_[k].split == wanted) return forms_[k].place;
    }
    const place_of_origin back = begin_at(x);
    const int out = moved(x, wanted, false);
    return_from(x, out, back);
    if (num_forms_ + 1 < ir::graph::max_nodes) {
      forms_[++num_forms_] = {wanted, out, first_form_[x]};
      first_form_[x] = num_forms_;
    }
    return out;
  }
  /// The same of the parts of a sum, which may be split further but not less.
  constexpr int take_parts(int x, split_masks wanted) {
    if (place_[x] < 0 || state_[x].masks == wanted) return place_[x];
    return sliced(place_[x], state_[x].masks, wanted);
  }

  /// Takes the sum, if `x` is a sum of parts: scattered where its user, or all of its users, want
  /// it split over the same mesh axis.
  constexpr void settle(int x, split_masks wanted) {
    const std::uint32_t partial = state_[x].partial;
    if (partial == 0 || place_[x] < 0) return;
    const bool is_last_use = uses_[x] == 1 && (axes_of(wanted) & partial) != 0;
    const split_masks best = is_last_use ? wanted : wished(x, partial);
    const place_of_origin back = begin_at(x);
    partition_spec& s = state_[x];
    s.partial = 0;
    was_sum_[x] = true;
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      if (((partial >> a) & 1U) == 0) continue;
      const int along = scattered_axis(x, a, best);
      if (along < 0) {
        place_[x] = over_all(op::psum, place_[x], std::uint32_t{1} << a);
        continue;
      }
      place_[x] = scattered(place_[x], a, along);
      s.set(along, s.mask(along) | std::uint32_t{1} << a);
      if (!is_last_use) s.gathered = static_cast<std::uint8_t>(s.gathered | 1U << a);
    }
    if (addend_[x] != 0) {
      const int whole = take(addend_[x] - 1, s.masks);
      place_[x] = b_.add(place_[x], whole);
      addend_[x] = 0;
    }
    return_from(x, place_[x], back);
  }

  /// What is made of a value belongs to its line and to its checkpointed call, not to its user's.
  struct place_of_origin {
    call_site site;
    int scope;
  };
  constexpr place_of_origin begin_at(int x) {
    const place_of_origin out{b_.site, b_.scope};
    b_.site = g_[x].at;
    b_.scope = g_[x].scope;
    return out;
  }
  constexpr void return_from(int x, int made, const place_of_origin& back) {
    if (g_[x].home != g_[x].scope) b_.move_home(made, g_[x].scope, g_[x].home);
    b_.site = back.site;
    b_.scope = back.scope;
  }
  /// The axis of `x` that `split` splits over mesh axis `a`, if the sum can be scattered along it.
  [[nodiscard]] constexpr int scattered_axis(int x, int a, split_masks split) const {
    const std::uint32_t bit = std::uint32_t{1} << a;
    if ((axes_of(split) & bit) == 0 || given_.mesh.is_open(a) || is_reproducible()) return -1;
    for (int i = 0; i < g_.type(x).rank(); ++i) {
      if ((mask_of(split, i) & bit) == 0) continue;
      const bool is_innermost = state_[x].mask(i) < bit;
      return is_innermost && b_.type(place_[x]).dims[i] % given_.mesh.sizes[a] == 0 ? i : -1;
    }
    return -1;
  }
  /// The split over axes `partial` that the ends wish for, or else a user's other operand has.
  [[nodiscard]] constexpr split_masks wished(int x, std::uint32_t partial) const {
    if (wish_[x] != no_wish && (axes_of(wish_[x]) & partial) != 0) return wish_[x];
    for (int k = 0; k < uses_[x]; ++k) {
      const int user = users_[users_begin_[x] + k] - 1;
      if (user < 0 || !is_elementwise(g_[user].code)) continue;
      for (int i = 0; i < g_[user].num_operands; ++i) {
        const int y = g_.operand(user, i);
        if (y != x && y < now_ && (axes_of(state_[y].masks) & partial) != 0) {
          return state_[y].masks;
        }
      }
    }
    return 0;
  }

  // --- moves ---------------------------------------------------------------------------------

  /// A collective over each of some mesh axes.
  constexpr int over_all(op code, int y, std::uint32_t mesh_axes) {
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      if (((mesh_axes >> a) & 1U) == 0 || given_.mesh.sizes[a] == 1) continue;
      y = b_.append(code, {y}, ir::attribute_list::of(axis_[a]));
    }
    return y;
  }

  /// `y` with axis `from` moved to `to`.
  constexpr int with_axis_moved(int y, int from, int to) {
    if (y < 0 || from == to) return y;
    std::int64_t order = 0;
    const int rank = b_.type(y).rank();
    for (int i = 0, k = 0; i < rank; ++i) {
      if (i == to) {
        order = ir::with_permuted_axis(order, i, from);
        continue;
      }
      if (k == from) ++k;
      order = ir::with_permuted_axis(order, i, k++);
    }
    return b_.transpose(y, order);
  }
  /// Axis `along` as parts and their elements, the parts in front of all.
  constexpr int parts_in_front(int y, int along, std::int64_t parts) {
    if (y < 0) return y;
    const tensor_type& type = b_.type(y);
    if (type.rank() == max_rank) return b_.fail("shard", text("a value of 8 axes cannot be moved"));
    shape dims{};
    for (int i = 0; i < type.rank(); ++i) {
      if (i == along) dims.push(parts);
      dims.push(i == along ? type.dims[i] / parts : type.dims[i]);
    }
    return with_axis_moved(b_.reshape(y, dims), along, 0);
  }
  /// The other way: axis 0 counts parts of axis `along` of the rest.
  constexpr int parts_together(int y, int along) {
    if (y < 0) return y;
    y = with_axis_moved(y, 0, along);
    const shape& apart = b_.type(y).dims;
    shape dims{};
    for (int i = 0; i < apart.rank; ++i) {
      if (i == along) continue;
      dims.push(i == along + 1 ? apart[i - 1] * apart[i] : apart[i]);
    }
    return b_.reshape(y, dims);
  }
  constexpr ir::attribute_list along_front(int a, bool exchanges) const {
    ir::attribute_list out = ir::attribute_list::of(axis_[a]);
    out.push(0);
    if (exchanges) out.push(0);
    return out;
  }

  /// The sum over mesh axis `a`, of which each rank keeps its part along an axis.
  constexpr int scattered(int y, int a, int along) {
    if (given_.mesh.sizes[a] == 1) return y;
    const int parts = parts_in_front(y, along, given_.mesh.sizes[a]);
    if (parts < 0) return ir::poison;
    tensor_type type{b_.type(parts).element, {}};
    for (int i = 1; i < b_.type(parts).rank(); ++i) type.dims.push(b_.type(parts).dims[i]);
    return b_.append(op::psum_scatter, {parts}, along_front(a, false), type);
  }
  /// The blocks of all ranks of mesh axis `a`, one after the other along an axis.
  constexpr int joined_over(int y, int a, int along) {
    if (y < 0) return y;
    if (given_.mesh.is_open(a)) return no_open_axis(a, "a gather");
    if (given_.mesh.sizes[a] == 1) return y;
    if (b_.type(y).rank() == max_rank) {
      return b_.fail("shard", text("a value of 8 axes cannot be moved"));
    }
    const tensor_type type{b_.type(y).element, ir::stacked(b_.type(y), given_.mesh.sizes[a]).dims};
    return parts_together(b_.append(op::all_gather, {y}, along_front(a, false), type), along);
  }
  /// What was split along `from` is whole there and split along `to`.
  constexpr int exchanged(int y, int a, int from, int to) {
    if (y < 0 || given_.mesh.sizes[a] == 1) return y;
    const int parts = parts_in_front(y, to, given_.mesh.sizes[a]);
    if (parts < 0) return ir::poison;
    return parts_together(b_.append(op::all_to_all, {parts}, along_front(a, true), b_.type(parts)),
                          from);
  }

  /// The number of this rank's part among those that some mesh axes make, times `part`; an i32.
  constexpr int start_of(std::uint32_t mesh_axes, std::int64_t part) {
    int out = ir::no_node;
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      if (((mesh_axes >> a) & 1U) == 0) continue;
      const int index =
          b_.append(op::axis_index, {}, ir::attribute_list::of(axis_[a]), {dtype::i32, {}});
      if (out == ir::no_node) {
        out = index;
      } else if (given_.mesh.is_open(a)) {
        return no_open_axis(a, "an axis split over several");
      } else {
        out = b_.add(b_.mul(out, b_.integer_constant(given_.mesh.sizes[a], dtype::i32)), index);
      }
    }
    if (out == ir::no_node) return b_.integer_constant(0, dtype::i32);
    return b_.mul(out, b_.integer_constant(part, dtype::i32));
  }

  /// This rank's part of `y`, which is less split. Moves nothing.
  constexpr int sliced(int y, split_masks now, split_masks wanted) {
    if (y < 0) return y;
    tensor_type part = b_.type(y);
    int operands[max_rank + 1]{y};
    for (int i = 0; i < part.rank(); ++i) {
      const std::uint32_t more = mask_of(wanted, i) & ~mask_of(now, i);
      for (int a = 0; a < given_.mesh.num_axes; ++a) {
        if (((more >> a) & 1U) == 0 || !given_.mesh.is_open(a)) continue;
        text why;
        why << b_.type(y) << " is whole on each rank, and what it meets is split along axis " << i
            << " over " << given_.mesh.name(a)
            << ", which has no size at build time; split it with its spec as an argument";
        return b_.fail("shard", why);
      }
      part.dims[i] /= parts_of(given_.mesh, more);
      operands[i + 1] =
          more == 0 ? b_.integer_constant(0, dtype::i32) : start_of(more, part.dims[i]);
      if (operands[i + 1] < 0) return ir::poison;
    }
    return b_.append(op::dynamic_slice, operands, part.rank() + 1, {}, part);
  }

  /// The block under another split; `said` if someone asked for it.
  constexpr int moved(int x, split_masks wanted, bool said) {
    split_masks now = state_[x].masks;
    const std::uint32_t removed = removed_axes(now, wanted);
    if ((removed & ~std::uint32_t{state_[x].gathered}) != 0 && !said) {
      text why;
      why << g_.type(x) << " as " << spec_text(x) << " is needed as "
          << partition_spec{wanted, 0, 0}.text(given_.mesh, g_.type(x).rank())
          << "; put with_sharding_constraint on it";
      return b_.fail("shard", why);
    }
    int y = place_[x];
    for (int i = g_.type(x).rank() - 1; removed != 0 && i >= 0; --i) {
      const std::uint32_t kept = common_prefix(mask_of(now, i), mask_of(wanted, i));
      for (int a = mesh_shape::max_axes - 1; a >= 0; --a) {
        const std::uint32_t bit = std::uint32_t{1} << a;
        if ((mask_of(now, i) & ~kept & bit) == 0) continue;
        const int to = exchange_axis(x, now, wanted, a);
        y = to >= 0 ? exchanged(y, a, i, to) : joined_over(y, a, i);
        now = with_mask(now, i, mask_of(now, i) & ~bit);
        if (to >= 0) now = with_mask(now, to, mask_of(now, to) | bit);
      }
    }
    if (now == wanted || y < 0) return y;
    return removed == 0 ? local_form(x, wanted) : sliced(y, now, wanted);
  }
  /// The axis of `x` to which mesh axis `a` goes next, or -1.
  [[nodiscard]] constexpr int exchange_axis(int x, split_masks now, split_masks wanted,
                                            int a) const {
    const std::uint32_t bit = std::uint32_t{1} << a;
    if (given_.mesh.is_open(a)) return -1;
    for (int i = 0; i < g_.type(x).rank(); ++i) {
      if ((mask_of(wanted, i) & bit) == 0 || (mask_of(now, i) & bit) != 0) continue;
      const std::uint32_t next = mask_of(now, i) | bit;
      return mask_of(now, i) < bit && is_prefix(next, mask_of(wanted, i)) ? i : -1;
    }
    return -1;
  }

  // --- blocks computed as blocks -------------------------------------------------------------

  /// The block of a whole value: computed as a block where that costs no more than a slice.
  constexpr int local_form(int x, split_masks wanted) {
    if (depth_ < 24 && !was_sum_[x]) {
      ++depth_;
      const int y = made_locally(x, wanted);
      --depth_;
      if (y != ir::no_node) return y;
    }
    return sliced(place_[x], state_[x].masks, wanted);
  }
  [[nodiscard]] constexpr bool is_settled(int x, split_masks wanted) const {
    return state_[x].partial == 0 && removed_axes(state_[x].masks, wanted) == 0;
  }

  /// Without a slice, or ir::no_node.
  constexpr int made_locally(int x, split_masks wanted) {
    const int count = g_[x].num_operands;
    switch (info(g_[x].code).kind) {
      case op_kind::source:
        return g_[x].code == op::iota ? local_iota(x, wanted) : ir::no_node;
      case op_kind::elementwise: {
        int operands[4]{};
        for (int i = 0; i < count; ++i) {
          if (!is_settled(g_.operand(x, i), wanted)) return ir::no_node;
        }
        for (int i = 0; i < count; ++i) operands[i] = take(g_.operand(x, i), wanted);
        return same(x, operands, wanted);
      }
      case op_kind::shape:
        return moved_locally(x, wanted);
      case op_kind::index:
        return g_[x].code == op::scatter_add ? scattered_locally(x, wanted) : ir::no_node;
      case op_kind::product: {
        const auto axes = ir::dot_axes::unpacked(g_.attributes_of(x));
        const int lhs = g_.operand(x, 0);
        const int rhs = g_.operand(x, 1);
        const dot_split s = operands_of_dot(axes, wanted, g_.type(lhs).rank(), g_.type(rhs).rank());
        if (uses_[x] > 1 || !is_settled(lhs, s.lhs) || !is_settled(rhs, s.rhs)) {
          return ir::no_node;
        }
        return b_.dot(take(lhs, s.lhs), take(rhs, s.rhs), axes);
      }
      default:
        return ir::no_node;
    }
  }

  constexpr int local_iota(int x, split_masks wanted) {
    const auto axis = static_cast<int>(g_.attribute(x));
    const tensor_type type = block_type(x, wanted);
    const int out = b_.iota(type, axis);
    const std::uint32_t over = mask_of(wanted, axis);
    if (over == 0) return out;
    const int start = start_of(over, type.dims[axis]);
    if (start < 0) return start;
    return b_.add(out, b_.broadcast(b_.convert(start, type.element), type.dims, 0));
  }

  constexpr int moved_locally(int x, split_masks wanted) {
    const int in = g_.operand(x, 0);
    const tensor_type type = block_type(x, wanted);
    if (g_[x].code == op::broadcast) {
      const split_masks own =
          unbroadcast_split(wanted, g_.attribute(x), g_.type(in).dims, g_.type(x).dims);
      if (!is_settled(in, own)) return ir::no_node;
      return b_.broadcast(take(in, own), type.dims, g_.attribute(x));
    }
    if (g_[x].code == op::transpose) {
      const split_masks own = unpermuted_split(wanted, g_.attribute(x), type.rank());
      if (!is_settled(in, own)) return ir::no_node;
      return b_.transpose(take(in, own), g_.attribute(x));
    }
    if (g_[x].code != op::reshape) return ir::no_node;
    const split_or_axis own =
        reshaped_split(given_.mesh, wanted, g_.type(x).dims, g_.type(in).dims);
    if (own.axis < 0 && is_settled(in, own.split)) {
      return b_.reshape(take(in, own.split), type.dims);
    }
    return g_[in].code == op::iota && g_.type(in).rank() == 1 ? counted_locally(x, wanted)
                                                              : ir::no_node;
  }
  /// A reshape of 0, 1, 2 ...: each place by its indices, so that random numbers do not depend on
  /// the mesh.
  constexpr int counted_locally(int x, split_masks wanted) {
    const tensor_type type = block_type(x, wanted);
    const shape strides = row_major_strides(g_.type(x).dims);
    int out = b_.splat(0, type);
    for (int i = 0; i < type.rank() && out >= 0; ++i) {
      if (g_.type(x).dims[i] == 1 && mask_of(wanted, i) == 0) continue;
      int index = b_.iota(type, i);
      if (mask_of(wanted, i) != 0) {
        const int start = start_of(mask_of(wanted, i), type.dims[i]);
        if (start < 0) return start;
        index = b_.add(index, b_.broadcast(b_.convert(start, type.element), type.dims, 0));
      }
      const int stride = b_.integer_constant(strides[i], type.element);
      out = b_.add(out, b_.mul(index, b_.broadcast(stride, type.dims, 0)));
    }
    return out;
  }

  /// What is added to zeros.
  constexpr int scattered_locally(int x, split_masks wanted) {
    const int at = g_.operand(x, 1);
    const int updates = g_.operand(x, 2);
    const auto axis = static_cast<int>(g_.attribute(x, 0));
    const auto batch = static_cast<int>(g_.attribute(x, 1));
    const int places = g_.type(at).rank() - batch;
    if (!is_zero(g_.operand(x, 0))) return ir::no_node;
    split_masks own = state_[updates].masks;
    split_masks own_at = state_[at].masks;
    for (int i = 0; i < g_.type(x).rank(); ++i) {
      if (i == axis) continue;
      own = with_mask(own, i < axis ? i : i - 1 + places, mask_of(wanted, i));
      if (i < batch) own_at = with_mask(own_at, i, mask_of(wanted, i));
    }
    if (!is_settled(updates, own) || !is_settled(at, own_at)) return ir::no_node;
    const std::uint32_t over = mask_of(wanted, axis);
    int index = take(at, own_at);
    if (over != 0) index = own_places(x, index, over);
    ir::attribute_list attributes = g_.attributes_of(x);
    if (over != 0) attributes.values[2] = static_cast<std::int64_t>(index_mode::fill);
    return b_.append(op::scatter_add,
                     {b_.splat(0, block_type(x, wanted)), index, take(updates, own)}, attributes);
  }

  /// Indices into a whole axis as indices into this rank's part of it: others lie outside.
  constexpr int own_places(int id, int index, std::uint32_t over) {
    if (index < 0) return ir::poison;
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const std::int64_t size = g_.type(g_.operand(id, 0)).dims[axis];
    const std::int64_t part = size / parts_of(given_.mesh, over);
    if (b_.type(index).element != dtype::i64) index = b_.convert(index, dtype::i32);
    const tensor_type type = b_.type(index);
    if (static_cast<index_mode>(g_.attribute(id, 2)) == index_mode::clip) {
      index = b_.binary(op::max, index, b_.splat(0, type));
      index = b_.binary(op::min, index, b_.splat(static_cast<double>(size - 1), type));
    }
    const int start = b_.convert(start_of(over, part), type.element);
    return start < 0 ? start : b_.sub(index, b_.broadcast(start, type.dims, 0));
  }
};

}  // namespace atled::passes::detail
