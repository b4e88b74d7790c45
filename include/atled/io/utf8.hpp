// atled/io/utf8.hpp: UTF-8 in and out, and foreign bytes as a sentence may show them.
// Reads: nothing. Next: io/json.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace atled::io {

/// One code point and the bytes it takes; size 0 where the bytes are not UTF-8.
struct code_point {
  char32_t value = 0;
  std::size_t size = 0;
};

/// Reads the code point that begins at `at`; overlong forms, surrogates and values above U+10FFFF
/// are not UTF-8.
///
/// Pre: at < bytes.size().
/// Source: The Unicode Standard, table 3-7, well-formed UTF-8 byte sequences.
[[nodiscard]] constexpr code_point decode_utf8(std::string_view bytes, std::size_t at) {
  const auto byte = [&](std::size_t i) -> char32_t {
    return at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const char32_t lead = byte(0);
  if (lead < 0x80U) return {lead, 1};
  if (lead < 0xc2U) return {};
  if (lead < 0xe0U) {
    if (!tail(1)) return {};
    return {((lead & 0x1fU) << 6) | (byte(1) & 0x3fU), 2};
  }
  if (lead < 0xf0U) {
    if (!tail(1) || !tail(2)) return {};
    const char32_t value = ((lead & 0x0fU) << 12) | ((byte(1) & 0x3fU) << 6) | (byte(2) & 0x3fU);
    const bool surrogate = value >= 0xd800U && value <= 0xdfffU;
    if (value < 0x800U || surrogate) return {};
    return {value, 3};
  }
  if (lead > 0xf4U || !tail(1) || !tail(2) || !tail(3)) return {};
  const char32_t value = ((lead & 0x07U) << 18) | ((byte(1) & 0x3fU) << 12) |
                         ((byte(2) & 0x3fU) << 6) | (byte(3) & 0x3fU);
  if (value < 0x10000U || value > 0x10ffffU) return {};
  return {value, 4};
}

/// The position of the first byte that is not UTF-8, or npos.
[[nodiscard]] constexpr std::size_t find_invalid_utf8(std::string_view bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = decode_utf8(bytes, at).size;
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

/// Pre: `value` is a Unicode scalar value.
inline void append_utf8(std::string& out, char32_t value) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (value < 0x80U) {
    put(value);
  } else if (value < 0x800U) {
    put(0xc0U | (value >> 6));
    put(0x80U | (value & 0x3fU));
  } else if (value < 0x10000U) {
    put(0xe0U | (value >> 12));
    put(0x80U | ((value >> 6) & 0x3fU));
    put(0x80U | (value & 0x3fU));
  } else {
    put(0xf0U | (value >> 18));
    put(0x80U | ((value >> 12) & 0x3fU));
    put(0x80U | ((value >> 6) & 0x3fU));
    put(0x80U | (value & 0x3fU));
  }
}

namespace detail {
/// At least two digits, upper case.
inline std::string hexadecimal(char32_t value) {
  std::string out;
  do {
    out.insert(out.begin(), "0123456789ABCDEF"[value & 0xfU]);
    value >>= 4;
  } while (value != 0 || out.size() < 2);
  return out;
}

/// Controls, and the marks that turn or hide the text after them.
constexpr bool is_unprintable(char32_t value) {
  return value < 0x20U || (value >= 0x7fU && value < 0xa0U) ||
         (value >= 0x200bU && value <= 0x200fU) || (value >= 0x2028U && value <= 0x202eU) ||
         (value >= 0x2066U && value <= 0x2069U) || value == 0xfeffU;
}
}  // namespace detail

/// A foreign string as a sentence shows it: other bytes as <0A>, cut after about `limit` bytes.
[[nodiscard]] inline std::string printable(std::string_view bytes, std::size_t limit = 64) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size();) {
    if (out.size() >= limit) return out + "...";
    const code_point next = decode_utf8(bytes, at);
    if (next.size == 0) {
      out += '<' + detail::hexadecimal(static_cast<unsigned char>(bytes[at])) + '>';
      at += 1;
      continue;
    }
    if (detail::is_unprintable(next.value)) {
      out += '<' + detail::hexadecimal(next.value) + '>';
    } else {
      out += bytes.substr(at, next.size);
    }
    at += next.size;
  }
  return out;
}

}  // namespace atled::io
