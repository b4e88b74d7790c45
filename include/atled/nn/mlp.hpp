// atled/nn/mlp.hpp: the two layers of a transformer that work on each place alone.
// Reads: nn/linear.hpp, ops/activation.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/linear.hpp"
#include "atled/ops/activation.hpp"

namespace atled::nn {

/// A wider layer, gelu (its tanh form), and a layer back.
///
///   x  T[..., C]     out  T[..., C]
///
/// Cost: 4*C*Hidden flops for each row.
/// Ill-formed: the last axis of x is not C.
template <class K, element T, std::int64_t C, std::int64_t Hidden = 4 * C>
struct mlp {
  linear<K, T, C, Hidden> up;
  linear<K, T, Hidden, C> down;
  ATLED_TREE(mlp, up, down)

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("mlp");
    return down(gelu(up(x, at), true, at), at);
  }

  /// Normal weights. `residual` is the deviation of the layer that adds to the residual stream.
  template <key_like Key>
  [[nodiscard]] static constexpr mlp init(const Key& key, double residual = 0.02,
                                          double deviation = 0.02) {
    const auto [first, second] = random::split<2>(key);
    return {linear<K, T, C, Hidden>::init(first, deviation),
            linear<K, T, Hidden, C>::init(second, residual)};
  }
};

}  // namespace atled::nn
