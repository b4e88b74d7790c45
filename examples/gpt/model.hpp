// gpt/model.hpp: GPT-2 and its training step: the whole model.
// Reads: gpt/config.hpp. Next: gpt/presets/, one size of it each.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"

#include "gpt/config.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace gpt {
using namespace atled;

/// One layer: the places of a row look at each other, then each works alone. On a mesh with an axis
/// "model" its ranks share the heads and the wide axis of the mlp.
template <class K, config C>
struct block {
  nn::layer_norm<K, f32, C.width> attention_norm;
  nn::causal_attention<K, f32, C.width, C.heads, P<"model">> attention;
  nn::layer_norm<K, f32, C.width> mlp_norm;
  nn::mlp<K, f32, C.width, 4 * C.width, P<"model">> mlp;
  ATLED_TREE(block, attention_norm, attention, mlp_norm, mlp)

  constexpr expr operator()(expr x) const {  // f32[B, T, C]
    x += attention(attention_norm(x));
    x += mlp(mlp_norm(x));
    return x;
  }

  /// 2L layers add to the residual stream; each begins smaller by the root of that number.
  static constexpr block init(const auto& key) {
    constexpr double residual = 0.02 / nn::square_root(2.0 * C.layers);
    const auto [first, second] = random::split<2>(key);
    return {decltype(attention_norm)::init(key), decltype(attention)::init(first, residual),
            decltype(mlp_norm)::init(key), decltype(mlp)::init(second, residual)};
  }
};

/// A decoder with learned positions; the token table is its head as well.
///
/// Source: Radford et al., Language Models are Unsupervised Multitask Learners, 2019.
template <class K, config C>
struct model {
  nn::embedding<K, f32, C.vocabulary, C.width, P<"model", none>> tokens;
  nn::embedding<K, f32, C.context, C.width> positions;
  std::array<block<K, C>, std::size_t{C.layers}> blocks;
  nn::layer_norm<K, f32, C.width> norm;
  ATLED_TREE(model, tokens, positions, blocks, norm)

  /// The logits of the next token at each place: i32[B, T] to f32[B, T, V].
  constexpr expr operator()(const expr& text) const {
    expr x = tokens(text) + slice_in_dim(positions.weight, 0, text.dim(1));
    for (const auto& block : blocks) x = C.remat ? remat(block)(x) : block(x);
    return tokens.as_head(norm(x));
  }
};

/// Text and its continuation, both i32[B, T], to the mean loss of a token in nats.
inline constexpr auto loss = [](auto model, auto text, auto next) {
  return nn::cross_entropy(model(text), next);
};

/// What a training step takes and gives back.
template <class K, config C>
struct state {
  gpt::model<K, C> model;
  optim::adam_state<gpt::model<K, C>, typename K::template leaf<i32>> optimizer;
  ATLED_TREE(state, model, optimizer)
};

template <class K>
struct metrics {
  typename K::template leaf<f32> loss;
  typename K::template leaf<f32> gradient_norm;
  ATLED_TREE(metrics, loss, gradient_norm)
};

inline constexpr optim::adamw optimizer{.beta2 = 0.99, .decay = 0.1};

/// The state before the first step.
template <config C>
state<values, C> initial_state(std::int64_t seed) {
  auto weights = nn::init<model<values, C>>(random::key(seed));
  auto moments = optimizer.init(weights);
  return {std::move(weights), std::move(moments)};
}

/// The mean of all ranks, each of which has rows of its own.
inline constexpr auto mean_loss = [](auto model, auto text, auto next) {
  return pmean(loss(model, text, next), axis<"data">);
};

template <auto Loss>
inline constexpr auto step_down = [](auto state, auto text, auto next, auto rate) {
  const auto [value, gradient] = value_and_grad(Loss)(state.model, text, next);
  const auto clipped = optim::clip_by_global_norm(gradient, 1.0);
  std::tie(state.model, state.optimizer) =
      optimizer.update(state.model, clipped, state.optimizer, rate);
  return std::pair(state, metrics<tracing>{value, optim::global_norm(gradient)});
};

/// One step: `std::tie(state, metrics) = step(std::move(state), text, next, rate);`
inline constexpr auto train_step = step_down<loss>;
/// The same inside of a mesh: all ranks hold the state and take one step together.
inline constexpr auto train_step_on_ranks = step_down<mean_loss>;

}  // namespace gpt
