// atled/nn/embedding.hpp: a vector for each of V symbols, and the same table as an output layer.
// Reads: nn/init.hpp, ops/index.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/init.hpp"
#include "atled/ops/index.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/trace/split_leaves.hpp"

namespace atled::nn {

/// One row of C numbers for each of V symbols.
///
///   indices  i32[...]     weight  T[V, C]     out  T[..., C]
///
/// An index outside gives zeros.
/// Gradient: the rows of d_out are added where they were taken from.
/// Sharding: `Spec` splits the table: P<"model", none> by symbols: the vectors are a partial sum,
/// then one all_reduce. As a head it gives scores that are split by symbols; cross_entropy takes
/// them so, and sends three numbers for each place.
template <class K, element T, std::int64_t V, std::int64_t C, auto Spec = P<>>
struct embedding {
  leaf_of<K, Spec, T, V, C> weight;
  ATLED_TREE(embedding, weight)

  [[nodiscard]] constexpr expr operator()(const expr& indices,
                                          call_site at = call_site::here()) const {
    return take(weight, indices, 0, index_mode::fill, 0, at.in("embedding"));
  }

  /// The table as the layer that gives a score to each symbol: x weight^T, without a bias.
  ///
  ///   x  T[..., C]     out  T[..., V]
  ///
  /// Source: Press and Wolf, Using the Output Embedding to Improve Language Models, EACL 2017.
  [[nodiscard]] constexpr expr as_head(const expr& x, call_site at = call_site::here()) const {
    return inner(x, weight, at.in("as_head"));
  }

  /// Normal numbers. Source of the deviation: Radford et al., GPT-2, 2019.
  template <key_like Key>
  [[nodiscard]] static constexpr embedding init(const Key& key, double deviation = 0.02) {
    return {initializers::normal<T, V, C>(key, deviation)};
  }
};

}  // namespace atled::nn
