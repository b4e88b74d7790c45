// atled/nn/linear.hpp: the affine layer: x weight + bias.
// Reads: nn/init.hpp, ops/linalg.hpp. Next: nn/mlp.hpp, nn/attention.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/init.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/trace/split_leaves.hpp"

namespace atled::nn {

/// x weight + bias along the last axis.
///
///   x  T[..., In]     weight  T[In, Out]     bias  T[Out]     out  T[..., Out]
///
/// Cost: 2*In*Out flops for each row; one `op::dot` with the bias in its epilogue.
/// Sharding: `Spec` splits the weight: P<none, "model"> by columns, and the bias with them;
/// P<"model", none> by rows: then the result is a partial sum, and one all_reduce follows.
/// Ill-formed: the last axis of x is not In.
template <class K, element T, std::int64_t In, std::int64_t Out, auto Spec = P<>>
struct linear {
  leaf_of<K, Spec, T, In, Out> weight;
  leaf_of<K, spec_of_axis<Spec, 1>, T, Out> bias;
  ATLED_TREE(linear, weight, bias)

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("linear");
    return located(matmul(x, weight, at), at) + bias;
  }

  /// A normal weight, a bias of 0. The deviation keeps the variance of the input.
  ///
  /// Source: LeCun, Bottou, Orr and Mueller, Efficient BackProp, 1998, section 4.6.
  template <key_like Key>
  [[nodiscard]] static constexpr linear init(
      const Key& key, double deviation = 1 / square_root(static_cast<double>(In))) {
    return {initializers::normal<T, In, Out>(key, deviation), initializers::zeros<T, Out>(key)};
  }
};

}  // namespace atled::nn
