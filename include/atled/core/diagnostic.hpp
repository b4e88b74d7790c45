// atled/core/diagnostic.hpp: how a mistake becomes one sentence: source positions, errors, checks.
// Reads: core/text.hpp. Build-time sentences are spelled by `spell`, run-time ones are thrown.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/text.hpp"

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace atled {

/// A position in the user's source, and the name of the function that was called there.
///
/// As a default argument, `call_site at = call_site::here()` is the line of the caller.
struct call_site {
  const char* file;  // plain members: an array of nodes begins as zeros, which costs nothing
  int line;
  const char* function;

  [[nodiscard]] static constexpr call_site here(const char* file = __builtin_FILE(),
                                                int line = __builtin_LINE()) {
    return {file, line, ""};
  }

  [[nodiscard]] constexpr bool has_function() const {
    return function != nullptr && *function != '\0';
  }

  /// The same position, as seen from the public function `name`; the outermost name stays.
  [[nodiscard]] constexpr call_site in(const char* name) const {
    return {file, line, has_function() ? function : name};
  }
};

/// The last component of a path, as sentences show it.
[[nodiscard]] constexpr std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// `train.cpp:30: matmul: `, the beginning of every sentence about traced code.
[[nodiscard]] constexpr text sentence_start(const call_site& at, std::string_view operation) {
  text out;
  if (at.line > 0) out << file_name(at.file) << ':' << at.line << ": ";
  out << (at.has_function() ? std::string_view(at.function) : operation) << ": ";
  return out;
}

/// What the library throws, always with a sentence of the form
/// `<where>: <op>: <what was given>: <what must hold>[; <how to fix>]`.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  explicit error(const text& sentence) : std::runtime_error(std::string(sentence.view())) {}
};

/// Carries a sentence into the compiler's message: g++ prints the string of the template argument.
template <auto Sentence>
struct trace_error {
  static constexpr bool ok = false;
};

/// clang 14 prints a string argument as integers, but single letters as letters.
template <char... Letters>
struct trace_error_letters {
  static constexpr bool ok = false;
};

struct no_trace_error {
  static constexpr bool ok = true;
};

namespace detail {
template <class Source, std::size_t... I>
constexpr auto spell_letters(std::index_sequence<I...>) {
  return trace_error_letters<Source::sentence.chars[I]...>{};
}

template <class Source>
constexpr auto spell_sentence() {
  if constexpr (Source::sentence.size == 0) {
    return no_trace_error{};
  } else {
    constexpr auto size = static_cast<std::size_t>(Source::sentence.size);
#if defined(__clang__)
    return spell_letters<Source>(std::make_index_sequence<size>{});
#else
    return trace_error<fixed_string<size>(Source::sentence.view())>{};
#endif
  }
}
}  // namespace detail

/// The type whose `ok` a static_assert checks; `Source::sentence` is a static constexpr `text`.
template <class Source>
using spell = decltype(detail::spell_sentence<Source>());

}  // namespace atled

/// Throws `atled::error` with the sentence unless the condition holds.
#define ATLED_REQUIRE(condition, sentence)              \
  do {                                                  \
    if (!(condition)) throw ::atled::error((sentence)); \
  } while (false)
