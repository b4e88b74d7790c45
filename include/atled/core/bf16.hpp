// atled/core/bf16.hpp: the upper half of an f32 as a storage type.
// Reads: nothing. The packets' conversions are in loops/simd.hpp; these are their scalar twins.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

namespace atled {

/// A bfloat16 number: sign, 8 bits of exponent, 7 bits of fraction. Arithmetic happens in f32.
///
/// Conversion from f32 rounds to nearest, ties to even; a NaN stays a NaN.
struct bf16 {
  std::uint16_t bits = 0;

  constexpr bf16() = default;
  constexpr explicit bf16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}

  [[nodiscard]] constexpr explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

  friend constexpr bool operator==(bf16 lhs, bf16 rhs) {
    return static_cast<float>(lhs) == static_cast<float>(rhs);
  }

 private:
  static constexpr std::uint16_t round(std::uint32_t word) {
    if ((word & 0x7fffffffU) > 0x7f800000U) {  // a NaN: keep it quiet, whatever its payload
      return static_cast<std::uint16_t>((word >> 16) | 0x40U);
    }
    return static_cast<std::uint16_t>((word + 0x7fffU + ((word >> 16) & 1U)) >> 16);
  }
};

}  // namespace atled
