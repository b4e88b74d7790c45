// support/tree_distance.hpp: how far apart two trees of tensors are.
// Reads: core/tree.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"

#include <cmath>
#include <cstdint>
#include <limits>

namespace support {

/// The largest difference of two elements; infinite where one is NaN.
template <class A, class B>
[[nodiscard]] double tree_distance(const A& a, const B& b) {
  double worst = 0;
  atled::for_each_leaf(
      [&](const auto& x, const auto& y) {
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const double apart =
              std::abs(static_cast<double>(x.data()[i]) - static_cast<double>(y.data()[i]));
          if (!(apart <= worst)) worst = apart;
          if (std::isnan(worst)) worst = std::numeric_limits<double>::infinity();
        }
      },
      a, b);
  return worst;
}

}  // namespace support
