// atled/nn/conv.hpp: the convolution layer of images; pools are functions: ops/pool.hpp.
// Reads: nn/init.hpp, ops/conv.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/init.hpp"
#include "atled/ops/conv.hpp"

namespace atled::nn {

/// A square window over images, and a bias for each channel.
///
///   x  T[B, In, H, W]     weight  T[Out, In, Size, Size]     bias  T[Out]     out  T[B, Out, H',
///   W']
///
/// `layer(x, {.strides = {2, 2}, .padding = same})`; without options each step is 1, no padding.
/// Cost: 2*B*H'*W'*Out*In*Size*Size flops.
/// Ill-formed: x has not four axes or not In channels; the window does not fit.
template <class K, element T, std::int64_t In, std::int64_t Out, std::int64_t Size>
struct conv2d {
  typename K::template leaf<T, Out, In, Size, Size> weight;
  typename K::template leaf<T, Out> bias;
  ATLED_TREE(conv2d, weight, bias)

  [[nodiscard]] constexpr expr operator()(const expr& x, const conv_options& how = {},
                                          call_site at = call_site::here()) const {
    at = at.in("conv2d");
    const ir::operand seen(conv(x, weight, how, at), at);
    if (seen.is_poison() || bias.is_poison()) return seen;
    ir::builder& b = seen.builder();
    return seen + ir::operand(b, b.reshape(bias.id(), shape::of({Out, 1, 1})));
  }

  /// A normal weight, a bias of 0. The deviation keeps the variance of what the window sees.
  template <key_like Key>
  [[nodiscard]] static constexpr conv2d init(
      const Key& key, double deviation = 1 / square_root(static_cast<double>(In * Size * Size))) {
    return {initializers::normal<T, Out, In, Size, Size>(key, deviation),
            initializers::zeros<T, Out>(key)};
  }
};

}  // namespace atled::nn
