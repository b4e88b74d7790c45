// atled/nn/attention.hpp: attention, and the causal self-attention of a decoder.
// Reads: nn/linear.hpp, ops/softmax.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/nn/linear.hpp"
#include "atled/ops/softmax.hpp"

#include <array>
#include <limits>

namespace atled::nn {

/// softmax(query key^T / sqrt(D)) value, each head for itself.
///
///   query  f32[B, T, H, D]     key, value  f32[B, S, H, D]     out  f32[B, T, H, D]
///
/// If it is causal, the query at t sees the keys up to t only.
/// Cost: 4*B*H*T*S*D flops.
/// Ill-formed: an operand has not four axes; the axes B, H, D or S differ.
/// Source: Vaswani et al., Attention Is All You Need, 2017, equation 1.
[[nodiscard]] constexpr expr dot_product_attention(const expr& query, const expr& key,
                                                   const expr& value, bool is_causal = false,
                                                   call_site at = call_site::here()) {
  at = at.in("dot_product_attention");
  const ir::operand q(query, at);
  if (q.is_poison()) return q;
  if (q.type().rank() != 4) {
    text why;
    return ir::fail(q.builder(), why << "query " << q.type() << ": it must be [B,T,H,D]");
  }
  const double scale = 1 / square_root(static_cast<double>(query.dim(3)));
  const expr products = dot_general(query, key, 3, 3, {0, 2}, {0, 2}, at);
  expr scores = ir::operand(products, at) * scale;  // [B, H, T, S]
  if (is_causal) {
    const ir::operand row(iota_like(scores, 2, dtype::i32, at), at);
    const ir::operand column(iota_like(scores, 3, dtype::i32, at), at);
    const expr is_seen = column <= row;
    scores = where(is_seen, scores, -std::numeric_limits<double>::infinity(), at);
  }
  const expr weights = softmax(scores, -1, at);
  const expr heads = dot_general(weights, value, 3, 1, {0, 1}, {0, 2}, at);  // [B, H, T, D]
  return transpose(heads, {0, 2, 1, 3}, at);
}

/// What `attention` sees and how it scores, as `{.is_causal = true, .window = 256}`.
struct attention_options {
  bool is_causal = false;
  std::int64_t window = 0;  ///< keys up to this distance before the query and, unless causal,
                            ///< behind it; 0: all
  double soft_cap = 0;      ///< scores s become cap tanh(s / cap); 0: they stay
  double scale = 0;         ///< of the products; 0: 1 / sqrt(D)
};

/// Attention with options, in which several query heads may share a key head.
///
///   query  f32[B, T, H, D]     key, value  f32[B, S, G, D]     out  f32[B, T, H, D]
///
/// H is a multiple of G: the query heads h G / H ... share key head g. With G = 1 it is
/// multi-query. Cost: 4*B*H*T*S*D flops, whatever the window. Ill-formed: an operand has not four
/// axes; H is no multiple of G. Source: Ainslie et al., GQA, EMNLP 2023; Beltagy et al.,
/// Longformer, 2020; Gemma 2, 2024.
[[nodiscard]] constexpr expr attention(const expr& query, const expr& key, const expr& value,
                                       const attention_options& options = {},
                                       call_site at = call_site::here()) {
  at = at.in("attention");
  const ir::operand q(query, at);
  if (q.is_poison() || key.is_poison() || value.is_poison()) return {q.builder(), ir::poison};
  if (q.type().rank() != 4 || key.rank() != 4 || query.dim(2) % key.dim(2) != 0) {
    text why;
    return ir::fail(q.builder(), why << "query " << q.type() << " and key " << key.type()
                                     << ": they must be [B,T,H,D] and [B,S,G,D], H a multiple "
                                        "of G");
  }
  const std::int64_t groups = key.dim(2);
  const std::int64_t shared = query.dim(2) / groups;
  const double scale =
      options.scale != 0 ? options.scale : 1 / square_root(static_cast<double>(query.dim(3)));
  const shape dims = query.dims();
  const expr grouped = reshape(query, {dims[0], dims[1], groups, shared, dims[3]}, at);
  const expr products = dot_general(grouped, key, 4, 3, {0, 2}, {0, 2}, at);
  ir::operand scores = ir::operand(products, at) * scale;  // [B, G, T, H / G, S]
  if (options.soft_cap != 0) {
    scores = (scores / options.soft_cap).apply(op::tanh) * options.soft_cap;
  }
  const ir::operand distance = ir::operand(iota_like(scores, 2, dtype::i32, at), at) -
                               ir::operand(iota_like(scores, 4, dtype::i32, at), at);
  const auto hidden = [&](const ir::operand& is_seen) {
    return ir::select(is_seen, scores, scores.like(-std::numeric_limits<double>::infinity()));
  };
  if (options.is_causal) scores = hidden(distance.like(0) <= distance);
  if (options.window > 0) {
    const auto reach = static_cast<double>(options.window);
    scores = hidden(distance <= reach);
    if (!options.is_causal) scores = hidden(distance.like(-reach) <= distance);
  }
  const expr weights = softmax(scores, -1, at);
  const expr heads = dot_general(weights, value, 4, 1, {0, 1}, {0, 2}, at);  // [B, G, T, H / G, D]
  return reshape(transpose(heads, {0, 2, 1, 3, 4}, at), dims, at);
}

/// Queries, keys and values of H heads by one product: x weight + bias.
///
///   x  T[..., C]     weight  T[C, 3 * H * D]     bias  T[3 * H * D]     out  T[..., 3 * H * D]
///
/// Cost: 6*C*H*D flops for each row.
/// Sharding: `Heads`, as P<"model">, splits the heads of all three: then columns stand in the order
/// [H, 3, D], else in the order [3, H, D].
/// Ill-formed: the last axis of x is not C.
template <class K, element T, std::int64_t C, std::int64_t H, std::int64_t D, auto Heads = P<>>
struct qkv_linear {
  grouped_leaf_of<K, spec_of_columns<Heads>, 3, D, T, C, 3 * H * D> weight;
  grouped_leaf_of<K, Heads, 3, D, T, 3 * H * D> bias;
  ATLED_TREE(qkv_linear, weight, bias)

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("qkv_linear");
    return located(matmul(x, weight, at), at) + bias;
  }

  /// Each as T[B, T, H, D]: `const auto [q, k, v] = qkv.heads(x);`
  ///
  /// Ill-formed: x is not [B, T, C].
  [[nodiscard]] constexpr std::array<expr, 3> heads(const expr& x,
                                                    call_site at = call_site::here()) const {
    at = at.in("qkv_linear");
    const expr all = (*this)(x, at);
    if (all.is_poison()) return {all, all, all};
    const bool is_split = named_spec(Heads).rank > 0 && x.builder().mesh.num_axes > 0;
    const expr parts = is_split ? reshape(all, {x.dim(0), x.dim(1), H, 3, D}, at) : all;
    std::array<expr, 3> out = split<3>(parts, is_split ? 3 : -1, at);
    for (expr& each : out) each = reshape(each, {x.dim(0), x.dim(1), H, D}, at);
    return out;
  }

  template <key_like Key>
  [[nodiscard]] static constexpr qkv_linear init(const Key& key, double deviation) {
    return {initializers::normal<T, C, 3 * H * D>(key, deviation),
            initializers::zeros<T, 3 * H * D>(key)};
  }
};

/// Self-attention with H heads in which no place sees a later one.
///
///   x  T[B, T, C]     out  T[B, T, C]
///
/// Cost: 8*C*C flops for each place and 4*T*C for its scores.
/// Sharding: `Heads`, as P<"model">, splits the heads: queries, keys and values by columns, the
/// projection by rows. Forward one all_reduce of out, backward one of d_x.
/// Ill-formed: x is not [B, T, C].
/// Source of the split: Shoeybi et al., Megatron-LM, 2019, section 3.
template <class K, element T, std::int64_t C, std::int64_t H, auto Heads = P<>>
struct causal_attention {
  static_assert(H > 0 && C % H == 0, "atled::nn: the width must be a multiple of the heads");

  qkv_linear<K, T, C, H, C / H, Heads> qkv;
  linear<K, T, C, C, Heads> projection;
  ATLED_TREE(causal_attention, qkv, projection)

  [[nodiscard]] constexpr expr operator()(const expr& x, call_site at = call_site::here()) const {
    at = at.in("causal_attention");
    if (x.is_poison()) return x;
    if (x.rank() != 3) {
      text why;
      x.builder().site = at;
      return ir::fail(x.builder(), why << x.type() << ": it must be [B,T," << C << "]");
    }
    const auto [q, k, v] = qkv.heads(x, at);
    const expr mixed = dot_product_attention(q, k, v, true, at);
    return projection(reshape(mixed, x.dims(), at), at);
  }

  /// Normal weights. `residual` is the deviation of the layer that adds to the residual stream.
  template <key_like Key>
  [[nodiscard]] static constexpr causal_attention init(const Key& key, double residual = 0.02,
                                                       double deviation = 0.02) {
    const auto [first, second] = random::split<2>(key);
    return {decltype(qkv)::init(first, deviation), decltype(projection)::init(second, residual)};
  }
};

}  // namespace atled::nn
