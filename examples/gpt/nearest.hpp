// gpt/nearest.hpp: the name that was probably meant.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/// Letters to insert, delete, replace or swap with their neighbour to turn one word into the other.
///
/// Source: Damerau, A technique for computer detection and correction of spelling errors, 1964.
[[nodiscard]] inline std::size_t spelling_distance(std::string_view lhs, std::string_view rhs) {
  const std::size_t columns = rhs.size() + 1;
  std::vector<std::size_t> table((lhs.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * columns + j];
  };
  for (std::size_t i = 0; i <= lhs.size(); ++i) {
    for (std::size_t j = 0; j <= rhs.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t replaced = at(i - 1, j - 1) + (lhs[i - 1] == rhs[j - 1] ? 0U : 1U);
      at(i, j) = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      const bool swapped = i > 1 && j > 1 && lhs[i - 1] == rhs[j - 2] && lhs[i - 2] == rhs[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(lhs.size(), rhs.size());
}

/// `; did you mean train`, or nothing where no name is near.
template <class Names>
[[nodiscard]] std::string did_you_mean(std::string_view given, const Names& names) {
  given = given.substr(0, 64);
  std::string_view best;
  std::size_t least = given.size() / 3 + 1;
  for (const std::string_view name : names) {
    const std::size_t distance = spelling_distance(given, name);
    if (distance < least || (distance == least && best.empty())) {
      best = name;
      least = distance;
    }
  }
  return best.empty() ? std::string() : "; did you mean " + std::string(best);
}

}  // namespace gpt
