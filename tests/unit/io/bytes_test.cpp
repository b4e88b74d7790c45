// tests/unit/io/bytes_test.cpp: for atled/io/bytes.hpp.
// Reads: atled/io/bytes.hpp.
// SPDX-License-Identifier: MIT
#include "atled/io/bytes.hpp"

#include "support/catch.hpp"
#include <array>
#include <cstdint>
#include <limits>

namespace io = atled::io;
using atled::dtype;
using atled::shape;

TEST_CASE("bytes: sums and products that need more than 64 bits are nothing", "[io]") {
  constexpr auto max = std::numeric_limits<std::uint64_t>::max();
  STATIC_REQUIRE(io::checked_sum(max - 1, 1) == max);
  STATIC_REQUIRE(!io::checked_sum(max, 1));
  STATIC_REQUIRE(io::checked_product(max / 2, 2) == max - 1);
  STATIC_REQUIRE(!io::checked_product(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
}

TEST_CASE("bytes: the size of a tensor is checked, also where an axis is empty", "[io]") {
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  STATIC_REQUIRE(io::checked_bytes(dtype::f32, shape::of({})) == 4U);
  STATIC_REQUIRE(io::checked_bytes(dtype::f64, shape::of({2, 3})) == 48U);
  STATIC_REQUIRE(io::checked_bytes(dtype::f64, shape::of({0, 3})) == 0U);
  STATIC_REQUIRE(!io::checked_bytes(dtype::f64, shape::of({huge})));
  STATIC_REQUIRE(io::checked_bytes(dtype::u8, shape::of({huge})) ==
                 static_cast<std::uint64_t>(huge));
  STATIC_REQUIRE(!io::checked_bytes(dtype::u8, shape::of({huge, 0, 3})));
  STATIC_REQUIRE(!io::checked_bytes(dtype::u8, shape::of({-1})));
}

TEST_CASE("bytes: NaN and infinity are counted in unaligned bytes of each floating type", "[io]") {
  alignas(8) std::array<std::byte, 33> raw{};
  const auto inside = std::span<std::byte>(raw).subspan(1);  // unaligned
  const std::array<double, 4> wide{1.0, std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN(), 1e308};
  std::memcpy(inside.data(), wide.data(), 32);
  CHECK(io::count_non_finite(dtype::f64, inside) == 2);
  const std::array<float, 3> narrow{-std::numeric_limits<float>::infinity(), 0.0F, 3e38F};
  std::memcpy(inside.data(), narrow.data(), 12);
  CHECK(io::count_non_finite(dtype::f32, inside.first(12)) == 1);
  const std::array<std::uint16_t, 3> brain{0x7f80, 0x3f80, 0xffc0};
  std::memcpy(inside.data(), brain.data(), 6);
  CHECK(io::count_non_finite(dtype::bf16, inside.first(6)) == 2);
  const std::array<std::uint16_t, 3> halves{0x7c00, 0x7bff, 0xfe00};
  std::memcpy(inside.data(), halves.data(), 6);
  CHECK(io::count_non_finite(dtype::f16, inside.first(6)) == 2);
  CHECK(io::count_non_finite(dtype::i64, inside) == 0);
}

TEST_CASE("bytes: a boolean that is neither 0 nor 1 is found", "[io]") {
  const std::array<std::byte, 3> bytes{std::byte{0}, std::byte{1}, std::byte{2}};
  CHECK(io::find_bad_boolean(bytes) == std::size_t{2});
  CHECK(!io::find_bad_boolean(std::span(bytes).first(2)));
}
