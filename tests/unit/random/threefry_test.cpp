// SPDX-License-Identifier: MIT
#include "atled/random/threefry.hpp"

#include "support/catch.hpp"

namespace {

using atled::random::threefry2x32;
using atled::random::word_pair;

// The known answers of Random123, threefry2x32 with 20 rounds.
static_assert(threefry2x32({0, 0}, {0, 0}) == word_pair{0x6b200159, 0x99ba4efe});
static_assert(threefry2x32({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              word_pair{0x1cb996fc, 0xbb002be7});
static_assert(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}) ==
              word_pair{0xc4923a9c, 0x483df7a0});

}  // namespace

TEST_CASE("threefry2x32: neighbouring counters give unrelated blocks", "[random]") {
  int equal_bits = 0;
  for (atled::u32 i = 0; i < 64; ++i) {
    const word_pair one = threefry2x32({1, 2}, {0, i});
    const word_pair other = threefry2x32({1, 2}, {0, i + 1});
    equal_bits += std::popcount(~(one[0] ^ other[0])) + std::popcount(~(one[1] ^ other[1]));
  }
  CHECK(equal_bits > 64 * 32 - 300);  // half of 4096, within ten deviations
  CHECK(equal_bits < 64 * 32 + 300);
}
