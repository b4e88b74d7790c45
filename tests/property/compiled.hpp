// property/compiled.hpp: a compiled program against the same graph run node by node.
// Reads: unit/ops/traced.hpp. Used by the jit_*_test.cpp beside it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <cmath>
#include <vector>

namespace atled::test {

/// Numbers between -1 and 1 for floating types, small integers for others; the same every time.
template <class T>
T numbers_for(std::uint32_t seed) {
  T out;
  for (auto& x : out) {
    seed = seed * 1664525U + 1013904223U;
    using element = std::remove_cvref_t<decltype(x)>;
    if constexpr (std::is_floating_point_v<element>) {
      x = static_cast<element>(seed >> 8) / static_cast<element>(1 << 23) - element{1};
    } else if constexpr (half_float<element>) {
      x = element(static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0F);
    } else {
      x = static_cast<element>((seed >> 16) % 7);
    }
  }
  return out;
}

/// The leaves of a result as numbers.
template <class Tree>
std::vector<std::vector<double>> numbers_of(const Tree& tree) {
  std::vector<std::vector<double>> out;
  for_each_leaf(
      [&](const auto& leaf) {
        out.emplace_back();
        for (std::int64_t i = 0; i < leaf.size(); ++i) {
          out.back().push_back(static_cast<double>(static_cast<f64>(leaf.data()[i])));
        }
      },
      tree);
  return out;
}

/// The largest difference, relative to the largest number of each output (at least 1).
inline double distance(const std::vector<std::vector<double>>& actual,
                       const std::vector<std::vector<double>>& expected) {
  if (actual.size() != expected.size()) return static_cast<double>(INFINITY);
  double worst = 0;
  for (std::size_t o = 0; o < actual.size(); ++o) {
    if (actual[o].size() != expected[o].size()) return static_cast<double>(INFINITY);
    double scale = 1;
    for (const double e : expected[o]) {
      if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
    }
    for (std::size_t i = 0; i < actual[o].size(); ++i) {
      const double a = actual[o][i];
      const double e = expected[o][i];
      if (a == e || (std::isnan(a) && std::isnan(e))) continue;
      const double far = std::abs(a - e) / scale;
      if (!(far <= worst)) worst = std::isnan(far) ? static_cast<double>(INFINITY) : far;
    }
  }
  return worst;
}

/// How far the compiled program, as kernels, is from its graph run node by node.
template <class F, class... T>
double compiled_distance(F f, const T&... x) {
  return distance(numbers_of(jit(f, by_kernels)(x...)), all_values(f, x...));
}

}  // namespace atled::test
