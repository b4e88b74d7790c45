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
/// Sharding: `Split`, as P<"model">, splits the wide axis: `up` by columns, `down` by rows. Forward
/// one all_reduce of out, backward one of d_x.
/// Ill-formed: the last axis of x is not C.
template <class K, element T, std::int64_t C, std::int64_t Hidden = 4 * C, auto Split = P<>>
struct mlp {
  linear<K, T, C, Hidden, spec_of_columns<Split>> up;
  linear<K, T, Hidden, C, Split> down;
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
    return {decltype(up)::init(first, deviation), decltype(down)::init(second, residual)};
  }
};

/// A gated layer without biases: down(silu(x gate) * (x up)).
///
///   x  T[..., C]     out  T[..., C]
///
/// Cost: 6*C*Hidden flops for each row.
/// Sharding: `Split`, as P<"model">, splits the wide axis, as that of `mlp`.
/// Ill-formed: the last axis of x is not C.
/// Source: Shazeer, GLU Variants Improve Transformer, 2020, equation 6.
template <class K, element T, std::int64_t C, std::int64_t Hidden = 8 * C / 3, auto Split = P<>>
struct swiglu {
  leaf_of<K, spec_of_columns<Split>, T, C, Hidden> gate;
  leaf_of<K, spec_of_columns<Split>, T, C, Hidden> up;
  leaf_of<K, Split, T, Hidden, C> down;
  ATLED_TREE(swiglu, gate, up, down)

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("swiglu");
    const ir::operand opened(silu(matmul(x, gate, at), at), at);
    const ir::operand hidden = opened * ir::operand(matmul(x, up, at), at);
    return matmul(hidden, down, at);
  }

  /// Normal weights. `residual` is the deviation of the layer that adds to the residual stream.
  template <key_like Key>
  [[nodiscard]] static constexpr swiglu init(const Key& key, double residual = 0.02,
                                             double deviation = 0.02) {
    const auto [first, second, third] = random::split<3>(key);
    return {initializers::normal<T, C, Hidden>(first, deviation),
            initializers::normal<T, C, Hidden>(second, deviation),
            initializers::normal<T, Hidden, C>(third, residual)};
  }
};

}  // namespace atled::nn
