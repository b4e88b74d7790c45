// gpt/draws.hpp: random numbers of the host: which batch comes next, which token is chosen.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace gpt {

/// A sequence of random numbers that a seed and a counter determine, on every machine. Each step
/// has a sequence of its own, so that a run can be taken up anywhere.
///
/// Source: SplitMix64: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014.
class draws {
 public:
  draws(std::int64_t seed, std::int64_t counter)
      : state_(mixed(mixed(static_cast<std::uint64_t>(seed)) +
                     static_cast<std::uint64_t>(counter) * increment)) {}

  [[nodiscard]] std::uint64_t bits() { return mixed(state_ += increment); }

  /// From 0 to `count` - 1. A bias of count / 2^64 is left in.
  [[nodiscard]] std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(count));
  }

  /// In [0, 1).
  [[nodiscard]] double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t increment = 0x9e3779b97f4a7c15U;

  [[nodiscard]] static std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace gpt
