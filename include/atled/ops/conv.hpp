// atled/ops/conv.hpp: convolutions, which are what a window sees times its weights, summed.
// Reads: ops/window.hpp, ops/linalg.hpp. Which way:
//
//   1. one output channel for each input channel   a sum of products, one fused loop
//   2. groups                                      a product for each group, side by side
//   3. else                                        what the window sees as rows, one product
//
// It is made of slices and products, so that derivatives and batching follow from theirs.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/linalg.hpp"
#include "atled/ops/window.hpp"

namespace atled {

/// How a convolution moves and what is connected: `{.strides = {2, 2}, .padding = same}`.
struct conv_options {
  sizes strides = {};
  window_padding padding = {};
  sizes lhs_dilation = {};  ///< from one element of the image to the next
  sizes rhs_dilation = {};  ///< from one element of the weights to the next
  std::int64_t feature_group_count = 1;
  layout_of_channels layout = channels_first;
};

namespace detail {

/// An image as [B, spatial axes, C], weights as [spatial axes, C / groups, O], and their window.
struct convolution {
  ir::operand x;
  ir::operand weights;
  detail::window window;
  std::int64_t groups;
  bool ok;

  [[nodiscard]] constexpr std::int64_t in_channels() const {
    return x.type().dims[x.type().rank() - 1];
  }
  [[nodiscard]] constexpr std::int64_t out_channels() const {
    return weights.type().dims[weights.type().rank() - 1];
  }
  /// [B, out] and more axes.
  [[nodiscard]] constexpr shape with(std::initializer_list<std::int64_t> more) const {
    shape dims = shape::of({x.type().dims[0]});
    for (int i = 0; i < window.num_axes; ++i) dims.push(window.out[i]);
    for (const std::int64_t size : more) dims.push(size);
    return dims;
  }
};

constexpr convolution begin_conv(const expr& lhs, const expr& rhs, const conv_options& how,
                                 const call_site& at) {
  const ir::operand x(lhs, at);
  ir::builder& b = x.builder();
  const ir::operand w(b, rhs.id());
  convolution out{x, w, {}, how.feature_group_count, false};
  if (x.is_poison() || w.is_poison()) return out;
  const int rank = x.type().rank();
  text given;
  given << "image " << x.type() << " and weights " << w.type();
  const auto failed = [&](std::string_view law) {
    text why = given;
    b.fail(b.site.function, why << ": " << law);
    return out;
  };
  if (rank < 3 || w.type().rank() != rank) {
    return failed("both must have the same axes: two and one or more spatial axes");
  }
  const bool is_first = how.layout == layout_of_channels::first;
  const std::int64_t channels = x.type().dims[is_first ? 1 : rank - 1];
  const std::int64_t of_group = w.type().dims[is_first ? 1 : rank - 2];
  const std::int64_t outputs = w.type().dims[is_first ? 0 : rank - 1];
  if (out.groups < 1 || of_group * out.groups != channels) {
    text why = given;
    b.fail(b.site.function, why << ": " << channels << " channels must be " << out.groups
                                << " groups of the " << of_group << " that the weights take");
    return out;
  }
  if (outputs % out.groups != 0) return failed("groups must divide the output channels");
  const dtype element = promote(x.type().element, w.type().element);
  out.x = x.as(element);
  out.weights = w.as(element);
  if (is_first) {
    out.x = with_channels_last(out.x, at);
    const ir::operand turned(moveaxis(out.weights, 0, -1, at), at);  // [I, spatial axes, O]
    out.weights = ir::operand(moveaxis(turned, 0, rank - 2, at), at);
  }
  out.window.num_axes = rank - 2;
  for (int i = 0; i < rank - 2; ++i) {
    out.window.size[i] = out.weights.type().dims[i];
    out.window.stride[i] = number_for(how.strides, i, rank - 2);
    out.window.dilation[i] = number_for(how.rhs_dilation, i, rank - 2);
    out.window.spread[i] = number_for(how.lhs_dilation, i, rank - 2);
  }
  out.ok = complete_window(b, out.window, out.x.type().dims, how.padding, given);
  return out;
}

/// Weights [spatial axes, I, O] with one axis for all elements of the window.
constexpr ir::operand flat_weights(const convolution& c, std::initializer_list<std::int64_t> dims) {
  ir::builder& b = c.x.builder();
  return {b, b.reshape(c.weights.id(), shape::of(dims))};
}

/// What all elements of the window see, side by side along the last axis.
constexpr ir::operand seen_by_all(const convolution& c, const ir::operand& padded) {
  ir::builder& b = c.x.builder();
  const int axis = c.x.type().rank() - 1;
  int parts[ir::operand_types::capacity]{};
  int count = 0;
  for (std::int64_t tap = 0; tap < c.window.num_taps(); ++tap) {
    if (count == ir::operand_types::capacity) {  // what there is, as one
      parts[0] = b.append(op::concatenate, parts, count, ir::attribute_list::of(axis));
      count = 1;
    }
    parts[count++] = seen_by(padded, c.window, tap).id();
  }
  if (count == 1) return {b, parts[0]};
  return {b, b.append(op::concatenate, parts, count, ir::attribute_list::of(axis))};
}

constexpr ir::operand conv_of_each_channel(const convolution& c, const ir::operand& padded) {
  ir::builder& b = c.x.builder();
  const std::int64_t channels = c.in_channels();
  const ir::operand weights = flat_weights(c, {c.window.num_taps(), channels});
  const shape dims = c.with({channels});
  ir::operand out = padded;
  for (std::int64_t tap = 0; tap < c.window.num_taps(); ++tap) {
    const int row =
        b.slice(weights.id(), shape::of({tap, 0}), shape::of({1, channels}), shape::of({1, 1}));
    const int wide = b.broadcast(b.reshape(row, shape::of({channels})), dims,
                                 std::int64_t{1} << (dims.rank - 1));
    const ir::operand part = seen_by(padded, c.window, tap) * ir::operand(b, wide);
    out = tap == 0 ? part : out + part;
  }
  return out;
}

constexpr ir::operand conv_of_groups(const convolution& c, const ir::operand& padded,
                                     const call_site& at) {
  ir::builder& b = c.x.builder();
  const std::int64_t taps = c.window.num_taps();
  const std::int64_t of_group = c.in_channels() / c.groups;
  const std::int64_t outputs = c.out_channels() / c.groups;
  const ir::operand weights = flat_weights(c, {taps, of_group, c.groups, outputs});
  const shape apart = c.with({taps, c.groups, of_group});
  const int seen = b.reshape(seen_by_all(c, padded).id(), apart);
  const int last = apart.rank - 1;
  ir::dot_axes axes{};
  axes.batch(last - 1, 2);
  axes.contract(last - 2, 0);
  axes.contract(last, 1);
  const ir::operand product(b, b.dot(seen, weights.id(), axes));  // [groups, B, out, O / groups]
  const ir::operand turned(moveaxis(product, 0, -2, at), at);
  return {b, b.reshape(turned.id(), c.with({c.groups * outputs}))};
}

constexpr ir::operand conv_of_all(const convolution& c, const ir::operand& padded) {
  ir::builder& b = c.x.builder();
  const ir::operand weights =
      flat_weights(c, {c.window.num_taps() * c.in_channels(), c.out_channels()});
  ir::dot_axes axes{};
  axes.contract(c.x.type().rank() - 1, 0);
  return {b, b.dot(seen_by_all(c, padded).id(), weights.id(), axes)};
}

constexpr expr conv(const expr& lhs, const expr& rhs, const conv_options& how,
                    const call_site& at) {
  const convolution c = begin_conv(lhs, rhs, how, at);
  if (!c.ok) return {c.x.builder(), ir::poison};
  const ir::operand padded = padded_image(c.x, c.window, 0);
  const bool is_each = c.groups > 1 && c.groups == c.in_channels() && c.groups == c.out_channels();
  const ir::operand out = is_each        ? conv_of_each_channel(c, padded)
                          : c.groups > 1 ? conv_of_groups(c, padded, at)
                                         : conv_of_all(c, padded);
  return how.layout == layout_of_channels::first ? with_channels_first(out, at) : out;
}

}  // namespace detail

/// What the window of the weights sees times the weights, summed, wherever it stands; one spatial
/// axis, two or more. As in JAX the weights are not turned round.
///
///   lhs  f32[B, C, H, W]   rhs  f32[O, C / groups, KH, KW]   out  f32[B, O, OH, OW]
///   lhs  f32[B, H, W, C]   rhs  f32[KH, KW, C / groups, O]   out  f32[B, OH, OW, O] channels_last
///
/// Cost: 2 B OH OW O C KH KW / groups flops in one product, and a copy of what the window sees.
/// Gradient: of products and slices.
/// Ill-formed: channels do not fit the groups; the window does not fit into the padded image; lists
/// are not as long as there are spatial axes.
[[nodiscard]] constexpr expr conv_general_dilated(const expr& lhs, const expr& rhs,
                                                  const conv_options& how = {},
                                                  call_site at = call_site::here()) {
  return detail::conv(lhs, rhs, how, at.in("conv_general_dilated"));
}
/// The same under a shorter name.
[[nodiscard]] constexpr expr conv(const expr& lhs, const expr& rhs, const conv_options& how = {},
                                  call_site at = call_site::here()) {
  return detail::conv(lhs, rhs, how, at.in("conv"));
}

/// The convolution that enlarges: `strides` stand between the elements of the image, and `padding`
/// is that of the convolution whose gradient this would be; the weights are not turned round.
///
///   lhs  f32[B, C, H, W]   rhs  f32[O, C, KH, KW]   out  f32[B, O, OH, OW]
///
/// `same` gives OH = H * stride, `valid` OH = H * stride + max(KH - stride, 0).
/// Ill-formed: as `conv_general_dilated`.
[[nodiscard]] constexpr expr conv_transpose(const expr& lhs, const expr& rhs,
                                            const conv_options& how = {},
                                            call_site at = call_site::here()) {
  at = at.in("conv_transpose");
  const ir::operand w(rhs, at);
  conv_options turned = how;
  turned.strides = {};
  turned.lhs_dilation = how.strides;
  if (w.is_poison() || how.padding.what == window_padding::kind::given) {
    return detail::conv(lhs, rhs, turned, at);
  }
  const int num_axes = w.type().rank() > 2 ? w.type().rank() - 2 : 0;
  turned.padding.what = window_padding::kind::given;
  turned.padding.count = num_axes;
  for (int i = 0; i < num_axes; ++i) {
    const std::int64_t size = w.type().dims[how.layout == layout_of_channels::first ? 2 + i : i];
    const std::int64_t reach = (size - 1) * detail::number_for(how.rhs_dilation, i, num_axes) + 1;
    const std::int64_t stride = detail::number_for(how.strides, i, num_axes);
    std::int64_t total = reach + stride - 2;
    std::int64_t low = reach - 1;
    if (how.padding.what == window_padding::kind::same) {
      low = stride > reach - 1 ? reach - 1 : (total + 1) / 2;
    } else {
      total += reach > stride ? reach - stride : 0;
    }
    turned.padding.low[i] = low;
    turned.padding.high[i] = total - low;
  }
  return detail::conv(lhs, rhs, turned, at);
}

}  // namespace atled
