// atled/ops/dynamic_slice.hpp: windows of fixed size whose place is computed by the program.
// Reads: ops/reshape.hpp. A start is clamped, so that the window lies inside; the same backward.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reshape.hpp"

namespace atled {

namespace detail {

/// Nodes of the starts, one an axis; `failed` after a sentence has been kept, or for poison.
struct window_start {
  int ids[max_rank];
  int size;
  bool failed;

  constexpr void push(ir::builder& b, const located& start) {
    int id = start.value().id();
    if (start.is_literal()) {
      id = b.integer_constant(static_cast<std::int64_t>(start.literal()), dtype::i32);
    } else if (id >= 0 && (!is_integer(b.type(id).element) || b.type(id).rank() != 0)) {
      text why;
      id = b.fail(b.site.function, why << "start " << b.type(id) << ": it must be one integer");
    }
    failed = failed || id < 0;
    if (size < max_rank) ids[size] = id;
    ++size;
  }
  [[nodiscard]] static constexpr window_start of(ir::builder& b,
                                                 std::initializer_list<located> starts) {
    window_start out{};
    for (const located& start : starts) out.push(b, start);
    return out;
  }
  /// `start` along one axis, 0 along the others.
  [[nodiscard]] static constexpr window_start along(ir::builder& b, int rank, int axis,
                                                    const located& start) {
    window_start out{};
    for (int i = 0; i < rank; ++i) out.push(b, i == axis ? start : located(0, start.at()));
    return out;
  }
};

/// Appends a dynamic op on a value, or a value and its update.
constexpr expr dynamic_op(op code, const ir::operand& x, int update, const window_start& starts,
                          const shape& window) {
  ir::builder& b = x.builder();
  const tensor_type in = x.type();
  if (starts.failed) return {b, ir::poison};
  text why;
  if (starts.size != in.rank() || window.rank != in.rank()) {
    return ir::fail(b, why << in << " with " << starts.size << " starts and a window " << window
                           << ": one of each for an axis");
  }
  int ids[max_rank + 2]{x.id()};
  int count = 1;
  if (code == op::dynamic_update_slice) ids[count++] = update;
  for (int i = 0; i < in.rank(); ++i) {
    ids[count++] = starts.ids[i];
    if (window[i] < 0 || bound_of(window[i]) > bound_of(in.dims[i])) {
      return ir::fail(b, why << in << " with a window " << window << ": axis " << i << " ("
                             << size_text{in.dims[i]} << ") must hold " << size_text{window[i]});
    }
  }
  return {b, b.append(code, ids, count, {}, {in.element, window})};
}

}  // namespace detail

/// The window of `window` elements that begins at `starts`, one integer an axis.
///
///   dynamic_slice(x, {i, 0}, {1, 64})     x  f32[T, 64]     i  i32[]     out  f32[1, 64]
///
/// A start is clamped to 0 ... size - window.
/// Gradient: d_x is d_out at the window, 0 elsewhere.
/// Ill-formed: a window larger than its axis; a start that is no integer; not one an axis.
[[nodiscard]] constexpr expr dynamic_slice(const expr& x, std::initializer_list<located> starts,
                                           const sizes& window, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("dynamic_slice"));
  if (in.is_poison()) return in;
  return detail::dynamic_op(op::dynamic_slice, in, ir::no_node,
                            detail::window_start::of(in.builder(), starts), window.dims);
}

/// `x` with `update` written over the window that begins at `starts`, which are clamped.
///
/// Gradient: d_x is d_out with 0 in the window, d_update the window of d_out.
/// Ill-formed: an update larger than `x`; a start that is no integer; not one an axis.
[[nodiscard]] constexpr expr dynamic_update_slice(const expr& x, const expr& update,
                                                  std::initializer_list<located> starts,
                                                  call_site at = call_site::here()) {
  const ir::operand in(x, at.in("dynamic_update_slice"));
  ir::builder& b = in.builder();
  if (in.is_poison() || update.is_poison()) return {b, ir::poison};
  const int written = b.convert(update.id(), in.type().element);
  return detail::dynamic_op(op::dynamic_update_slice, in, written,
                            detail::window_start::of(b, starts), update.dims());
}

/// `size` elements along one axis from `start`, all along the others.
///
/// Ill-formed: the axis is out of range or shorter than `size`; the start is no integer.
[[nodiscard]] constexpr expr dynamic_slice_in_dim(const expr& x, const located& start,
                                                  std::int64_t size, int along = 0,
                                                  call_site at = call_site::here()) {
  const ir::operand in(x, at.in("dynamic_slice_in_dim"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  shape window = in.type().dims;
  window[axis_id] = size;
  const auto starts = detail::window_start::along(b, window.rank, axis_id, start);
  return detail::dynamic_op(op::dynamic_slice, in, ir::no_node, starts, window);
}

/// The element, row, ... at `i` along one axis, which is dropped unless it is kept.
///
///   x  f32[T, C]     dynamic_index_in_dim(x, i)  f32[C]     (x, i, 0, keepdims)  f32[1, C]
///
/// Ill-formed: the axis is out of range; `i` is no integer.
[[nodiscard]] constexpr expr dynamic_index_in_dim(const expr& x, const located& i, int along = 0,
                                                  kept keep = {},
                                                  call_site at = call_site::here()) {
  at = at.in("dynamic_index_in_dim");
  const expr row = dynamic_slice_in_dim(x, i, 1, along, at);
  return keep.value ? row : squeeze(row, along, at);
}

/// `x` with `update` written along one axis from `start`.
///
/// Ill-formed: the axis is out of range; the other axes differ; the start is no integer.
[[nodiscard]] constexpr expr dynamic_update_slice_in_dim(const expr& x, const expr& update,
                                                         const located& start, int along = 0,
                                                         call_site at = call_site::here()) {
  const ir::operand in(x, at.in("dynamic_update_slice_in_dim"));
  ir::builder& b = in.builder();
  if (in.is_poison() || update.is_poison()) return {b, ir::poison};
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  const auto starts = detail::window_start::along(b, in.type().rank(), axis_id, start);
  const int written = b.convert(update.id(), in.type().element);
  return detail::dynamic_op(op::dynamic_update_slice, in, written, starts, update.dims());
}

}  // namespace atled
