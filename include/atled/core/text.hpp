// atled/core/text.hpp: strings at build time: a literal as a template argument, and a builder.
// Reads: nothing. Next: core/diagnostic.hpp, which makes sentences with it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace atled {

/// A string literal as a template argument: `axis<"data">`.
template <std::size_t N>
struct fixed_string {
  char chars[N + 1]{};

  constexpr fixed_string() = default;
  constexpr fixed_string(const char (&literal)[N + 1]) {  // NOLINT: implicit as a literal is
    for (std::size_t i = 0; i < N; ++i) chars[i] = literal[i];
  }
  constexpr explicit fixed_string(std::string_view text) {
    for (std::size_t i = 0; i < N; ++i) chars[i] = text[i];
  }
  [[nodiscard]] constexpr std::string_view view() const { return {chars, N}; }
};
template <std::size_t N>
fixed_string(const char (&)[N]) -> fixed_string<N - 1>;

/// A short text built piece by piece at build time; what does not fit is dropped.
///
/// Invariant: size <= capacity.
struct text {
  static constexpr int capacity = 480;
  char chars[capacity]{};
  int size = 0;

  constexpr text() = default;
  constexpr text(std::string_view piece) { *this << piece; }  // NOLINT: a text is a string
  constexpr text(const char* piece) { *this << std::string_view(piece); }  // NOLINT

  [[nodiscard]] constexpr bool empty() const { return size == 0; }
  [[nodiscard]] constexpr std::string_view view() const {
    return {chars, static_cast<std::size_t>(size)};
  }

  constexpr text& operator<<(std::string_view piece) {
    for (const char c : piece) {
      if (size < capacity) chars[size++] = c;
    }
    return *this;
  }
  constexpr text& operator<<(const char* piece) { return *this << std::string_view(piece); }
  constexpr text& operator<<(const text& piece) { return *this << piece.view(); }
  constexpr text& operator<<(char c) { return *this << std::string_view(&c, 1); }
  constexpr text& operator<<(std::int64_t number) {
    if (number < 0) *this << '-';
    auto rest =
        number < 0 ? ~static_cast<std::uint64_t>(number) + 1 : static_cast<std::uint64_t>(number);
    char digits[20]{};
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest != 0);
    while (count > 0) *this << digits[--count];
    return *this;
  }
  constexpr text& operator<<(int number) { return *this << static_cast<std::int64_t>(number); }
};

}  // namespace atled
