// atled/nn/lora.hpp: a layer that stays, and a small one of low rank beside it that learns.
// Reads: nn/linear.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/linear.hpp"

namespace atled::nn {

/// base(x) + scale x down up, the base held fixed.
///
///   x  T[..., In]     down  T[In, R]     up  T[R, Out]     out  T[..., Out]
///
/// It begins as the base alone: up is 0. No gradient goes to the base.
/// Cost: 2*R*(In + Out) flops more for each row.
/// Source: Hu et al., LoRA, ICLR 2022, equation 3.
template <class K, element T, std::int64_t In, std::int64_t Out, std::int64_t R>
struct lora {
  linear<K, T, In, Out> base;
  typename K::template leaf<T, In, R> down;
  typename K::template leaf<T, R, Out> up;
  ATLED_TREE(lora, base, down, up)

  static constexpr double scale = 2;  ///< alpha / R of the paper

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("lora");
    const auto fixed = [&](const expr& leaf) {
      return expr(ir::operand(leaf, at).apply(op::stop_gradient));
    };
    const linear<K, T, In, Out> held{fixed(base.weight), fixed(base.bias)};
    const ir::operand learned(matmul(matmul(x, down, at), up, at), at);
    return ir::operand(held(x, at), at) + learned * scale;
  }
  /// The one layer that does the same.
  [[nodiscard]] constexpr linear<K, T, In, Out> merged(call_site at = call_site::here()) const {
    at = at.in("lora");
    const ir::operand learned(matmul(down, up, at), at);
    return {ir::operand(base.weight, at) + learned * scale, base.bias};
  }

  /// Around a layer that is there already.
  template <key_like Key>
  [[nodiscard]] static constexpr lora around(const linear<K, T, In, Out>& layer, const Key& key) {
    return {layer, initializers::normal<T, In, R>(key, 1 / square_root(static_cast<double>(In))),
            initializers::zeros<T, R, Out>(key)};
  }
  template <key_like Key>
  [[nodiscard]] static constexpr lora init(const Key& key) {
    const auto [first, second] = random::split<2>(key);
    return around(linear<K, T, In, Out>::init(first), second);
  }
};

}  // namespace atled::nn
