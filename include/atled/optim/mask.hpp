// atled/optim/mask.hpp: which leaves of a tree a rule is for.
// Reads: trace/expr.hpp. Used by optim/adam.hpp for weight decay.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/trace/expr.hpp"

namespace atled::optim {

/// Leaves with at least N axes: matrices, but neither biases nor the scales of norms.
template <int N>
struct rank_at_least {
  [[nodiscard]] constexpr bool operator()(const expr& leaf) const { return leaf.rank() >= N; }
};

struct every_leaf {
  [[nodiscard]] constexpr bool operator()(const expr&) const { return true; }
};

}  // namespace atled::optim
