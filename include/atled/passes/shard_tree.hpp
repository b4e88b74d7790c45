// atled/passes/shard_tree.hpp: sums over split axes whose bits do not depend on the mesh.
// Reads: passes/shard_state.hpp. Next: passes/shard_moves.hpp. See `reproducible` in
// transform/sharded.hpp.
//
// An axis that mesh axes split is always summed as the same number of parts of equal size, and the
// parts in a balanced binary tree in their order. A rank that holds several parts adds the lower
// levels itself; the upper ones are recursive doubling: in round d each rank adds what the one d
// places further has. Sums are taken at once: what is linear in a sum would give other bits before.
//
//   4 parts on 1 rank    (p0 + p1) + (p2 + p3)
//   on 2 ranks           rank 0 p0 + p1, rank 1 p2 + p3, then each adds the other's
//   on 4 ranks           rank r p_r, two rounds
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/shard_state.hpp"

namespace atled::passes::detail {

class shard_tree : public shard_state {
 public:
  using shard_state::shard_state;

 protected:
  [[nodiscard]] constexpr bool is_reproducible() const { return given_.num_parts > 0; }

  /// How many parts this rank has of an axis of `size` elements; 0 after a sentence.
  constexpr int local_parts(int id, std::int64_t size, std::uint32_t mesh_axes) {
    for (int a = 0; a < given_.mesh.num_axes; ++a) {
      if (((mesh_axes >> a) & 1U) != 0 && given_.mesh.is_open(a)) {
        no_open_axis(a, "a reproducible sum");
        return 0;
      }
    }
    const std::int64_t ranks = parts_of(given_.mesh, mesh_axes);
    const std::int64_t parts = given_.num_parts;
    if (size % parts == 0 && parts % ranks == 0 && (ranks & (ranks - 1)) == 0) {
      return static_cast<int>(parts / ranks);
    }
    text why;
    why << "an axis of " << size << " elements on " << ranks << " ranks of " << given_.mesh.text()
        << ": reproducible sums of " << parts << " parts need sizes that are divisible by " << parts
        << ", and 1, 2, 4 ... ranks up to that";
    refuse(id, why);
    return 0;
  }

  /// Part number `part` of `parts` along an axis.
  constexpr int part_of(int y, int axis, int part, int parts) {
    if (y < 0 || parts == 1) return y;
    const shape& dims = b_.type(y).dims;
    shape starts{{}, dims.rank};
    shape strides{{}, dims.rank};
    shape sizes = dims;
    for (int i = 0; i < dims.rank; ++i) strides[i] = 1;
    sizes[axis] /= parts;
    starts[axis] = part * sizes[axis];
    return b_.slice(y, starts, sizes, strides);
  }

  /// The sum of `make(0)` ... `make(parts - 1)`, by pairs.
  template <class Make>
  constexpr int sum_of_parts(int parts, Make make) {
    int sums[16]{};  // of 2^k parts each, larger ones first
    int count = 0;
    for (int part = 0; part < parts; ++part) {
      sums[count++] = make(part);
      for (int done = part + 1; done % 2 == 0; done /= 2) {
        --count;
        sums[count - 1] = b_.add(sums[count - 1], sums[count]);
      }
    }
    return sums[0];
  }

  /// The sum over all ranks along some mesh axes, the last of them first.
  constexpr int sum_of_ranks(int y, std::uint32_t mesh_axes) {
    for (int a = given_.mesh.num_axes - 1; a >= 0; --a) {
      if (((mesh_axes >> a) & 1U) == 0) continue;
      const auto size = static_cast<int>(given_.mesh.sizes[a]);
      if (size > ir::lane_sources::capacity) {
        return b_.fail("shard", text("too many ranks for a reproducible sum"));
      }
      for (int distance = 1; distance < size && y >= 0; distance *= 2) {
        ir::lane_sources sources{};
        while (sources.size < size) {
          sources.of[sources.size] = sources.size ^ distance;
          ++sources.size;
        }
        y = b_.add(y, b_.append(op::ppermute, {y}, sources.packed(axis_[a])));
      }
    }
    return y;
  }

  /// A sum along axes, some of which are split: first along the last split axis, then before it.
  constexpr int tree_reduced(int id, int y, split_masks split, std::int64_t mask,
                             const shape& whole) {
    int rank = whole.rank;
    int original[max_rank]{};  // which axis of `whole` each axis is
    for (int i = 0; i < rank; ++i) original[i] = i;
    while (y >= 0) {
      int last = -1;
      int num_split = 0;
      std::int64_t now = 0;
      for (int i = 0; i < rank; ++i) {
        if (!ir::has_axis(mask, original[i])) continue;
        now |= std::int64_t{1} << i;
        if (mask_of(split, original[i]) == 0) continue;
        last = i;
        ++num_split;
      }
      if (num_split == 0) return now == 0 ? y : b_.reduce(op::reduce_sum, y, now);
      if (num_split > 1) now = std::int64_t{1} << last;
      const std::uint32_t over = mask_of(split, original[last]);
      const int parts = local_parts(id, whole[original[last]], over);
      if (parts == 0) return ir::poison;
      y = sum_of_parts(parts, [&](int part) {
        return b_.reduce(op::reduce_sum, part_of(y, last, part, parts), now);
      });
      y = sum_of_ranks(y, over);
      if (num_split == 1) return y;
      for (int i = last; i + 1 < rank; ++i) original[i] = original[i + 1];
      --rank;
    }
    return y;
  }
};

}  // namespace atled::passes::detail
