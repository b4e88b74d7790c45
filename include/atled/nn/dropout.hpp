// atled/nn/dropout.hpp: elements left out at random while training.
// Reads: random/distributions.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/random/distributions.hpp"

namespace atled::nn {

/// Each element 0 with probability `rate`, the others over 1 - rate: the mean stays.
///
/// What is left out depends on the key and the place of the element alone: the same key gives the
/// same mask, on any machine and with any number of threads. A rate of 0 is no operation.
/// Source: Srivastava et al., Dropout, JMLR 2014.
[[nodiscard]] constexpr expr dropout(const expr& x, const expr& key, double rate,
                                     call_site at = call_site::here()) {
  at = at.in("dropout");
  const ir::operand in = ir::floating_operand(x, at);
  if (in.is_poison() || rate <= 0) return in;
  const ir::operand is_kept(random::bernoulli(key, 1 - rate, in.type().dims, at), at);
  if (is_kept.is_poison()) return is_kept;
  return ir::select(is_kept, in * (rate < 1 ? 1 / (1 - rate) : 0), in.like(0));
}

}  // namespace atled::nn
