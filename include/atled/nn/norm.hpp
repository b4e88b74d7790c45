// atled/nn/norm.hpp: layer_norm and rms_norm: rows brought to a common size.
// Reads: nn/init.hpp, ops/reduce.hpp. Plain operations along a row, which fusion makes one kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/init.hpp"
#include "atled/ops/reduce.hpp"

namespace atled::nn {

/// Each row less its mean, over its deviation, then weight and bias for each of C columns.
///
///   x  T[..., C]     weight, bias  T[C]     out  T[..., C]
///
/// A constant row gives the bias: 1e-5 is added to the variance.
/// Ill-formed: the last axis of x is not C.
/// Source: Ba, Kiros and Hinton, Layer Normalization, 2016.
template <class K, element T, std::int64_t C>
struct layer_norm {
  typename K::template leaf<T, C> weight;
  typename K::template leaf<T, C> bias;
  ATLED_TREE(layer_norm, weight, bias)

  static constexpr double eps = 1e-5;

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("layer_norm");
    const auto row_mean = [&](const expr& y) { return ir::operand(mean(y, -1, keepdims, at), at); };
    const ir::operand centred = ir::operand(x, at) - row_mean(x);
    const ir::operand variance = row_mean(centred * centred);
    const ir::operand normal = centred * (variance + eps).apply(op::rsqrt);
    return normal * ir::operand(weight, at) + ir::operand(bias, at);
  }

  template <key_like Key>
  [[nodiscard]] static constexpr layer_norm init(const Key& key) {
    return {initializers::ones<T, C>(key), initializers::zeros<T, C>(key)};
  }
};

/// Each row over the root of the mean of its squares, then a weight for each of C columns.
///
///   x  T[..., C]     weight  T[C]     out  T[..., C]
///
/// Ill-formed: the last axis of x is not C.
/// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
template <class K, element T, std::int64_t C>
struct rms_norm {
  typename K::template leaf<T, C> weight;
  ATLED_TREE(rms_norm, weight)

  static constexpr double eps = 1e-6;

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("rms_norm");
    const ir::operand in(x, at);
    const ir::operand squares(mean(in * in, -1, keepdims, at), at);
    return in * (squares + eps).apply(op::rsqrt) * ir::operand(weight, at);
  }

  template <key_like Key>
  [[nodiscard]] static constexpr rms_norm init(const Key& key) {
    return {initializers::ones<T, C>(key)};
  }
};

}  // namespace atled::nn
