// atled/random/threefry.hpp: threefry 2x32, the function from which all random numbers come, for
// one block at a time.
// Reads: core/dtype.hpp. Next: random/key.hpp; op::threefry is the same function inside a program.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

#include <array>
#include <bit>
#include <cstddef>

namespace atled::random {

/// Two words: a key, a counter, or what the two give.
using word_pair = std::array<u32, 2>;

/// The block that `key` gives at `counter`; 20 rounds.
///
/// Source: Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
[[nodiscard]] constexpr word_pair threefry2x32(const word_pair& key, const word_pair& counter) {
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  constexpr u32 parity = 0x1BD11BDA;  // makes the three key words differ if the key is 0
  const std::array<u32, 3> keys{key[0], key[1], key[0] ^ key[1] ^ parity};
  u32 x = counter[0] + keys[0];
  u32 y = counter[1] + keys[1];
  for (u32 group = 1; group <= 5; ++group) {
    for (const int distance : rotations[(group - 1) % 2]) {
      x += y;
      y = std::rotl(y, distance) ^ x;
    }
    x += keys[group % 3];
    y += keys[(group + 1) % 3] + group;
  }
  return {x, y};
}

}  // namespace atled::random
