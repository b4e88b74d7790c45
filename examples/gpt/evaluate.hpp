// gpt/evaluate.hpp: how well a model foretells a text.
// Reads: gpt/gpt.hpp, gpt/dataset.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpt/dataset.hpp"
#include "gpt/gpt.hpp"
#include <cstdint>
#include <span>

namespace gpt {

/// The mean loss of `batches` batches from random places, the same for each call with one seed.
///
/// Units: nats a token.
[[nodiscard]] double sampled_loss(network& model, std::span<const token_id> tokens,
                                  std::int64_t batches, std::int64_t seed);

/// The mean loss over all tokens but the first, each foretold once: the text is cut into blocks of
/// `context` tokens, and a block sees nothing of the one before.
///
/// Units: nats a token.
[[nodiscard]] double whole_loss(network& model, std::span<const token_id> tokens);

/// -log(softmax(logits)) at `target`, in f64.
[[nodiscard]] double cross_entropy(std::span<const float> logits, token_id target);

}  // namespace gpt
