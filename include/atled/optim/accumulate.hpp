// atled/optim/accumulate.hpp: one gradient from several small batches: the mean over all tokens.
// Reads: core/tree.hpp, ops/elementwise.hpp. Next: optim/clip.hpp, which acts once, on the result.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/elementwise.hpp"

#include <utility>

namespace atled::optim {

/// The sum of gradients so far, and the number of tokens they were summed over, an integer.
template <class Gradient, class Count>
using gradient_sum = std::pair<Gradient, Count>;

/// The sum with one batch more: the gradient of its summed (not averaged) losses, and its tokens.
template <class Gradient>
[[nodiscard]] constexpr gradient_sum<Gradient, expr> accumulate(
    const gradient_sum<Gradient, expr>& total, const Gradient& gradient, const located& tokens) {
  const auto add = [](const expr& sum, const expr& more) { return sum + more; };
  return {tree_map(add, total.first, gradient), total.second + tokens};
}

/// The gradient of the mean loss over all tokens, however they were spread over batches.
///
/// A batch of few tokens counts for few: the mean of the batches' means would be another number.
template <class Gradient>
[[nodiscard]] constexpr Gradient mean_gradient(const gradient_sum<Gradient, expr>& total) {
  return tree_map([&](const expr& sum) { return sum / convert(total.second, sum.element()); },
                  total.first);
}

}  // namespace atled::optim
