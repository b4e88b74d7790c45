// unit/core/f16_test.cpp: halves to f32 and back: all of them, ties, ends, NaN.
// SPDX-License-Identifier: MIT
#include "atled/core/f16.hpp"

#include "support/catch.hpp"
#include <cmath>
#include <limits>

using namespace atled;

namespace {
constexpr float inf = std::numeric_limits<float>::infinity();

constexpr float value_of(std::uint16_t bits) {
  f16 x;
  x.bits = bits;
  return static_cast<float>(x);
}
/// By the definition: sign, exponent and fraction.
float by_definition(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const float fraction = static_cast<float>(bits & 1023) / 1024;
  const float size = exponent == 31  ? (fraction == 0 ? inf : std::nanf(""))
                     : exponent == 0 ? std::ldexp(fraction, -14)
                                     : std::ldexp(1 + fraction, exponent - 15);
  return (bits & 0x8000) != 0 ? -size : size;
}

static_assert(value_of(0x3c00) == 1 && value_of(0x7bff) == 65504 && value_of(1) == 0x1p-24F);
static_assert(f16(1.0F / 3).bits == 0x3555 && f16(-2.0F).bits == 0xc000);
}  // namespace

TEST_CASE("f16: each half is the number of its definition, and comes back", "[core]") {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    const float value = value_of(word);
    const float expected = by_definition(word);
    if (std::isnan(expected)) {
      REQUIRE(std::isnan(value));
      REQUIRE(f16(value).bits == (word | 0x200));  // quiet, and the payload is kept
    } else {
      REQUIRE(value == expected);
      REQUIRE(std::signbit(value) == std::signbit(expected));
      REQUIRE(f16(value).bits == word);
    }
  }
}

TEST_CASE("f16: between two halves the nearer is taken, at the middle the even one", "[core]") {
  for (std::uint32_t bits = 0; bits < 0x7bff; ++bits) {
    const auto low = static_cast<std::uint16_t>(bits);
    const auto high = static_cast<std::uint16_t>(bits + 1);
    const float middle = value_of(low) + (value_of(high) - value_of(low)) / 2;  // exact in f32
    REQUIRE(f16(middle).bits == (bits % 2 == 0 ? low : high));
    REQUIRE(f16(std::nextafter(middle, 0.0F)).bits == low);
    REQUIRE(f16(std::nextafter(middle, inf)).bits == high);
    REQUIRE(f16(-middle).bits == (0x8000U | (bits % 2 == 0 ? low : high)));
  }
}

TEST_CASE("f16: what is too large is infinite, what is too small 0, a NaN stays one", "[core]") {
  CHECK(f16(65519.99F).bits == 0x7bff);
  CHECK(f16(65520.0F).bits == 0x7c00);
  CHECK(f16(-3e38F).bits == 0xfc00);
  CHECK(f16(-inf).bits == 0xfc00);
  CHECK(f16(0x1p-25F).bits == 0);
  CHECK(f16(0x1.000002p-25F).bits == 1);
  CHECK(f16(-0x1p-149F).bits == 0x8000);
  CHECK(std::isnan(static_cast<float>(f16(std::numeric_limits<float>::quiet_NaN()))));
  CHECK(std::isnan(static_cast<float>(f16(std::bit_cast<float>(0x7f800001U)))));
  CHECK(f16(0.0F) == f16(-0.0F));
  CHECK(!(f16(std::nanf("")) == f16(std::nanf(""))));
}
