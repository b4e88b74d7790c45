// atled/ops/pool.hpp: the largest, smallest or mean element that a window sees.
// Reads: ops/window.hpp, ops/reduce.hpp. Windows that neither overlap nor reach beyond the image
// are a reduction of the reshaped image; others one of what each element of the window sees.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/cumulative.hpp"
#include "atled/ops/window.hpp"

namespace atled {

namespace detail {

/// Windows that stand side by side, as axes of their own: [B, out, size, out, size, C].
constexpr ir::operand pooled_side_by_side(op code, const ir::operand& x, const window& w) {
  ir::builder& b = x.builder();
  shape dims = x.type().dims;
  shape starts{};
  starts.rank = dims.rank;
  shape ones = starts;
  for (int i = 0; i < dims.rank; ++i) ones[i] = 1;
  shape apart = shape::of({dims[0]});
  std::int64_t mask = 0;
  for (int i = 0; i < w.num_axes; ++i) {
    dims[1 + i] = w.out[i] * w.size[i];
    apart.push(w.out[i]);
    mask |= std::int64_t{1} << apart.rank;
    apart.push(w.size[i]);
  }
  apart.push(dims[dims.rank - 1]);
  const int kept = dims == x.type().dims ? x.id() : b.slice(x.id(), starts, dims, ones);
  return {b, b.reduce(code, b.reshape(kept, apart), mask)};
}

/// What each element of the window sees as rows of one more axis, which is reduced: equal elements
/// share evenly.
constexpr ir::operand pooled_in_rows(op code, const ir::operand& x, const window& w,
                                     double neutral) {
  ir::builder& b = x.builder();
  const ir::operand padded = padded_image(x, w, neutral);
  shape row = x.type().dims;
  for (int i = 0; i < w.num_axes; ++i) row[1 + i] = w.out[i];
  shape one = shape::of({1});
  for (int i = 0; i < row.rank; ++i) one.push(row[i]);
  int parts[ir::operand_types::capacity]{};
  int count = 0;
  for (std::int64_t tap = 0; tap < w.num_taps(); ++tap) {
    if (count == ir::operand_types::capacity) {  // what there is, as one
      parts[0] = b.append(op::concatenate, parts, count, ir::attribute_list::of(0));
      count = 1;
    }
    parts[count++] = b.reshape(seen_by(padded, w, tap).id(), one);
  }
  const int rows =
      count == 1 ? parts[0] : b.append(op::concatenate, parts, count, ir::attribute_list::of(0));
  return {b, b.reduce(code, rows, 1)};
}

/// [B, C, spatial axes] or [B, spatial axes, C], reduced by a window; poison after a sentence.
constexpr ir::operand pooled(op code, const ir::operand& in, const sizes& size,
                             const window_options& how, const call_site& at) {
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  const int rank = in.type().rank();
  text given;
  given << "image " << in.type() << " and window " << size.dims;
  if (rank < 3 || size.count != rank - 2 || rank + size.count > max_rank) {
    b.fail(b.site.function,
           given << ": the window must have a size for each axis but batch and channels");
    return {b, ir::poison};
  }
  const bool is_first = how.layout == layout_of_channels::first;
  const ir::operand x = is_first ? with_channels_last(in, at) : in;
  window w{};
  w.num_axes = rank - 2;
  bool is_side_by_side = true;
  for (int i = 0; i < w.num_axes; ++i) {
    w.size[i] = size[i];
    w.stride[i] = number_for(how.strides, i, w.num_axes);
    w.dilation[i] = w.spread[i] = 1;
    is_side_by_side = is_side_by_side && w.size[i] == w.stride[i];
  }
  if (!complete_window(b, w, x.type().dims, how.padding, given)) return {b, ir::poison};
  for (int i = 0; i < w.num_axes; ++i) {
    is_side_by_side = is_side_by_side && w.low[i] == 0 && w.high[i] == 0;
  }
  const double neutral =
      code == op::reduce_sum ? 0 : lowest_of(x.type().element, code == op::reduce_max);
  const ir::operand out =
      is_side_by_side ? pooled_side_by_side(code, x, w) : pooled_in_rows(code, x, w, neutral);
  return is_first ? with_channels_first(out, at) : out;
}

}  // namespace detail

/// The largest element that a window sees, wherever it stands; padding is smaller than all.
///
///   x  f32[B, C, H, W]     max_pool(x, {2, 2}, {.strides = {2, 2}})  f32[B, C, H / 2, W / 2]
///
/// Gradient: to the element that was taken; equal ones share evenly.
/// Ill-formed: the window has not a size for each spatial axis, or does not fit.
[[nodiscard]] constexpr expr max_pool(const expr& x, const sizes& window,
                                      const window_options& how = {},
                                      call_site at = call_site::here()) {
  at = at.in("max_pool");
  return detail::pooled(op::reduce_max, ir::operand(x, at), window, how, at);
}
/// The smallest element that a window sees; all else as `max_pool`.
[[nodiscard]] constexpr expr min_pool(const expr& x, const sizes& window,
                                      const window_options& how = {},
                                      call_site at = call_site::here()) {
  at = at.in("min_pool");
  return detail::pooled(op::reduce_min, ir::operand(x, at), window, how, at);
}

/// The mean of what a window sees; padding counts as zeros, as in Flax. Integers become f32, bf16
/// is summed in f32.
///
///   x  f32[B, C, H, W]     avg_pool(x, {2, 2}, {.strides = {2, 2}})  f32[B, C, H / 2, W / 2]
///
/// Ill-formed: as `max_pool`.
[[nodiscard]] constexpr expr avg_pool(const expr& x, const sizes& window,
                                      const window_options& how = {},
                                      call_site at = call_site::here()) {
  at = at.in("avg_pool");
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const dtype element = ir::floating_type(in.type().element);
  const ir::operand total =
      detail::pooled(op::reduce_sum, in.as(detail::sum_type(element)), window, how, at);
  if (total.is_poison()) return total;
  return (total / static_cast<double>(window.dims.size())).as(element);
}

}  // namespace atled
