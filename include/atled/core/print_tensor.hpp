// atled/core/print_tensor.hpp: tensors as text, in the layout of NumPy.
// Reads: core/tensor.hpp. Includes no stream: operator<< works with any that takes a string_view.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bounded_tensor.hpp"
#include "atled/core/tensor.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace atled {
namespace detail {

/// NumPy's defaults. Units: elements, digits behind the point, characters.
inline constexpr std::int64_t print_threshold = 1000;
inline constexpr std::int64_t print_edge = 3;
inline constexpr int print_precision = 8;
inline constexpr std::size_t print_width = 75;

/// A formatted number, cut at its point and its exponent: `-12` `.5` and `e+10` or nothing.
struct number_parts {
  std::string whole;
  std::string fraction;  // without its point
  std::string exponent;  // without its e, or empty
};

template <class T>
[[nodiscard]] std::string shortest(T value, std::chars_format format, int precision = -1) {
  char buffer[512];  // the longest double in fixed notation has 309 digits and a sign
  const auto result = precision < 0 ? std::to_chars(buffer, buffer + 512, value, format)
                                    : std::to_chars(buffer, buffer + 512, value, format, precision);
  return {buffer, result.ptr};
}

[[nodiscard]] inline number_parts cut(const std::string& word) {
  const std::size_t e = std::min(word.find('e'), word.size());
  const std::size_t point = std::min(word.find('.'), e);
  number_parts out{word.substr(0, point), {}, e < word.size() ? word.substr(e + 1) : ""};
  if (point < e) out.fraction = word.substr(point + 1, e - point - 1);
  return out;
}

/// The shortest digits that name the value, at most 8 behind the point, no zeros at the end.
template <class T>
[[nodiscard]] number_parts digits_of(T value, std::chars_format format) {
  number_parts out = cut(shortest(value, format));
  if (out.fraction.size() > std::size_t{print_precision}) {
    out = cut(shortest(value, format, print_precision));
    out.fraction.erase(out.fraction.find_last_not_of('0') + 1);
  }
  return out;
}

[[nodiscard]] inline std::string padded(std::string_view word, std::size_t width) {
  return std::string(width > word.size() ? width - word.size() : 0, ' ').append(word);
}

template <class T>
[[nodiscard]] bool needs_exponents(const std::vector<T>& values) {
  T largest = 0;
  T smallest = 0;
  for (const T value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    largest = std::max(largest, std::abs(value));
    smallest = smallest == 0 ? std::abs(value) : std::min(smallest, std::abs(value));
  }
  if (largest == 0) return false;
  return largest >= T(1e8) || smallest < T(1e-4) || largest / smallest > T(1000);
}

/// One word for each value: points, and exponents if any, stand below each other.
template <class T>
[[nodiscard]] std::vector<std::string> floating_words(const std::vector<T>& values) {
  const bool exponents = needs_exponents(values);
  const auto format = exponents ? std::chars_format::scientific : std::chars_format::fixed;
  std::vector<number_parts> parts(values.size());
  std::size_t left = 0;
  std::size_t right = 0;
  std::size_t exponent_width = 0;
  bool any_finite = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    any_finite = true;
    parts[i] = digits_of(values[i], format);
    left = std::max(left, parts[i].whole.size());
    right = std::max(right, parts[i].fraction.size());
    exponent_width = std::max(exponent_width, parts[i].exponent.size());
  }
  const std::size_t tail = right + (exponents ? exponent_width + 1 : 0);
  std::size_t width = any_finite ? left + 1 + tail : 0;
  std::vector<std::string> words(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(values[i])) words[i] = "nan";
    if (std::isinf(values[i])) words[i] = values[i] < 0 ? "-inf" : "inf";
    width = std::max(width, words[i].size());
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      words[i] = padded(words[i], width);
      continue;
    }
    number_parts& part = parts[i];
    std::string word = part.whole + '.' + part.fraction;
    word.append(right - part.fraction.size(), exponents ? '0' : ' ');
    if (exponents) {
      part.exponent.insert(1, exponent_width - part.exponent.size(), '0');
      word += 'e' + part.exponent;
    }
    words[i] = padded(word, width);
  }
  return words;
}

template <class T>
[[nodiscard]] std::vector<std::string> words_of(const std::vector<T>& values) {
  if constexpr (std::is_floating_point_v<T>) {
    return floating_words(values);
  } else {
    std::vector<std::string> words;
    std::size_t width = 0;
    for (const T value : values) {
      words.push_back(std::to_string(value));
      width = std::max(width, words.back().size());
    }
    for (std::string& word : words) word = padded(word, width);
    return words;
  }
}

/// A number on its own: all its digits, `3.0` and `1e-05` for floating ones.
template <class T>
[[nodiscard]] std::string scalar_word(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    const bool plain = value == 0 || (std::abs(value) >= T(1e-4) && std::abs(value) < T(1e16));
    if (!plain) return shortest(value, std::chars_format::scientific);
    std::string word = shortest(value, std::chars_format::fixed);
    return word.find('.') == std::string::npos ? word + ".0" : word;
  } else {
    return std::to_string(value);
  }
}

/// Calls `visit(i)` for the indices of an axis that are shown, and `visit(-1)` for the gap.
template <class Visit>
void visit_shown(std::int64_t size, bool summarised, Visit visit) {
  const bool gap = summarised && size > 2 * print_edge;
  for (std::int64_t i = 0; i < (gap ? print_edge : size); ++i) visit(i);
  if (!gap) return;
  visit(std::int64_t{-1});
  for (std::int64_t i = size - print_edge; i < size; ++i) visit(i);
}

/// Brackets, line breaks and gaps around the words, which come in row-major order.
struct tensor_layout {
  const shape& dims;
  bool summarised;
  const std::vector<std::string>& words;
  std::size_t next_word = 0;

  [[nodiscard]] std::string nested(int axis, std::size_t width) {
    const std::string indent(static_cast<std::size_t>(axis) + 1, ' ');
    std::string out;
    if (axis + 1 == dims.rank) {
      std::string line = indent;
      visit_shown(dims[axis], summarised, [&](std::int64_t i) {
        const std::string word = i < 0 ? "..." : words[next_word++];
        if (line.size() > indent.size()) {
          if (line.size() + 1 + word.size() > width - 1) {
            out += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
            line = indent;
          } else {
            line += ' ';
          }
        }
        line += word;
      });
      out += line;
    } else {
      visit_shown(dims[axis], summarised, [&](std::int64_t i) {
        if (!out.empty()) out.append(static_cast<std::size_t>(dims.rank - axis - 1), '\n');
        out += indent + (i < 0 ? "..." : nested(axis + 1, width - 1));
      });
    }
    return '[' + out.substr(indent.size()) + ']';
  }
};

/// Appends the flat indices of the elements that are shown.
inline void collect_shown(const shape& dims, bool summarised, int axis, std::int64_t flat,
                          std::vector<std::int64_t>& out) {
  if (axis == dims.rank) {
    out.push_back(flat);
    return;
  }
  visit_shown(dims[axis], summarised, [&](std::int64_t i) {
    if (i >= 0) collect_shown(dims, summarised, axis + 1, flat * dims[axis] + i, out);
  });
}

/// The type that prints like T: a bf16 or f16 is an f32 to the reader.
template <class T>
using printed_t = std::conditional_t<half_float<T>, float, T>;

template <class T>
[[nodiscard]] std::string print_values(const shape& dims, const T* values) {
  using printed = printed_t<T>;
  if (dims.size() == 0) return "[]";
  if constexpr (std::is_same_v<T, boolean>) {
    if (dims.rank == 0) return *values ? "True" : "False";
  } else {
    if (dims.rank == 0) return scalar_word(static_cast<printed>(*values));
  }
  const bool summarised = dims.size() > print_threshold;
  std::vector<std::int64_t> shown;
  collect_shown(dims, summarised, 0, 0, shown);
  std::vector<std::string> words;
  if constexpr (std::is_same_v<T, boolean>) {
    for (const std::int64_t i : shown) words.emplace_back(values[i] ? " True" : "False");
  } else {
    std::vector<printed> picked;
    for (const std::int64_t i : shown) picked.push_back(static_cast<printed>(values[i]));
    words = words_of(picked);
  }
  return tensor_layout{dims, summarised, words}.nested(0, print_width);
}

}  // namespace detail

/// The values as NumPy's `str` shows them: 8 digits, columns below each other, and `...` between
/// the first and last three of an axis where there are more than 1000 elements.
template <tensor_like X>
[[nodiscard]] std::string to_string(const X& x) {
  return detail::print_values(X::dims, x.data());
}
template <tensor_expression E>
[[nodiscard]] std::string to_string(const E& e) {
  return to_string(e.eval());
}
/// The elements that are there, as a tensor of these sizes.
template <bounded_tensor_like X>
[[nodiscard]] std::string to_string(const X& x) {
  X packed = X::uninitialized();
  auto* to = packed.data();
  x.for_each_place([&](std::int64_t at) { *to++ = x.data()[at]; });
  return detail::print_values(x.sizes(), std::as_const(packed).data());
}

/// A stream, by what it takes.
template <class Stream>
concept text_stream = requires(Stream& out, std::string_view piece) {
  out.write(piece.data(), 1);
};

template <text_stream Stream, class X>
requires tensor_like<X> || tensor_expression<X> || bounded_tensor_like<X> Stream& operator<<(
    Stream& out, const X& x) {
  const std::string word = to_string(x);
  out << std::string_view(word);
  return out;
}

}  // namespace atled
