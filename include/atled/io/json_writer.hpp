// atled/io/json_writer.hpp: JSON text, value by value.
// Reads: io/utf8.hpp. What it writes, `parse_json` reads back to the same values.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/io/utf8.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace atled::io {

/// What becomes of NaN and infinity, for which JSON has no number.
enum class non_finite : std::uint8_t { refuse, as_null };

/// The shortest decimal text that reads back as the same bits.
template <class Number>
[[nodiscard]] std::string shortest(Number number) {
  std::array<char, 40> digits{};
  const auto [end, code] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return {digits.data(), end};
}

/// Appends `text` in quotes.
///
/// Throws: it is not UTF-8.
inline void append_json_string(std::string& out, std::string_view text) {
  ATLED_REQUIRE(find_invalid_utf8(text) == std::string_view::npos,
                "write json: string " + printable(text) + ": a string must be UTF-8");
  constexpr std::string_view letters = "\"\\\b\f\n\r\t";
  constexpr std::string_view names = "\"\\bfnrt";
  const auto is_plain = [](char c) {
    return static_cast<unsigned char>(c) >= 0x20U && c != '"' && c != '\\';
  };
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    while (at < text.size() && is_plain(text[at])) ++at;
    out += text.substr(begin, at - begin);
    if (at == text.size()) break;
    const char c = text[at++];
    const auto which = letters.find(c);
    if (which != letters.npos) {
      out += '\\';
      out += names[which];
    } else {
      out += "\\u00" + detail::hexadecimal(static_cast<unsigned char>(c));
    }
  }
  out += '"';
}

/// Writes one JSON value into a string, without white space.
///
/// `begin_object().key("lr").value(0.1).end()` writes `{"lr":0.1}`.
///
/// Invariants: commas and colons are put where they belong; a key twice in one object is the
/// caller's to avoid.
class json_writer {
 public:
  explicit json_writer(non_finite policy = non_finite::refuse) : policy_(policy) {}

  json_writer& begin_object() { return begin('{', '}'); }
  json_writer& begin_array() { return begin('[', ']'); }

  json_writer& end() {
    ATLED_REQUIRE(!ends_.empty() && !after_key_,
                  "write json: end: an object or array must be open, and no key without value");
    out_ += ends_.back();
    ends_.pop_back();
    first_ = false;
    return *this;
  }

  json_writer& key(std::string_view name) {
    ATLED_REQUIRE(!ends_.empty() && ends_.back() == '}' && !after_key_,
                  "write json: key " + printable(name) + ": an object must be open");
    if (!first_) out_ += ',';
    append_json_string(out_, name);
    out_ += ':';
    after_key_ = true;
    return *this;
  }

  json_writer& value(std::string_view text) {
    separate();
    append_json_string(out_, text);
    return *this;
  }
  json_writer& value(const char* text) { return value(std::string_view(text)); }

  /// Throws: NaN or infinity, unless the policy writes null for them.
  template <class Number>
  requires std::is_arithmetic_v<Number> json_writer& value(Number number) {
    if constexpr (std::is_same_v<Number, bool>) {
      return word(number ? "true" : "false");
    } else {
      if (std::is_floating_point_v<Number> && !std::isfinite(static_cast<double>(number))) {
        ATLED_REQUIRE(policy_ == non_finite::as_null,
                      "write json: " + shortest(number) + ": a number must be finite");
        return null();
      }
      return word(shortest(number));
    }
  }

  json_writer& null() { return word("null"); }

  /// The text.
  ///
  /// Throws: an object or array is still open.
  [[nodiscard]] std::string finish() {
    ATLED_REQUIRE(ends_.empty() && !out_.empty(), "write json: finish: the value must be complete");
    return std::exchange(out_, std::string());
  }

 private:
  json_writer& begin(char open, char close) {
    separate();
    out_ += open;
    ends_ += close;
    first_ = true;
    return *this;
  }

  json_writer& word(std::string_view text) {
    separate();
    out_ += text;
    return *this;
  }

  /// Checks that a value may stand here, and puts the comma before an array's item.
  void separate() {
    const bool fits = ends_.empty() ? out_.empty() : ends_.back() == ']' || after_key_;
    ATLED_REQUIRE(fits,
                  "write json: value: it needs a key in an object, and stands alone elsewhere");
    if (!after_key_ && !first_) out_ += ',';
    first_ = false;
    after_key_ = false;
  }

  std::string out_;
  std::string ends_;
  non_finite policy_;
  bool first_ = true;
  bool after_key_ = false;
};

}  // namespace atled::io
