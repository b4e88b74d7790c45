// atled/passes/shard.hpp: a program on whole tensors becomes what each rank of a mesh runs on its
// blocks, with the collectives that this needs. Reads: passes/shard_rules.hpp. The rules are in
// `sharder::rule` below, one case for each op.
//
// Values move forward through the graph in one pass. A value is split along its axes, or it is a
// sum of which each rank holds a part: then ops that are linear in it work on the parts, and the
// sum is taken where an op is not, where the value is used twice, or where it would grow. If what
// uses it is split over the same mesh axis, the sum is scattered. Blocks are taken out of whole
// values in silence, for that moves nothing; the other way takes a word.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_moves.hpp"

namespace atled::passes {
namespace detail {

class sharder : public shard_moves {
 public:
  using shard_moves::shard_moves;

  /// Appends the program on blocks. Cost: O(nodes + edges), and once more for each loop whose
  /// carries must begin in another way.
  constexpr void run() {
    count_uses();
    find_wishes();
    open_axes();
    for (int id = 0; id < g_.num_nodes && b_.problem.empty(); ++id) {
      if (g_[id].code != op::parameter && uses_[id] == 0) continue;
      b_.site = g_[id].at;
      b_.scope = g_[id].scope;
      now_ = id;
      rule(id);
      if (g_[id].home != g_[id].scope) b_.move_home(place_[id], g_[id].scope, g_[id].home);
    }
    b_.scope = 0;
    now_ = g_.num_nodes;
    for (int i = 0; i < g_.num_outputs && b_.problem.empty(); ++i) output(i);
  }

 private:
  // --- the ends ------------------------------------------------------------------------------

  constexpr void parameter(int id) {
    const int i = static_cast<int>(g_.attribute(id));
    partition_spec spec = given_.parameters[i];
    state_[id] = spec;
    if (!given_.is_whole_parameter[i]) {
      place_[id] = b_.parameter(block_type(id, spec.masks));
      return;
    }
    place_[id] = b_.parameter(g_.type(id));
    if (spec.masks != 0) place_[id] = sliced(place_[id], 0, spec.masks);
  }

  constexpr void output(int i) {
    const int x = g_.outputs[i];
    int y = x;
    if (x >= 0) {
      b_.site = {g_[x].at.file, g_[x].at.line, ""};
      const bool is_asked = given_.has_output[i];
      const split_masks wanted = is_asked ? given_.outputs[i].masks : state_[x].masks;
      settle(x, wanted);
      const split_masks last = is_asked ? wanted : state_[x].masks;
      if (given_.is_whole_output[i]) {
        y = moved(x, 0, true);
      } else if (!is_free_move(x, last)) {
        text why;
        why << "output " << i << " is " << g_.type(x) << " as " << spec_text(x) << ", and "
            << partition_spec{last, 0, 0}.text(given_.mesh, g_.type(x).rank())
            << " would move it between ranks; say so with reshard";
        b_.fail_as("jit", g_[x].at, why);
        return;
      } else {
        y = take(x, last);
      }
      result_.outputs[i] = {last, 0, given_.outputs[i].gathered};
    }
    b_.g.outputs[b_.g.num_outputs++] = y;
  }

  // --- elementwise ---------------------------------------------------------------------------

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

  // --- shape ---------------------------------------------------------------------------------

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
    } else if (code == op::reduce_logsumexp) {
      place_[id] = logsumexp_over(b_.reduce(code, y, mask), over, is_less_its_largest(x));
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

  // --- indices -------------------------------------------------------------------------------

  constexpr void gather(int id) {
    const int x = g_.operand(id, 0);
    const int at = g_.operand(id, 1);
    const auto axis = static_cast<int>(g_.attribute(id, 0));
    const auto batch = static_cast<int>(g_.attribute(id, 1));
    settle(at, state_[at].masks);
    const bool may_stay = is_plain_sum(x) && g_.type(id).bytes() <= g_.type(x).bytes();
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
    emit_scatter(id, s);
  }

 public:
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

 private:
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
    place_[id] = b_.append(g_[id].code, {value, index, given}, attributes);
    if (partial != 0 && !is_zero(x)) addend_[id] = x + 1;
    if (!is_add && s.over != 0) place_[id] = over_all(op::pmax, place_[id], s.over);
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
    place_[id] = b_.dot(lhs, rhs, axes);
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

  // --- what must be whole --------------------------------------------------------------------

  constexpr void whole(int id) {
    int operands[ir::operand_types::capacity]{};
    for (int i = 0; i < g_[id].num_operands; ++i) {
      const int x = g_.operand(id, i);
      settle(x, 0);
      const split_masks own = whole_along(id, i, -1);
      if (!b_.problem.empty()) return;
      operands[i] = take(x, own);
    }
    state_[id] = {};
    place_[id] = same(id, operands, 0);
  }

  // --- words about sharding ------------------------------------------------------------------

  constexpr void constraint(int id) {
    const int x = g_.operand(id, 0);
    const auto wanted = static_cast<split_masks>(g_.attribute(id, 0));
    if ((g_.attribute(id, 1) & ir::back_again) != 0) {
      if (!stays_open(x)) settle(x, state_[x].masks);
      state_[id] = state_[x];
      addend_[id] = addend_[x];
      place_[id] = place_[x];
      for (int i = 0; i < g_.type(x).rank(); ++i) {
        const std::uint32_t same_way = state_[x].mask(i) & mask_of(wanted, i);
        state_[id].gathered = static_cast<std::uint8_t>(state_[id].gathered | same_way);
      }
      return;
    }
    settle(x, wanted);
    place_[id] = moved(x, wanted, true);
    state_[id] = {wanted, 0, static_cast<std::uint8_t>(g_.attribute(id, 1))};
  }

  /// The number of elements along axes: a constant, times the sizes of open axes.
  constexpr void extent(int id) {
    const int x = g_.operand(id, 0);
    std::int64_t count = 1;
    const std::int64_t mask = g_.attribute(id);
    for (int i = 0; i < g_.type(x).rank(); ++i) {
      if (ir::has_axis(mask, i)) count *= g_.type(x).dims[i];
    }
    const std::uint32_t over = reduced_mesh_axes(state_[x].masks, mask);
    int out = b_.constant(static_cast<double>(count), g_.type(id).element);
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      if (((over >> a) & 1U) == 0 || !given_.mesh.is_open(a)) continue;
      const int size =
          b_.append(op::axis_size, {}, ir::attribute_list::of(axis_[a]), {dtype::i32, {}});
      out = b_.mul(out, b_.convert(size, g_.type(id).element));
    }
    state_[id] = {};
    place_[id] = out;
  }

  // --- regions -------------------------------------------------------------------------------

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
      operands[i] = i < num_bound ? place_[x] : take(x, 0);
    }
    for (int i = 0; i < l.num_results(); ++i) {
      const int x = l.result(i);
      if (i < l.num_carries) {
        operands[first + i] = next_of(id, l.carry(i), x);
      } else {
        settle(x, state_[x].masks);
        operands[first + i] = take(x, state_[x].masks);
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
        uses_[x] == 1) {
      return take_parts(x, begin.masks);
    }
    const bool is_first_time = !carries_.is_known[carry];
    if (is_first_time && stays_open(x) && addend_[x] == carry + 1 &&
        is_zero(g_.operand(carry, 0))) {
      begins_as(carry, {state_[x].masks, state_[x].partial, 0});
      return place_[carry];
    }
    if (begin.partial != 0) {
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
                                         : partition_spec{state_[l.result(index)].masks << 8, 0, 0};
    }
    place_[id] = b_.result_of(place_[x], index);
  }

  // --- the cases -----------------------------------------------------------------------------

  constexpr void rule(int id) {
    switch (g_[id].code) {
      case op::parameter:
        return parameter(id);
      case op::constant:
        place_[id] = b_.append(op::constant, {}, g_.attributes_of(id), g_.type(id));
        return;
      case op::iota:
        place_[id] = b_.iota(g_.type(id), static_cast<int>(g_.attribute(id)));
        return;
      case op::broadcast:
        return broadcast(id);
      case op::reshape:
        return reshape(id);
      case op::transpose: {
        const int x = g_.operand(id, 0);
        if (!is_plain_sum(x)) settle(x, state_[x].masks);
        const split_masks own = state_[x].masks;
        const int y =
            moved_operand(id, x, own, permuted_split(own, g_.attribute(id), g_.type(id).rank()));
        place_[id] = b_.transpose(y, g_.attribute(id));
        return;
      }
      case op::slice:
        return along_whole_axes(id, changed_axes(id), true);
      case op::reverse:
        return along_whole_axes(id, g_.attribute(id), true);
      case op::pad:
        return pad(id);
      case op::concatenate:
        return concatenate(id);
      case op::gather:
        return gather(id);
      case op::scatter_add:
      case op::scatter_max:
        return scatter(id);
      case op::dynamic_slice:
      case op::dynamic_update_slice:
        return dynamic(id);
      case op::reduce_sum:
      case op::reduce_prod:
      case op::reduce_max:
      case op::reduce_min:
      case op::reduce_logsumexp:
      case op::argmax:
      case op::argmin:
        return reduction(id);
      case op::cumsum:
      case op::reverse_cumsum:
        return along_whole_axes(id, std::int64_t{1} << g_.attribute(id), true);
      case op::cumprod:
      case op::cummax:
      case op::cummin:
      case op::cumlogsumexp:
      case op::argsort:
        return along_whole_axes(id, std::int64_t{1} << g_.attribute(id), false);
      case op::cholesky:
      case op::triangular_solve:
      case op::lu:
      case op::qr:
      case op::eigh:
      case op::svd:
        return matrices(id);
      case op::dot:
        return dot(id);
      case op::custom: {  // its value; the rule was asked before
        const int x = g_.operand(id, 0);
        settle(x, state_[x].masks);
        state_[id] = state_[x];
        place_[id] = place_[x];
        return;
      }
      case op::custom_linear:
      case op::custom_part:
      case op::external:
      case op::external_result:
        return whole(id);
      case op::barrier:  // made later
      case op::psum:     // of axes that a vmap has named: gone
      case op::pmax:
      case op::pmin:
      case op::all_gather:
      case op::psum_scatter:
      case op::all_to_all:
      case op::ppermute:
      case op::axis_index:
      case op::axis_size:
        return whole(id);
      case op::sharding_constraint:
        return constraint(id);
      case op::extent:
        return extent(id);
      case op::carry:
      case op::item:
      case op::enter:
        return bound(id);
      case op::loop:
        return loop(id);
      case op::cond:
        return cond(id);
      case op::result_of:
        return result_of(id);

      case op::variable:
      case op::neg:
      case op::exp:
      case op::expm1:
      case op::log:
      case op::log1p:
      case op::tanh:
      case op::logistic:
      case op::sin:
      case op::cos:
      case op::sqrt:
      case op::rsqrt:
      case op::erf:
      case op::erfc:
      case op::erf_inv:
      case op::sinh:
      case op::cosh:
      case op::cbrt:
      case op::lgamma:
      case op::polygamma:
      case op::abs:
      case op::sign:
      case op::floor:
      case op::ceil:
      case op::round:
      case op::is_finite:
      case op::logical_not:
      case op::convert:
      case op::stop_gradient:
      case op::checkpoint_name:
      case op::add:
      case op::sub:
      case op::mul:
      case op::strong_mul:
      case op::div:
      case op::rem:
      case op::pow:
      case op::max:
      case op::min:
      case op::atan2:
      case op::bit_and:
      case op::bit_or:
      case op::bit_xor:
      case op::shift_left:
      case op::shift_right:
      case op::eq:
      case op::ne:
      case op::lt:
      case op::le:
      case op::gt:
      case op::ge:
      case op::select:
      case op::threefry:
        return elementwise(id);
    }
    __builtin_unreachable();
  }
};

}  // namespace detail

/// What each rank of a mesh runs on its blocks, given how arguments and results are split.
///
/// Pre: derivatives have been taken: no node `varies`. Sizes along an open mesh axis are those of
/// one rank's block; all others are whole.
/// Post: the graph has the collectives of `shard_map`; equal in value to `from`, but for the order
/// of sums. `result` says how the outputs are split where `given` does not.
/// Cost: O(nodes + edges). Ill-formed: a sentence in `into.problem`.
constexpr void shard(const ir::graph& from, const shardings& given, ir::builder& into,
                     shardings& result) {
  auto* carries = new detail::carry_specs{};
  const auto run = [&](ir::builder& b) {
    carries->again = false;
    auto* pass = new detail::sharder(from, given, b, *carries, result);
    pass->run();
    delete pass;
  };
  for (int tries = 0; tries < 4 && from.num_regions > 0; ++tries) {
    auto* trial = new ir::builder();
    run(*trial);
    delete trial;
    if (!carries->again) break;
  }
  run(into);
  if (carries->again)
    into.fail("scan", text("the splits of its carries do not settle; put "
                           "with_sharding_constraint on what they begin with"));
  delete carries;
}

}  // namespace atled::passes
