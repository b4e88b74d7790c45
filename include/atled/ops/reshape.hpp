// atled/ops/reshape.hpp: the same elements under other axes: reshape, transpose, broadcast_to.
// Reads: ops/arguments.hpp. Next: ops/slice.hpp, which takes and joins parts.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/arguments.hpp"

namespace atled {

/// The elements of `x`, in their order, under other sizes; one size may be -1 and follows.
///
/// `reshape(x, {8, -1})`; `reshape<8, 16>(x)` where the sizes are known to the source.
/// Ill-formed: the number of elements differs; two sizes are -1.
[[nodiscard]] constexpr expr reshape(const expr& x, const sizes& dims,
                                     call_site at = call_site::here()) {
  const ir::operand in(x, at.in("reshape"));
  ir::builder& b = in.builder();
  if (in.is_poison() || !ir::are_sizes(b, dims, true)) return {b, ir::poison};
  shape out = dims.dims;
  int unknown = -1;
  std::int64_t known = 1;
  std::int64_t bounded = 0;  // a bounded size of x, or none where `out` has all of them
  for (int i = 0; i < in.type().rank(); ++i) {
    if (is_bounded(in.type().dims[i])) bounded = bounded == 0 ? in.type().dims[i] : bounded;
  }
  for (int i = 0; i < out.rank; ++i) {
    if (out[i] == -1) {
      unknown = i;
    } else {
      known *= bound_of(out[i]);
      if (is_bounded(out[i])) bounded = 0;
    }
  }
  const std::int64_t count = in.type().size();
  if (unknown >= 0) {
    if (bounded != 0 && known * bound_of(bounded) == count) {
      out[unknown] = bounded;
      return {b, b.reshape(in.id(), out)};
    }
    if (known == 0 || count % known != 0) {
      text why;
      return ir::fail(b, why << in.type() << " to " << dims.dims << ": " << count
                             << " elements must be divisible by " << known);
    }
    out[unknown] = count / known;
  }
  return {b, b.reshape(in.id(), out)};
}
template <std::int64_t... Dims>
[[nodiscard]] constexpr expr reshape(const expr& x, call_site at = call_site::here()) {
  return reshape(x, {Dims...}, at);
}

/// The size of one axis as a scalar i32 of the program: of a bounded axis what comes with the call.
///
///   x  f32[upto<8>, C]     size(x, 0)  i32[]     sum(x) / size(x, 0)
///
/// Ill-formed: the axis is out of range.
[[nodiscard]] constexpr expr size(const expr& x, int along, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("size"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  return {b, axis_id < 0 ? ir::poison : b.size_of(in.type().dims[axis_id], dtype::i32)};
}

/// All elements along one axis.
[[nodiscard]] constexpr expr ravel(const expr& x, call_site at = call_site::here()) {
  return ir::flattened(ir::operand(x, at.in("ravel")));
}
/// The same as `ravel`.
[[nodiscard]] constexpr expr flatten(const expr& x, call_site at = call_site::here()) {
  return ir::flattened(ir::operand(x, at.in("flatten")));
}

/// The axes of `x` in another order: axis i of the result is axis `order[i]` of `x`; without an
/// order in reverse, which of a matrix gives its transpose.
///
/// Ill-formed: `order` does not hold each axis once.
[[nodiscard]] constexpr expr transpose(const expr& x, const axes& order = {},
                                       call_site at = call_site::here()) {
  const ir::operand in(x, at.in("transpose"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int rank = in.type().rank();
  if (!order.all && order.size != rank) {
    text why;
    return ir::fail(b, why << in.type() << " by " << order.size << " axes: each of its " << rank
                           << " axes must be given once");
  }
  if (ir::resolved_axes(b, in.type(), order) < 0) return {b, ir::poison};
  std::int64_t packed = 0;
  bool moves = false;
  for (int i = 0; i < rank; ++i) {
    const int from = order.all           ? rank - 1 - i
                     : order.list[i] < 0 ? order.list[i] + rank
                                         : order.list[i];
    packed = ir::with_permuted_axis(packed, i, from);
    moves = moves || from != i;
  }
  return {b, moves ? b.transpose(in.id(), packed) : in.id()};
}

/// `x` with two axes exchanged.
///
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr swapaxes(const expr& x, int first, int second,
                                      call_site at = call_site::here()) {
  at = at.in("swapaxes");
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const int one = ir::resolved_axis(in.builder(), in.type(), first);
  const int other = ir::resolved_axis(in.builder(), in.type(), second);
  if (one < 0 || other < 0) return {in.builder(), ir::poison};
  axes order = axes{std::initializer_list<int>{}};
  for (int i = 0; i < in.type().rank(); ++i) order.push(i == one ? other : i == other ? one : i);
  return transpose(x, order, at);
}
/// The last two axes exchanged.
///
/// Ill-formed: fewer than two axes.
[[nodiscard]] constexpr expr matrix_transpose(const expr& x, call_site at = call_site::here()) {
  return swapaxes(x, -2, -1, at.in("matrix_transpose"));
}

/// `x` with axis `from` moved to stand at `to`; the others keep their order.
///
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr moveaxis(const expr& x, int from, int to,
                                      call_site at = call_site::here()) {
  at = at.in("moveaxis");
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const int source = ir::resolved_axis(in.builder(), in.type(), from);
  const int target = ir::resolved_axis(in.builder(), in.type(), to);
  if (source < 0 || target < 0) return {in.builder(), ir::poison};
  axes order = axes{std::initializer_list<int>{}};
  int next = 0;  // the axis of x that comes next
  for (int i = 0; i < in.type().rank(); ++i) {
    if (next == source) ++next;
    order.push(i == target ? source : next++);
  }
  return transpose(x, order, at);
}

/// `x` with a new axis of size 1 at each of the places that `along` names in the result.
///
///   x  f32[T, C]     expand_dims(x, 0)  f32[1, T, C]     expand_dims(x, -1)  f32[T, C, 1]
///
/// Ill-formed: an axis out of range; more than 8 axes.
[[nodiscard]] constexpr expr expand_dims(const expr& x, const axes& along,
                                         call_site at = call_site::here()) {
  const ir::operand in(x, at.in("expand_dims"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  tensor_type wide{in.type().element, {}};
  const int added = along.all ? 0 : along.size;
  if (in.type().rank() + added > max_rank) {
    text why;
    return ir::fail(b, why << in.type() << " with " << added << " more: at most 8 axes");
  }
  wide.dims.rank = in.type().rank() + added;
  const std::int64_t mask = along.all ? 0 : ir::resolved_axes(b, wide, along);
  if (mask < 0) return {b, ir::poison};
  int next = 0;
  for (int i = 0; i < wide.rank(); ++i) {
    wide.dims[i] = ir::has_axis(mask, i) ? 1 : in.type().dims[next++];
  }
  return ir::spread(in, wide.dims, mask);
}

/// `x` without axes of size 1: all such, or those named.
///
/// Ill-formed: an axis out of range, or of another size.
[[nodiscard]] constexpr expr squeeze(const expr& x, const axes& along = {},
                                     call_site at = call_site::here()) {
  const ir::operand in(x, at.in("squeeze"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  const std::int64_t mask = ir::resolved_axes(b, type, along);
  if (mask < 0) return {b, ir::poison};
  shape out{};
  for (int i = 0; i < type.rank(); ++i) {
    if (!ir::has_axis(mask, i) || (along.all && type.dims[i] != 1)) {
      out.push(type.dims[i]);
    } else if (type.dims[i] != 1) {
      text why;
      return ir::fail(b, why << type << ": axis " << i << " (" << size_text{type.dims[i]}
                             << ") must have size 1");
    }
  }
  return {b, b.reshape(in.id(), out)};
}

/// `x` repeated along new leading axes and along its axes of size 1.
///
/// Gradient: d_out summed over what was repeated.
/// Ill-formed: an axis, counted from the last, is neither equal nor 1.
[[nodiscard]] constexpr expr broadcast_to(const expr& x, const sizes& dims,
                                          call_site at = call_site::here()) {
  const ir::operand in(x, at.in("broadcast_to"));
  ir::builder& b = in.builder();
  if (in.is_poison() || !ir::are_sizes(b, dims)) return {b, ir::poison};
  const tensor_type type = in.type();
  const int lead = dims.dims.rank - type.rank();
  text why;
  if (lead < 0) {
    return ir::fail(b, why << type << " to " << dims.dims << ": the result must have at least "
                           << type.rank() << " axes");
  }
  for (int i = 0; i < type.rank(); ++i) {
    if (type.dims[i] != 1 && type.dims[i] != dims[lead + i]) {
      return ir::fail(b, why << type << " to " << dims.dims << ": axis " << i << " ("
                             << size_text{type.dims[i]} << ") must be 1 or "
                             << size_text{dims[lead + i]});
    }
  }
  return {b, ir::broadcast_to(b, in.id(), dims.dims)};
}
template <std::int64_t... Dims>
[[nodiscard]] constexpr expr broadcast_to(const expr& x, call_site at = call_site::here()) {
  return broadcast_to(x, {Dims...}, at);
}

}  // namespace atled
