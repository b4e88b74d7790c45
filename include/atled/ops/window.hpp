// atled/ops/window.hpp: windows that move over the spatial axes of an image or a series: how far,
// with which padding, and what they see. Reads: ops/slice.hpp. Next: ops/conv.hpp, ops/pool.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/slice.hpp"

#include <utility>

namespace atled {

/// Where the axis of channels is: [B, C, H, W] with weights [O, I, H, W], or [B, H, W, C] with
/// weights [H, W, I, O]; one spatial axis or three alike.
enum class layout_of_channels : std::uint8_t { first, last };
inline constexpr layout_of_channels channels_first = layout_of_channels::first;
inline constexpr layout_of_channels channels_last = layout_of_channels::last;

/// What is added around the spatial axes: nothing (`valid`), as much as makes the result ceil(size
/// / stride) (`same`), or numbers: `{{1, 2}, {0, 0}}`, before and behind each axis.
struct window_padding {
  enum class kind : std::uint8_t { valid, same, given };
  kind what = kind::valid;
  std::int64_t low[max_rank]{};
  std::int64_t high[max_rank]{};
  int count = 0;

  constexpr window_padding() = default;
  constexpr window_padding(kind which) : what(which) {}  // NOLINT: converts
  constexpr window_padding(
      std::initializer_list<std::pair<std::int64_t, std::int64_t>> list)  // NOLINT: converts
      : what(kind::given) {
    for (const auto& [before, behind] : list) {
      if (count < max_rank) {
        low[count] = before;
        high[count] = behind;
      }
      ++count;
    }
  }
};
inline constexpr auto valid = window_padding::kind::valid;
inline constexpr auto same = window_padding::kind::same;

/// How a window moves: `{.strides = {2, 2}, .padding = same}`. A list that is empty is all ones.
struct window_options {
  sizes strides = {};
  window_padding padding = {};
  layout_of_channels layout = channels_first;
};

namespace detail {

/// A window over the axes 1 ... n of [B, spatial axes, C].
struct window {
  int num_axes;
  std::int64_t size[max_rank];
  std::int64_t stride[max_rank];
  std::int64_t dilation[max_rank];  ///< from one element of the window to the next
  std::int64_t spread[max_rank];    ///< from one element of the image to the next
  std::int64_t low[max_rank];
  std::int64_t high[max_rank];
  std::int64_t out[max_rank];

  [[nodiscard]] constexpr std::int64_t num_taps() const {
    std::int64_t product = 1;
    for (int i = 0; i < num_axes; ++i) product *= size[i];
    return product;
  }
};

/// The i-th number of a list that is empty for ones; 0 if the list has another length.
constexpr std::int64_t number_for(const sizes& list, int i, int num_axes) {
  if (list.count == 0) return 1;
  return list.count == num_axes ? list[i] : 0;
}

/// Completes a window over an image of `dims`, [B, spatial axes, C]; false after a sentence.
constexpr bool complete_window(ir::builder& b, window& w, const shape& dims,
                               const window_padding& padding, const text& given) {
  const auto failed = [&](std::string_view law) {
    text why = given;
    b.fail(b.site.function, why << ": " << law);
    return false;
  };
  if (padding.what == window_padding::kind::given && padding.count != w.num_axes) {
    return failed("padding must have a pair for each spatial axis");
  }
  for (int i = 0; i < w.num_axes; ++i) {
    if (w.stride[i] < 1 || w.dilation[i] < 1 || w.spread[i] < 1) {
      return failed("strides and dilations must be 1 or more, one for each spatial axis");
    }
    if (w.size[i] < 1) return failed("the window must have an element");
    if (is_bounded(dims[1 + i])) return failed("spatial axes must have fixed sizes");
    const std::int64_t in = dims[1 + i] == 0 ? 0 : (dims[1 + i] - 1) * w.spread[i] + 1;
    const std::int64_t reach = (w.size[i] - 1) * w.dilation[i] + 1;
    w.low[i] = padding.low[i];
    w.high[i] = padding.high[i];
    if (padding.what == window_padding::kind::same) {
      const std::int64_t count = (in + w.stride[i] - 1) / w.stride[i];
      const std::int64_t needed = (count - 1) * w.stride[i] + reach - in;
      w.low[i] = needed > 0 ? needed / 2 : 0;
      w.high[i] = needed > 0 ? needed - w.low[i] : 0;
    }
    if (w.low[i] < 0 || w.high[i] < 0) return failed("padding must be 0 or more");
    const std::int64_t room = in + w.low[i] + w.high[i] - reach;
    if (room < 0) return failed("the window must fit into the padded image");
    w.out[i] = room / w.stride[i] + 1;
  }
  return true;
}

/// [B, C, spatial axes] as [B, spatial axes, C], and back.
constexpr ir::operand with_channels_last(const ir::operand& x, const call_site& at) {
  return {moveaxis(x, 1, -1, at), at};
}
constexpr ir::operand with_channels_first(const ir::operand& x, const call_site& at) {
  return {moveaxis(x, -1, 1, at), at};
}

/// The image with `filler` around and between its elements.
constexpr ir::operand padded_image(const ir::operand& x, const window& w, double filler) {
  ir::builder& b = x.builder();
  const shape dims = x.type().dims;
  shape low{};
  low.rank = dims.rank;
  shape between = low;
  shape wanted = dims;
  for (int i = 0; i < w.num_axes; ++i) {
    low[1 + i] = w.low[i];
    between[1 + i] = w.spread[i] - 1;
    const std::int64_t in = dims[1 + i] == 0 ? 0 : (dims[1 + i] - 1) * w.spread[i] + 1;
    wanted[1 + i] = in + w.low[i] + w.high[i];
  }
  if (wanted == dims) return x;
  return {b, b.pad(x.id(), b.constant(filler, x.type().element), low, between, wanted)};
}

/// What element `tap` of the window (counted row by row) sees, wherever the window stands:
/// [B, out, C] of the padded image.
constexpr ir::operand seen_by(const ir::operand& padded, const window& w, std::int64_t tap) {
  ir::builder& b = padded.builder();
  shape dims = padded.type().dims;
  shape starts{};
  starts.rank = dims.rank;
  shape strides = starts;
  for (int i = 0; i < dims.rank; ++i) strides[i] = 1;
  for (int i = w.num_axes - 1; i >= 0; --i) {
    starts[1 + i] = tap % w.size[i] * w.dilation[i];
    tap /= w.size[i];
    strides[1 + i] = w.stride[i];
    dims[1 + i] = w.out[i];
  }
  return {b, b.slice(padded.id(), starts, dims, strides)};
}

}  // namespace detail
}  // namespace atled
