// atled/core/bounded.hpp: a size that is known at the call only, up to a bound: `upto<1024>`.
// Reads: core/text.hpp. Next: core/shape.hpp, core/bounded_tensor.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/text.hpp"

#include <cstdint>
#include <string_view>

namespace atled {

namespace detail {

// A bounded size is one number, so that it stands wherever a size does and is equal only to itself:
// bit 62, then the name as digits of base 38, then the bound.
inline constexpr int bound_bits = 30;
inline constexpr int most_name_letters = 6;
inline constexpr std::int64_t bounded_bit = std::int64_t{1} << 62;
inline constexpr std::string_view name_letters = "_abcdefghijklmnopqrstuvwxyz0123456789";

[[nodiscard]] constexpr bool is_size_name(std::string_view name) {
  for (const char c : name) {
    if (name_letters.find(c) == std::string_view::npos) return false;
  }
  return name.size() <= std::size_t{most_name_letters};
}
[[nodiscard]] constexpr std::int64_t bounded_size(std::int64_t bound, std::string_view name) {
  std::int64_t digits = 0;
  for (const char c : name) {
    digits = digits * 38 + 1 + static_cast<std::int64_t>(name_letters.find(c));
  }
  return bounded_bit | (digits << bound_bits) | bound;
}
template <std::int64_t N, fixed_string Name>
constexpr std::int64_t checked_bounded_size() {
  static_assert(N >= 0 && N < (std::int64_t{1} << bound_bits),
                "atled::upto: the bound must be from 0 to 1073741823");
  static_assert(is_size_name(Name.view()),
                "atled::upto: a name is at most 6 of the letters a to z, 0 to 9 and _");
  return bounded_size(N, Name.view());
}

}  // namespace detail

/// A size that comes with the call and is at most N: `tensor<f32, upto<1024>, 64>`.
///
///   upto<1024>              all such axes of one call have the same size
///   upto<1024, "tokens">    a size of its own, of all axes with this bound and this name
///
/// Buffers and the memory plan take the bound; one program serves every size.
/// Ill-formed: a bound of 2^30 or more; a name of more than 6 letters.
template <std::int64_t N, fixed_string Name = "">
inline constexpr std::int64_t upto = detail::checked_bounded_size<N, Name>();

/// The size is known at the call only.
[[nodiscard]] constexpr bool is_bounded(std::int64_t size) {
  return size >= detail::bounded_bit;
}
/// The largest value of a size: a fixed one is its own bound.
[[nodiscard]] constexpr std::int64_t bound_of(std::int64_t size) {
  return is_bounded(size) ? size & ((std::int64_t{1} << detail::bound_bits) - 1) : size;
}

/// One of the sizes of a tensor is known at the call only.
template <std::int64_t... Dims>
concept has_bounded = (is_bounded(Dims) || ...);

/// A size as it is written: `8`, `upto<1024>`, `upto<1024,tokens>`.
struct size_text {
  std::int64_t size;
};
constexpr text& operator<<(text& out, const size_text& written) {
  char name[detail::most_name_letters]{};
  int count = 0;
  bool is_token = is_bounded(written.size);  // or else a number that large, as a file may claim
  auto digits = is_token ? (written.size & ~detail::bounded_bit) >> detail::bound_bits : 0;
  for (; is_token && digits > 0; digits /= 38) {
    is_token = digits % 38 != 0 && count < detail::most_name_letters;
    if (is_token) name[count++] = detail::name_letters[static_cast<std::size_t>(digits % 38 - 1)];
  }
  if (!is_token) return out << written.size;
  out << "upto<" << bound_of(written.size);
  if (count > 0) out << ',';
  while (count > 0) out << name[--count];
  return out << '>';
}

}  // namespace atled
