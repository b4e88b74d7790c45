// atled/core/f16.hpp: a 16-bit float of IEEE 754 as a storage type.
// Reads: nothing. The packets' conversions are in loops/simd_convert.hpp; these are their scalar
// twins.
// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstdint>

namespace atled {

/// An IEEE half: sign, 5 bits of exponent, 10 bits of fraction. Arithmetic happens in f32.
///
/// - The largest number is 65504, the smallest normal one 2^-14, the smallest of all 2^-24.
/// - Conversion from f32 rounds to nearest, ties to even: from 65520 on it is infinite; a NaN stays
///   a NaN, with the upper bits of its payload, and is made quiet. An f64 goes through f32.
struct f16 {
  std::uint16_t bits = 0;

  constexpr f16() = default;
  constexpr explicit f16(float value) : bits(round(std::bit_cast<std::uint32_t>(value))) {}

  [[nodiscard]] constexpr explicit operator float() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t size = bits & 0x7fffU;
    std::uint32_t word = 0;
    if (size > 0x7c00U) {  // a NaN
      word = 0x7fc00000U | size << 13;
    } else if (size == 0x7c00U) {
      word = 0x7f800000U;
    } else if (size >= 0x400U) {  // the exponent's bias is 127, not 15
      word = (size << 13) + 0x38000000U;
    } else {
      word = std::bit_cast<std::uint32_t>(static_cast<float>(size) * 0x1p-24F);
    }
    return std::bit_cast<float>(sign | word);
  }

  friend constexpr bool operator==(f16 lhs, f16 rhs) {
    return static_cast<float>(lhs) == static_cast<float>(rhs);
  }

 private:
  static constexpr std::uint16_t round(std::uint32_t word) {
    const std::uint32_t sign = word >> 16 & 0x8000U;
    const std::uint32_t size = word & 0x7fffffffU;
    std::uint32_t half = 0;
    if (size > 0x7f800000U) {  // a NaN
      half = 0x7e00U | (size >> 13 & 0x3ffU);
    } else if (size >= 0x477ff000U) {  // 65520, half way to 2^16
      half = 0x7c00U;
    } else if (size >= 0x38800000U) {  // 2^-14
      half = (size - 0x38000000U + 0xfffU + (size >> 13 & 1U)) >> 13;
    } else {  // 1/2 + x keeps as many bits of x as a half does, and rounds the others
      const float kept = std::bit_cast<float>(size) + 0.5F;
      half = std::bit_cast<std::uint32_t>(kept) - 0x3f000000U;
    }
    return static_cast<std::uint16_t>(sign | half);
  }
};

}  // namespace atled
