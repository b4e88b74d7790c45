// atled/io/bytes.hpp: sizes that may not wrap, little-endian numbers, and checks of raw elements.
// Reads: core/shape.hpp. Each reader multiplies and adds sizes with these functions only.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace atled::io {

static_assert(std::endian::native == std::endian::little,
              "atled::io: the host must be little-endian: files are copied to memory as they are");

/// The sum, or nothing where it needs more than 64 bits.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_sum(std::uint64_t lhs,
                                                                 std::uint64_t rhs) {
  std::uint64_t out = 0;
  if (__builtin_add_overflow(lhs, rhs, &out)) return std::nullopt;
  return out;
}

/// The product, or nothing where it needs more than 64 bits.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_product(std::uint64_t lhs,
                                                                     std::uint64_t rhs) {
  std::uint64_t out = 0;
  if (__builtin_mul_overflow(lhs, rhs, &out)) return std::nullopt;
  return out;
}

/// The bytes of a tensor, or nothing where they, or the strides of its axes, need more than 63
/// bits, or a size is negative.
///
/// An axis of size 0 counts as 1 in the check, so that f32[0,2^63-1,8] is refused too.
/// Units: bytes.
[[nodiscard]] constexpr std::optional<std::uint64_t> checked_bytes(dtype element,
                                                                   const shape& dims) {
  std::uint64_t bytes = static_cast<std::uint64_t>(size_of(element));
  bool empty = false;
  for (int axis = 0; axis < dims.rank; ++axis) {
    if (dims[axis] < 0) return std::nullopt;
    empty = empty || dims[axis] == 0;
    const auto next =
        checked_product(bytes, static_cast<std::uint64_t>(dims[axis] | (dims[axis] == 0)));
    if (!next) return std::nullopt;
    bytes = *next;
  }
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  return empty ? 0 : bytes;
}

/// A number at any address, aligned or not.
template <class T>
[[nodiscard]] T load(const void* from) {
  T out;
  std::memcpy(&out, from, sizeof(T));
  return out;
}

/// The same bytes as characters.
[[nodiscard]] inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

/// The same characters as bytes.
[[nodiscard]] inline std::span<const std::byte> as_byte_span(std::string_view text) {
  return {static_cast<const std::byte*>(static_cast<const void*>(text.data())), text.size()};
}

/// A block of bytes that nothing has written yet.
///
/// Invariant: aligned for each element type; move only.
struct byte_buffer {
  std::unique_ptr<std::byte[]> data;
  std::size_t size = 0;

  byte_buffer() = default;
  explicit byte_buffer(std::size_t count)
      : data(std::make_unique_for_overwrite<std::byte[]>(count)), size(count) {}

  [[nodiscard]] std::span<std::byte> span() { return {data.get(), size}; }
  [[nodiscard]] std::span<const std::byte> span() const { return {data.get(), size}; }
};

/// Where a byte that is to be a boolean is neither 0 nor 1; nothing where there is none.
///
/// Reading such a byte as a `bool` is undefined behaviour, so readers call this before they copy.
[[nodiscard]] inline std::optional<std::size_t> find_bad_boolean(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (std::to_integer<unsigned>(bytes[i]) > 1U) return i;
  }
  return std::nullopt;
}

namespace detail {
template <class Word>
std::uint64_t count_exponents(std::span<const std::byte> bytes, Word mask) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    count += (load<Word>(bytes.data() + i) & mask) == mask ? 1U : 0U;
  }
  return count;
}
}  // namespace detail

/// How many elements are NaN or infinite; 0 for integers. The bytes need no alignment.
[[nodiscard]] inline std::uint64_t count_non_finite(dtype element,
                                                    std::span<const std::byte> bytes) {
  switch (element) {
    case dtype::f16:
      return detail::count_exponents<std::uint16_t>(bytes, 0x7c00U);
    case dtype::bf16:
      return detail::count_exponents<std::uint16_t>(bytes, 0x7f80U);
    case dtype::f32:
      return detail::count_exponents<std::uint32_t>(bytes, 0x7f800000U);
    case dtype::f64:
      return detail::count_exponents<std::uint64_t>(bytes, 0x7ff0000000000000U);
    case dtype::boolean:
    case dtype::u8:
    case dtype::i32:
    case dtype::u32:
    case dtype::i64:
      return 0;
  }
  __builtin_unreachable();
}

}  // namespace atled::io
