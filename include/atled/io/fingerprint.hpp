// atled/io/fingerprint.hpp: the size and a hash of bytes, to see whether they are still the same.
// Reads: io/bytes.hpp. It finds damage and changes; it is no defence against an adversary.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/bytes.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace atled::io {

/// Size and hash of a run of bytes. Units: size in bytes.
struct fingerprint {
  std::uint64_t size = 0;
  std::uint64_t hash = 0;

  friend constexpr bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// Builds a fingerprint piece by piece; how the bytes are cut into pieces does not matter.
///
/// Each step is a bijection of the state, so that a change in any one word of 8 bytes is found
/// with certainty, not only with high probability.
/// Source: the step is FNV-1a (Fowler, Noll, Vo) on 64-bit words, and a fold of the high half.
class fingerprint_builder {
 public:
  void add(std::span<const std::byte> bytes) {
    std::size_t at = 0;
    while (at < bytes.size() && size_ % 8 != 0) add_byte(bytes[at++]);
    for (; at + 8 <= bytes.size(); at += 8) {
      mix(load<std::uint64_t>(bytes.data() + at));
      size_ += 8;
    }
    while (at < bytes.size()) add_byte(bytes[at++]);
  }

  [[nodiscard]] fingerprint finish() const {
    fingerprint_builder last = *this;
    if (size_ % 8 != 0) last.mix(pending_);
    last.mix(size_);
    return {size_, last.state_};
  }

 private:
  void add_byte(std::byte byte) {
    pending_ |= std::to_integer<std::uint64_t>(byte) << (8 * (size_ % 8));
    if (++size_ % 8 == 0) {
      mix(pending_);
      pending_ = 0;
    }
  }

  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x100000001b3U;
    state_ ^= state_ >> 32;
  }

  std::uint64_t state_ = 0xcbf29ce484222325U;
  std::uint64_t pending_ = 0;
  std::uint64_t size_ = 0;
};

[[nodiscard]] inline fingerprint fingerprint_of(std::span<const std::byte> bytes) {
  fingerprint_builder builder;
  builder.add(bytes);
  return builder.finish();
}

}  // namespace atled::io
