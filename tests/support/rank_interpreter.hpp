// support/rank_interpreter.hpp: runs the graph of one rank for all ranks of a mesh in one process,
// node by node in lock-step: the oracle of sharded programs.
// Reads: support/interpreter.hpp, core/partition_spec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"

#include "support/interpreter.hpp"

namespace atled::oracle {
namespace detail {

/// One rank: an interpreter whose values others may read and set.
class rank_interpreter : public interpreter {
 public:
  using interpreter::interpreter;
  array& value(int id) { return values_[index(id)]; }
  array compute(int id, const std::vector<array>& arguments) { return value_of(id, arguments); }
  const array& operand(int id, int i) { return in(id, i); }
};

/// Ranks that differ along one mesh axis only, in their order along it.
inline std::vector<std::size_t> group_of(const mesh_shape& mesh, std::int64_t ranks,
                                         std::int64_t rank, int axis) {
  std::vector<std::size_t> out;
  for (std::int64_t other = 0; other < ranks; ++other) {
    bool is_peer = true;
    for (int a = 0; a < mesh.num_axes; ++a) {
      is_peer = is_peer && (a == axis || mesh.place_of(other, a) == mesh.place_of(rank, a));
    }
    if (is_peer) out.push_back(static_cast<std::size_t>(other));
  }
  return out;
}

inline void combine(op code, array& sum, const array& x) {
  for (std::size_t i = 0; i < sum.size(); ++i) {
    if (code == op::psum || code == op::psum_scatter) {
      add_element(sum, i, x, i);
    } else if (sum.is_real()) {
      sum.reals[i] = real_binary(code == op::pmax ? op::max : op::min, sum.reals[i], x.reals[i]);
    } else {
      sum.integers[i] = integer_binary(code == op::pmax ? op::max : op::min, sum.integers[i],
                                       x.integers[i], x.type.element);
    }
  }
}

/// What rank number `me` of a group gets from the operands of all; axis 0 counts the ranks.
inline array collected(op code, const tensor_type& type, const std::vector<const array*>& all,
                       std::size_t me) {
  if (code == op::psum || code == op::pmax || code == op::pmin || code == op::psum_scatter) {
    array sum = *all[0];
    for (std::size_t k = 1; k < all.size(); ++k) combine(code, sum, *all[k]);
    if (code != op::psum_scatter) return sum;
    array out(type);
    for (std::size_t i = 0; i < out.size(); ++i) copy_element(out, i, sum, me * out.size() + i);
    return out;
  }
  array out(type);
  const std::size_t part = out.size() / all.size();
  for (std::size_t k = 0; k < all.size(); ++k) {
    for (std::size_t i = 0; i < part; ++i) {
      copy_element(out, k * part + i, *all[k], code == op::all_gather ? i : me * part + i);
    }
  }
  return out;
}

}  // namespace detail

/// The block of rank `rank` of a whole tensor.
inline array block_of_rank(const array& whole, const mesh_shape& mesh, const partition_spec& spec,
                           std::int64_t rank) {
  array out({whole.type.element, block_of(mesh, spec, whole.type.dims)});
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto p = detail::position_of(out.type.dims, static_cast<std::int64_t>(i));
    for (int k = 0; k < out.type.rank(); ++k) {
      std::int64_t part = 0;
      for (int a = 0; a < mesh.num_axes; ++a) {
        if ((spec.mask(k) >> a & 1U) != 0) part = part * mesh.sizes[a] + mesh.place_of(rank, a);
      }
      p.at[k] += part * out.type.dims[k];
    }
    detail::copy_element(out, i, whole, detail::flat_of(whole.type.dims, p));
  }
  return out;
}

/// The outputs of each rank of a mesh, all of whose sizes are known, for the arguments of each.
/// Collectives work along axis 0, as passes/shard.hpp makes them.
inline std::vector<std::vector<array>> interpret_on_ranks(
    const ir::graph& g, const mesh_shape& mesh, const std::vector<std::vector<array>>& arguments) {
  const std::int64_t ranks = mesh.known_size();
  std::vector<detail::rank_interpreter> all;
  for (std::int64_t r = 0; r < ranks; ++r) all.emplace_back(g);
  std::vector<bool> needed(static_cast<std::size_t>(g.num_nodes));
  const auto at = [](int id) { return static_cast<std::size_t>(id); };
  for (int i = 0; i < g.num_outputs; ++i) needed[at(g.outputs[i])] = true;
  for (int id = g.num_nodes - 1; id >= 0; --id) {
    for (int i = 0; needed[at(id)] && i < g[id].num_operands; ++i) {
      needed[at(g.operand(id, i))] = true;
    }
  }
  for (int id = 0; id < g.num_nodes; ++id) {
    if (!needed[at(id)]) continue;
    for (std::int64_t r = 0; r < ranks; ++r) {
      auto& rank = all[static_cast<std::size_t>(r)];
      const op code = g[id].code;
      if (!is_collective(code)) {
        rank.value(id) = rank.compute(id, arguments[static_cast<std::size_t>(r)]);
        continue;
      }
      const int axis = g.axes[g.attribute(id)].mesh_axis - 1;
      if (code == op::axis_index || code == op::axis_size) {
        array number(g.type(id));
        number.integers[0] = code == op::axis_size ? mesh.sizes[axis] : mesh.place_of(r, axis);
        rank.value(id) = number;
        continue;
      }
      std::vector<const array*> operands;
      std::size_t me = 0;
      for (const std::size_t peer : detail::group_of(mesh, ranks, r, axis)) {
        if (peer == static_cast<std::size_t>(r)) me = operands.size();
        operands.push_back(&all[peer].operand(id, 0));
      }
      if (code == op::ppermute) {  // with a list of sources
        const auto size = static_cast<std::int64_t>(operands.size());
        const int source = ir::lane_sources::unpacked(g.attributes_of(id), size).of[me];
        rank.value(id) =
            source < 0 ? array(g.type(id)) : *operands[static_cast<std::size_t>(source)];
        continue;
      }
      rank.value(id) = detail::collected(code, g.type(id), operands, me);
    }
  }
  std::vector<std::vector<array>> out(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < out.size(); ++r) {
    for (int i = 0; i < g.num_outputs; ++i) out[r].push_back(all[r].value(g.outputs[i]));
  }
  return out;
}

}  // namespace atled::oracle
