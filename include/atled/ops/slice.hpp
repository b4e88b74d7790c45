// atled/ops/slice.hpp: parts of tensors, and tensors from parts: slice, split, concatenate.
// Reads: ops/reshape.hpp. Next: ops/pad.hpp. For places that are computed see
// ops/dynamic_slice.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reshape.hpp"

#include <array>
#include <span>

namespace atled {

/// The elements from `starts` up to, without, `limits`, every `strides`-th.
///
///   x  f32[8, 16]     slice(x, {0, 4}, {8, 12})  f32[8, 8]
///
/// Gradient: d_x is d_out at these places, 0 elsewhere.
/// Ill-formed: not one number an axis; a range that does not lie within its axis.
[[nodiscard]] constexpr expr slice(const expr& x, const sizes& starts, const sizes& limits,
                                   const sizes& strides = {}, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("slice"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const tensor_type type = in.type();
  text why;
  if (starts.count != type.rank() || limits.count != type.rank() ||
      (strides.count != 0 && strides.count != type.rank())) {
    return ir::fail(b, why << type << " from " << starts.dims << " to " << limits.dims
                           << ": there must be one number for each axis");
  }
  shape out{};
  shape steps{};
  for (int i = 0; i < type.rank(); ++i) {
    const std::int64_t step = strides.count == 0 ? 1 : strides[i];
    if (starts[i] < 0 || limits[i] < starts[i] || limits[i] > type.dims[i] || step < 1) {
      return ir::fail(b, why << type << ": axis " << i << " from " << starts[i] << " to "
                             << limits[i] << " in steps of " << step
                             << ": it must go up from 0 or more to " << type.dims[i] << " or less");
    }
    out.push((limits[i] - starts[i] + step - 1) / step);
    steps.push(step);
  }
  if (out == type.dims) return in;
  return {b, b.slice(in.id(), starts.dims, out, steps)};
}

/// The elements from `start` up to, without, `limit` along one axis; negative places count from
/// its end.
///
///   x  f32[8, 16]     slice_in_dim(x, 1, 8)  f32[7, 16]     slice_in_dim(x, 0, -1, 1, -1)  f32[8,
///   15]
///
/// Ill-formed: the axis is out of range; the range does not lie within it.
[[nodiscard]] constexpr expr slice_in_dim(const expr& x, std::int64_t start, std::int64_t limit,
                                          std::int64_t stride = 1, int along = 0,
                                          call_site at = call_site::here()) {
  at = at.in("slice_in_dim");
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const shape dims = in.type().dims;
  const int axis_id = ir::resolved_axis(in.builder(), in.type(), along);
  if (axis_id < 0) return {in.builder(), ir::poison};
  shape starts = dims;
  shape limits = dims;
  shape strides = dims;
  for (int i = 0; i < dims.rank; ++i) {
    starts[i] = 0;
    strides[i] = 1;
  }
  starts[axis_id] = start < 0 ? start + dims[axis_id] : start;
  limits[axis_id] = limit < 0 ? limit + dims[axis_id] : limit;
  strides[axis_id] = stride;
  return slice(in, starts, limits, strides, at);
}

/// The element, row, ... at place `i` of one axis, which is dropped unless it is kept; a negative
/// place counts from the end.
///
///   x  f32[T, C]     index_in_dim(x, -1)  f32[C]     index_in_dim(x, 0, 1, keepdims)  f32[T, 1]
///
/// Ill-formed: the axis or the place is out of range.
[[nodiscard]] constexpr expr index_in_dim(const expr& x, std::int64_t i, int along = 0,
                                          kept keep = {}, call_site at = call_site::here()) {
  at = at.in("index_in_dim");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  const std::int64_t size = in.type().dims[axis_id];
  if (i < -size || i >= size) {
    text why;
    return ir::fail(b, why << in.type() << " at " << i << " of axis " << axis_id
                           << ": the place must be from " << -size << " to " << size - 1);
  }
  const std::int64_t start = i < 0 ? i + size : i;
  const expr row = slice_in_dim(x, start, start + 1, 1, axis_id, at);
  return keep.value ? row : squeeze(row, axis_id, at);
}

/// N equal parts along one axis: `auto [q, k, v] = split<3>(qkv, -1);`
///
/// Ill-formed: the axis is out of range; its size is not a multiple of N.
template <int N>
[[nodiscard]] constexpr std::array<expr, std::size_t{N}> split(const expr& x, int along = 0,
                                                               call_site at = call_site::here()) {
  static_assert(N > 0, "atled::split: the number of parts must be positive");
  at = at.in("split");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  std::array<expr, std::size_t{N}> out{};
  out.fill({b, ir::poison});
  if (in.is_poison()) return out;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return out;
  const std::int64_t size = in.type().dims[axis_id];
  if (size % N != 0) {
    text why;
    out.fill(ir::fail(b, why << in.type() << ": axis " << axis_id << " (" << size
                             << ") must be divisible by " << N));
    return out;
  }
  for (int i = 0; i < N; ++i) {
    out[static_cast<std::size_t>(i)] =
        slice_in_dim(x, i * (size / N), (i + 1) * (size / N), 1, axis_id, at);
  }
  return out;
}

/// The parts between the given places of one axis: `auto [a, b, c] = split(x, {2, 5}, 1);`
///
/// Ill-formed: the axis is out of range; the places do not go up from 0 to its size.
template <std::size_t N>
[[nodiscard]] constexpr std::array<expr, N + 1> split(const expr& x,
                                                      const std::int64_t (&places)[N],
                                                      int along = 0,
                                                      call_site at = call_site::here()) {
  at = at.in("split");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  std::array<expr, N + 1> out{};
  out.fill({b, ir::poison});
  if (in.is_poison()) return out;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return out;
  for (std::size_t i = 0; i <= N; ++i) {
    const std::int64_t end = i < N ? places[i] : in.type().dims[axis_id];
    out[i] = slice_in_dim(x, i == 0 ? 0 : places[i - 1], end, 1, axis_id, at);
  }
  return out;
}

/// The parts behind one another along an existing axis, promoted to one element type.
///
///   concatenate({x, y}, 1)     x  f32[B, C]     y  f32[B, D]     out  f32[B, C + D]
///
/// Ill-formed: no part; an axis other than this one differs; the axis is out of range.
[[nodiscard]] constexpr expr concatenate(std::span<const expr> parts, int along = 0,
                                         call_site at = call_site::here()) {
  constexpr int most = ir::operand_types::capacity;
  const ir::operand first(parts.front(), at.in("concatenate"));
  ir::builder& b = first.builder();
  if (first.is_poison()) return first;
  const int axis_id = ir::resolved_axis(b, first.type(), along);
  dtype element = first.type().element;
  for (const expr& part : parts) {
    if (part.is_poison() || axis_id < 0) return {b, ir::poison};
    element = promote(element, part.element());
  }
  int joined = ir::no_node;  // what has been joined so far, `most` parts at a time
  std::size_t next = 0;
  while (next < parts.size()) {
    int ids[most]{};
    int count = 0;
    if (joined >= 0) ids[count++] = joined;
    while (count < most && next < parts.size()) {
      ids[count++] = b.convert(parts[next++].id(), element);
    }
    joined = count == 1 ? ids[0]
                        : b.append(op::concatenate, ids, count, ir::attribute_list::of(axis_id));
    if (joined < 0) break;
  }
  return {b, joined};
}
[[nodiscard]] constexpr expr concatenate(std::initializer_list<expr> parts, int along = 0,
                                         call_site at = call_site::here()) {
  return concatenate(std::span<const expr>(parts.begin(), parts.size()), along, at);
}

/// The parts, of one shape, along a new axis.
///
///   stack({x, y})     x, y  f32[C]     out  f32[2, C]
///
/// Ill-formed: no part; the shapes differ; the axis is out of range.
[[nodiscard]] constexpr expr stack(std::span<const expr> parts, int along = 0,
                                   call_site at = call_site::here()) {
  constexpr int most = ir::operand_types::capacity;
  at = at.in("stack");
  const ir::operand first(parts.front(), at);
  ir::builder& b = first.builder();
  expr rows[most]{};
  expr joined(b, ir::poison);
  std::size_t next = 0;
  while (next < parts.size()) {
    std::size_t count = 0;
    if (next > 0) rows[count++] = joined;
    while (count < std::size_t{most} && next < parts.size()) {
      rows[count++] = expand_dims(parts[next++], along, at);
    }
    joined = concatenate(std::span<const expr>(rows, count), along, at);
  }
  return joined;
}
[[nodiscard]] constexpr expr stack(std::initializer_list<expr> parts, int along = 0,
                                   call_site at = call_site::here()) {
  return stack(std::span<const expr>(parts.begin(), parts.size()), along, at);
}

/// The elements in reverse order along axes.
///
/// Ill-formed: an axis out of range or given twice.
[[nodiscard]] constexpr expr flip(const expr& x, const axes& along = {},
                                  call_site at = call_site::here()) {
  const ir::operand in(x, at.in("flip"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const std::int64_t mask = ir::resolved_axes(b, in.type(), along);
  if (mask < 0) return {b, ir::poison};
  return {b, mask == 0 ? in.id() : b.append(op::reverse, {in.id()}, ir::attribute_list::of(mask))};
}

/// The elements moved up by `shift` places along one axis; what leaves at the end comes in at the
/// beginning.
///
/// Ill-formed: the axis is out of range.
[[nodiscard]] constexpr expr roll(const expr& x, std::int64_t shift, int along = 0,
                                  call_site at = call_site::here()) {
  at = at.in("roll");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  const std::int64_t size = in.type().dims[axis_id];
  const std::int64_t places = size == 0 ? 0 : (shift % size + size) % size;
  if (places == 0) return in;
  return concatenate({slice_in_dim(x, size - places, size, 1, axis_id, at),
                      slice_in_dim(x, 0, size - places, 1, axis_id, at)},
                     axis_id, at);
}

namespace detail {
/// `count` copies along an axis: of the whole (a b a b) or of each element (a a b b).
constexpr expr copies(const ir::operand& in, std::int64_t count, int axis_id, bool of_elements) {
  ir::builder& b = in.builder();
  const shape dims = in.type().dims;
  text why;
  if (count < 0 || (dims.rank == max_rank && count != 1)) {
    return ir::fail(b, why << in.type() << " " << count
                           << " times: it takes 0 or more copies, and at most 7 axes");
  }
  if (count == 1) return in;
  if (is_bounded(dims[axis_id])) {
    return ir::fail(b, why << in.type() << ": axis " << axis_id << " must have a fixed size");
  }
  shape wide{};
  const int place = of_elements ? axis_id + 1 : axis_id;
  for (int i = 0; i <= dims.rank; ++i) {
    wide.push(i == place ? count : dims[i < place ? i : i - 1]);
  }
  shape out = dims;
  out[axis_id] *= count;
  const ir::operand repeated = ir::spread(in, wide, std::int64_t{1} << place);
  return {b, b.reshape(repeated.id(), out)};
}
}  // namespace detail

/// Each element `count` times along one axis: a b becomes a a b b.
///
/// Ill-formed: the axis is out of range; a negative count; 8 axes.
[[nodiscard]] constexpr expr repeat(const expr& x, std::int64_t count, int along = 0,
                                    call_site at = call_site::here()) {
  const ir::operand in(x, at.in("repeat"));
  if (in.is_poison()) return in;
  const int axis_id = ir::resolved_axis(in.builder(), in.type(), along);
  if (axis_id < 0) return {in.builder(), ir::poison};
  return detail::copies(in, count, axis_id, true);
}

/// The whole tensor `counts[i]` times along axis i: a b becomes a b a b.
///
/// Ill-formed: not one count an axis; a negative count; 8 axes.
[[nodiscard]] constexpr expr tile(const expr& x, const sizes& counts,
                                  call_site at = call_site::here()) {
  ir::operand in(x, at.in("tile"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  if (counts.count != in.type().rank()) {
    text why;
    return ir::fail(
        b, why << in.type() << " by " << counts.dims << ": there must be one count for each axis");
  }
  for (int i = 0; i < counts.count && !in.is_poison(); ++i) {
    in = ir::operand(b, detail::copies(in, counts[i], i, false).id());
  }
  return in;
}

}  // namespace atled
