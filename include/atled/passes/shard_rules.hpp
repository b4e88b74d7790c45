// atled/passes/shard_rules.hpp: how a split of an op's operands and of its result go together: what
// passes/shard.hpp asks for each op. Reads: core/partition_spec.hpp, passes/ids.hpp.
//
// A split is a number with a byte for each axis of the tensor: the mesh axes that split it, the
// first of them outermost. A split that is a prefix of another is reached from it by gathering, the
// other way by slicing, which moves nothing between ranks.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"
#include "atled/passes/ids.hpp"

namespace atled::passes {

using split_masks = std::uint64_t;

[[nodiscard]] constexpr std::uint32_t mask_of(split_masks split, int axis) {
  return static_cast<std::uint32_t>(split >> (8 * axis)) & 255U;
}
[[nodiscard]] constexpr split_masks with_mask(split_masks split, int axis, std::uint32_t mask) {
  split &= ~(split_masks{255} << (8 * axis));
  return split | static_cast<split_masks>(mask) << (8 * axis);
}
[[nodiscard]] constexpr std::uint32_t axes_of(split_masks split) {
  return partition_spec{split, 0, 0}.used();
}
/// Without some mesh axes.
[[nodiscard]] constexpr split_masks without(split_masks split, std::uint32_t mesh_axes) {
  const split_masks all = 0x0101010101010101U * split_masks{mesh_axes & 255U};
  return split & ~all;
}

/// All of `start` are the outermost of `mask`: the same parts, perhaps split further.
[[nodiscard]] constexpr bool is_prefix(std::uint32_t start, std::uint32_t mask) {
  const std::uint32_t rest = mask & ~start;
  return (start & ~mask) == 0 && (rest == 0 || (rest & (~rest + 1)) > start);
}
/// The mesh axes that two lists have in common from the outermost on.
[[nodiscard]] constexpr std::uint32_t common_prefix(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t differ = a ^ b;
  return a & b & ((differ & (~differ + 1)) - 1);
}
/// Each axis of `start` is a prefix of that of `split`.
[[nodiscard]] constexpr bool is_coarser(split_masks start, split_masks split) {
  if (start == split || start == 0) return true;
  for (int i = 0; i < max_rank; ++i) {
    if (!is_prefix(mask_of(start, i), mask_of(split, i))) return false;
  }
  return true;
}

/// The split of a transpose; `permutation` as in op::transpose.
[[nodiscard]] constexpr split_masks permuted_split(split_masks split, std::int64_t permutation,
                                                   int rank) {
  split_masks out = 0;
  for (int i = 0; i < rank; ++i) {
    out = with_mask(out, i, mask_of(split, ir::permuted_axis(permutation, i)));
  }
  return out;
}
/// The split of the operand of a transpose of this split.
[[nodiscard]] constexpr split_masks unpermuted_split(split_masks split, std::int64_t permutation,
                                                     int rank) {
  split_masks out = 0;
  for (int i = 0; i < rank; ++i) {
    out = with_mask(out, ir::permuted_axis(permutation, i), mask_of(split, i));
  }
  return out;
}

/// The split of a broadcast of an operand of these sizes: see op::broadcast.
[[nodiscard]] constexpr split_masks broadcast_split(split_masks split, std::int64_t mask,
                                                    int rank) {
  split_masks out = 0;
  int axis = 0;
  for (int i = 0; i < rank; ++i) {
    if (ir::has_axis(mask, i)) out = with_mask(out, i, mask_of(split, axis++));
  }
  return out;
}
/// The split of the operand of a broadcast: axes that the broadcast makes need none.
[[nodiscard]] constexpr split_masks unbroadcast_split(split_masks split, std::int64_t mask,
                                                      const shape& operand, const shape& dims) {
  split_masks out = 0;
  int axis = 0;
  for (int i = 0; i < dims.rank; ++i) {
    if (!ir::has_axis(mask, i)) continue;
    if (operand[axis] == dims[i]) out = with_mask(out, axis, mask_of(split, i));
    ++axis;
  }
  return out;
}

/// A split without some axes of the tensor, as a reduction drops them.
[[nodiscard]] constexpr split_masks reduced_split(split_masks split, std::int64_t mask, int rank) {
  split_masks out = 0;
  int axis = 0;
  for (int i = 0; i < rank; ++i) {
    if (!ir::has_axis(mask, i)) out = with_mask(out, axis++, mask_of(split, i));
  }
  return out;
}
/// The mesh axes that split the axes which a reduction drops.
[[nodiscard]] constexpr std::uint32_t reduced_mesh_axes(split_masks split, std::int64_t mask) {
  std::uint32_t out = 0;
  for (int i = 0; i < max_rank; ++i) {
    if (ir::has_axis(mask, i)) out |= mask_of(split, i);
  }
  return out;
}

/// A split, or the axis that prevents it.
struct split_or_axis {
  split_masks split;
  int axis;  ///< -1: there is a split
};

/// The split of a reshape. Sizes are grouped so that groups on both sides have equal products; what
/// splits the first axis of a group then splits the first axis of the other side's group.
[[nodiscard]] constexpr split_or_axis reshaped_split(const mesh_shape& mesh, split_masks split,
                                                     const shape& from, const shape& to) {
  if (split == 0) return {0, -1};
  split_masks out = 0;
  int i = 0;
  int j = 0;
  while (i < from.rank) {
    const int first = i;
    while (j < to.rank && to[j] == 1 && from[i] != 1) ++j;
    if (from[i] == 1 && !(j < to.rank && to[j] == 1)) {  // an axis of one element goes
      if (mask_of(split, i) != 0) return {0, i};
      ++i;
      continue;
    }
    if (j == to.rank) break;
    const int place = j;
    std::int64_t left = from[i++];
    std::int64_t right = to[j++];
    while (left != right) {
      if (left < right && i < from.rank) {
        left *= from[i++];
      } else if (left > right && j < to.rank) {
        right *= to[j++];
      } else {
        break;
      }
    }
    for (int k = first + 1; k < i; ++k) {
      if (mask_of(split, k) != 0) return {0, k};
    }
    const std::uint32_t mask = mask_of(split, first);
    if (mask == 0) continue;
    if (to[place] % parts_of(mesh, mask) != 0) return {0, first};
    out = with_mask(out, place, mask);
  }
  return {out, -1};
}

/// How two splits of tensors of equal sizes become one.
struct joint_split {
  split_masks split;
  int axis;       ///< where they are in conflict, or -1
  int mesh_axis;  ///< that splits two axes of the tensor then, or -1
};

/// Each axis takes the finer of two splits; what one of them may make whole without a word gives
/// way.
[[nodiscard]] constexpr joint_split joined_splits(const partition_spec& lhs,
                                                  const partition_spec& rhs) {
  if (lhs.masks == rhs.masks || rhs.masks == 0) return {lhs.masks, -1, -1};
  if (lhs.masks == 0) return {rhs.masks, -1, -1};
  joint_split out{0, -1, -1};
  std::uint32_t used = 0;
  for (int i = 0; i < max_rank; ++i) {
    const std::uint32_t a = lhs.mask(i);
    const std::uint32_t b = rhs.mask(i);
    std::uint32_t mask = a;
    if (is_prefix(a, b)) {
      mask = b;
    } else if (!is_prefix(b, a)) {
      if ((a & ~lhs.gathered) == 0) {
        mask = b;
      } else if ((b & ~rhs.gathered) != 0) {
        return {0, i, -1};
      }
    }
    if ((mask & used) != 0) {
      for (int k = 0; k < 8; ++k) {
        if (((mask & used) >> k & 1U) != 0) return {out.split, i, k};
      }
    }
    used |= mask;
    out.split = with_mask(out.split, i, mask);
  }
  return out;
}

/// The same, where a mesh axis that would split two axes is taken from the side that may be made
/// whole.
[[nodiscard]] constexpr joint_split joined_without_a_word(const partition_spec& lhs,
                                                          const partition_spec& rhs) {
  const joint_split first = joined_splits(lhs, rhs);
  if (first.axis < 0) return first;
  if (lhs.gathered != 0) {
    const partition_spec whole{without(lhs.masks, lhs.gathered), 0, 0};
    if (const joint_split out = joined_splits(whole, rhs); out.axis < 0) return out;
  }
  if (rhs.gathered != 0) {
    const partition_spec whole{without(rhs.masks, rhs.gathered), 0, 0};
    if (const joint_split out = joined_splits(lhs, whole); out.axis < 0) return out;
  }
  return first;
}

/// Splits of the operands and of the result of a product, and over which mesh axes the result is a
/// partial sum.
struct dot_split {
  split_masks lhs, rhs, out;
  std::uint32_t partial;
  int lhs_axis, rhs_axis;  ///< a pair in conflict, or -1
  std::uint32_t twice;     ///< mesh axes that would split two axes
};

[[nodiscard]] constexpr dot_split split_of_dot(const ir::dot_axes& axes, split_masks lhs,
                                               split_masks rhs, int lhs_rank, int rhs_rank) {
  dot_split out{lhs, rhs, 0, 0, -1, -1, 0};
  const auto pair = [&](int l, int r) -> std::uint32_t {
    const std::uint32_t a = mask_of(lhs, l);
    const std::uint32_t b = mask_of(rhs, r);
    if (!is_prefix(a, b) && !is_prefix(b, a)) {
      out.lhs_axis = l;
      out.rhs_axis = r;
    }
    const std::uint32_t mask = is_prefix(a, b) ? b : a;
    out.lhs = with_mask(out.lhs, l, mask);
    out.rhs = with_mask(out.rhs, r, mask);
    return mask;
  };
  std::uint32_t used = 0;
  const auto use = [&](std::uint32_t mask) {
    out.twice |= used & mask;
    used |= mask;
  };
  int axis = 0;
  for (int i = 0; i < axes.num_batch; ++i) {
    const std::uint32_t mask = pair(axes.lhs_batch[i], axes.rhs_batch[i]);
    use(mask);
    out.out = with_mask(out.out, axis++, mask);
  }
  for (int i = 0; i < axes.num_contract; ++i) {
    const std::uint32_t mask = pair(axes.lhs_contract[i], axes.rhs_contract[i]);
    use(mask);
    out.partial |= mask;
  }
  for (int i = 0; i < lhs_rank; ++i) {
    if (axes.role_of_lhs(i) != 'f') continue;
    use(mask_of(lhs, i));
    out.out = with_mask(out.out, axis++, mask_of(lhs, i));
  }
  for (int i = 0; i < rhs_rank; ++i) {
    if (axes.role_of_rhs(i) != 'f') continue;
    use(mask_of(rhs, i));
    out.out = with_mask(out.out, axis++, mask_of(rhs, i));
  }
  return out;
}

/// The splits of the operands of a dot whose result is split so. Pre: nothing contracted is.
[[nodiscard]] constexpr dot_split operands_of_dot(const ir::dot_axes& axes, split_masks result,
                                                  int lhs_rank, int rhs_rank) {
  dot_split out{0, 0, result, 0, -1, -1, 0};
  int axis = 0;
  for (int i = 0; i < axes.num_batch; ++i, ++axis) {
    out.lhs = with_mask(out.lhs, axes.lhs_batch[i], mask_of(result, axis));
    out.rhs = with_mask(out.rhs, axes.rhs_batch[i], mask_of(result, axis));
  }
  for (int i = 0; i < lhs_rank; ++i) {
    if (axes.role_of_lhs(i) == 'f') out.lhs = with_mask(out.lhs, i, mask_of(result, axis++));
  }
  for (int i = 0; i < rhs_rank; ++i) {
    if (axes.role_of_rhs(i) == 'f') out.rhs = with_mask(out.rhs, i, mask_of(result, axis++));
  }
  return out;
}

/// What an op does with a value that is a sum of parts, one on each rank.
enum class linearity : std::uint8_t {
  none,        ///< the sum is needed first
  every,       ///< linear in its only operand
  sum,         ///< of its two operands
  either,      ///< linear in each of its two operands, not in both at once
  first,       ///< linear in the first of two
  selections,  ///< linear in operands 1 and 2 together
};
[[nodiscard]] constexpr linearity linearity_of(op code) {
  switch (code) {
    case op::neg:
    case op::variable:
    case op::stop_gradient:
    case op::checkpoint_name:
      return linearity::every;
    case op::add:
    case op::sub:
      return linearity::sum;
    case op::mul:
    case op::strong_mul:
      return linearity::either;
    case op::div:
      return linearity::first;
    case op::select:
      return linearity::selections;
    default:
      return linearity::none;
  }
}

}  // namespace atled::passes
