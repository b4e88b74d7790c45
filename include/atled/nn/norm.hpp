// atled/nn/norm.hpp: layer_norm, rms_norm: rows brought to a common size; batch_norm: columns.
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
/// Sharding: rows may be split in any way, places of a text too; weight and bias are whole, and
/// their gradients sums over the ranks that have rows. Columns that are split cost two all_reduces.
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
/// Sharding: as layer_norm; columns that are split cost one all_reduce.
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

/// The means that batch_norm keeps for when it is not trained: running mean and variance.
template <class K, element T, std::int64_t C>
struct batch_statistics {
  typename K::template leaf<T, C> mean;
  typename K::template leaf<T, C> variance;
  ATLED_TREE(batch_statistics, mean, variance)

  template <key_like Key>
  [[nodiscard]] static constexpr batch_statistics init(const Key& key) {
    return {initializers::zeros<T, C>(key), initializers::ones<T, C>(key)};
  }
};

/// Each column less its mean over the batch, over its deviation, then weight and bias.
///
///   x  T[..., C]     weight, bias  T[C]     out  T[..., C]
///
/// State is an argument and a result: `auto [y, next] = norm.train(x, statistics)`, and
/// `norm(x, statistics)` uses what was kept. No gradient goes to the statistics.
/// Ill-formed: the last axis of x is not C.
/// Source: Ioffe and Szegedy, Batch Normalization, ICML 2015, algorithm 1. As in PyTorch, the kept
/// variance is that of a sample.
template <class K, element T, std::int64_t C>
struct batch_norm {
  typename K::template leaf<T, C> weight;
  typename K::template leaf<T, C> bias;
  ATLED_TREE(batch_norm, weight, bias)

  using statistics = batch_statistics<K, T, C>;
  static constexpr double eps = 1e-5;
  static constexpr double momentum = 0.1;  ///< the weight of the new batch

  [[nodiscard]] constexpr std::pair<expr, statistics> train(
      const expr& x, const statistics& kept, call_site at = call_site::here()) const {
    at = at.in("batch_norm");
    const ir::operand in(x, at);
    if (in.is_poison()) return {x, kept};
    const int rank = in.type().rank();
    const std::int64_t columns = rank > 0 ? bound_of(in.type().dims[rank - 1]) : 1;
    const auto rows = static_cast<double>(columns > 0 ? in.type().size() / columns : 0);
    const std::int64_t rows_mask = (std::int64_t{1} << (rank > 0 ? rank - 1 : 0)) - 1;
    const bool is_bounded_batch = (in.type().dims.bounded_axes() & rows_mask) != 0;
    axes batch;
    batch.all = false;
    for (int i = 0; i + 1 < rank; ++i) batch.list[batch.size++] = i;
    const ir::operand center(atled::mean(x, batch, {}, at), at);
    const ir::operand apart = in - center;
    const ir::operand variance(atled::mean(apart * apart, batch, {}, at), at);
    const auto mixed = [&](const expr& old, const ir::operand& now) {
      return expr(ir::operand(old, at) * (1 - momentum) + now.apply(op::stop_gradient) * momentum);
    };
    const auto all_rows = [&] {  // variance * rows / (rows - 1), where the call brings the rows
      const ir::operand one = variance.like(1);
      const ir::operand inverse = ir::per_element(one, in.type().dims, rows_mask);
      return ir::select(inverse < 1.0, variance / (one - inverse), variance);
    };
    const ir::operand sample = is_bounded_batch ? all_rows()
                               : rows > 1       ? variance * (rows / (rows - 1))
                                                : variance;
    return {scaled(apart, variance, at),
            statistics{mixed(kept.mean, center), mixed(kept.variance, sample)}};
  }
  [[nodiscard]] constexpr expr operator()(const expr& x, const statistics& kept,
                                          call_site at = call_site::here()) const {
    at = at.in("batch_norm");
    const ir::operand apart = ir::operand(x, at) - ir::operand(kept.mean, at);
    return scaled(apart, ir::operand(kept.variance, at), at);
  }

  template <key_like Key>
  [[nodiscard]] static constexpr batch_norm init(const Key& key) {
    return {initializers::ones<T, C>(key), initializers::zeros<T, C>(key)};
  }

 private:
  [[nodiscard]] constexpr expr scaled(const ir::operand& apart, const ir::operand& variance,
                                      const call_site& at) const {
    const ir::operand normal = apart * (variance + eps).apply(op::rsqrt);
    return normal * ir::operand(weight, at) + ir::operand(bias, at);
  }
};

}  // namespace atled::nn
