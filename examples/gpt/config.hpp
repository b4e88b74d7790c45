// gpt/config.hpp: the sizes of a model.
// Next: gpt/model.hpp, the model of these sizes; gpt/gpt.hpp, how the verbs see it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpt {

/// Sizes. Units: `context` in tokens, `batch` in rows of that length.
struct config {
  std::int64_t layers, heads, width, context, batch, vocabulary;
  bool remat = false;  ///< keep only what enters each layer, and compute the layer again backward

  friend constexpr bool operator==(const config&, const config&) = default;
};

/// Floating-point operations of the matrix products of one training step: forward, and twice as
/// many backward; attention as if it were not causal. `mfu_formula` is what it computes.
///
/// Source: Chowdhery et al., PaLM, 2022, appendix B.
[[nodiscard]] constexpr double step_flops(const config& c) {
  const auto weights =
      static_cast<double>(12 * c.layers * c.width * c.width + c.vocabulary * c.width);
  const auto scores = static_cast<double>(12 * c.layers * c.context * c.width);
  return static_cast<double>(c.batch * c.context) * (6 * weights + scores);
}
inline constexpr const char* mfu_formula = "B*T*(6*(12*L*C*C + V*C) + 12*L*T*C) a step";

}  // namespace gpt
