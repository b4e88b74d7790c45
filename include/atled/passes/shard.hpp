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

#include "atled/passes/shard_regions.hpp"

namespace atled::passes {
namespace detail {

class sharder : public shard_regions {
 public:
  using shard_regions::shard_regions;

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
      if (is_reproducible()) settle(id, state_[id].masks);  // of one element and zeros: exact
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
