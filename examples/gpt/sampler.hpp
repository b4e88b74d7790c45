// gpt/sampler.hpp: from scores to a token.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpt {

/// How a token is chosen.
struct sampling {
  double temperature = 1;  ///< scores are divided by it; 0: the likeliest token
  std::int64_t top_k = 0;  ///< only the K likeliest; 0, or more than there are: all
  double top_p = 1;        ///< of those only the fewest whose probabilities add up to this
};

/// A token and its probability.
struct candidate {
  std::int32_t token;
  double probability;
};

/// The tokens that may be chosen, the likeliest first; of equal scores the lower token first. At
/// temperature 0 it is the first of the likeliest alone. The probabilities add up to 1.
///
/// Throws: a score is NaN or plus infinity.
[[nodiscard]] std::vector<candidate> candidates(std::span<const float> logits, const sampling& how);

/// The candidate at `unit`, a number in [0, 1), along their probabilities.
[[nodiscard]] std::int32_t choose(std::span<const candidate> from, double unit);

}  // namespace gpt
