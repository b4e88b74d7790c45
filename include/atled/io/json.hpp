// atled/io/json.hpp: a strict JSON reader: no recursion, no duplicate keys, no rounded integers.
// Reads: io/json_document.hpp. The writer is io/json_writer.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/json_document.hpp"
#include "atled/io/utf8.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace atled::io {

inline constexpr int max_json_depth = 64;
inline constexpr std::size_t max_json_bytes = std::size_t{1} << 30;

/// The parser; call `parse_json`.
class json_parser {
 public:
  explicit json_parser(json_document& document) : out_(document), text_(document.source_) {}

  void run() {
    if (text_.size() > max_json_bytes) {
      refuse(out_.where_, out_.operation_, std::to_string(text_.size()) + " bytes",
             "at most " + std::to_string(max_json_bytes) + " are allowed");
    }
    do {
      value();
      while (depth_ > 0 && !next_item()) close();
    } while (depth_ > 0);
    skip_space();
    require(at_ == text_.size(), "nothing may follow the value");
  }

 private:
  using node = json_document::node;

  void require(bool condition, std::size_t at, std::string_view given, std::string_view rule) {
    if (!condition) refuse(out_.position(at), out_.operation_, given, rule);
  }
  void require(bool condition, std::string_view rule) {
    if (!condition) refuse(out_.position(at_), out_.operation_, seen(), rule);
  }

  [[nodiscard]] char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  /// What stands at the cursor, for a sentence.
  [[nodiscard]] std::string seen() const {
    if (at_ >= text_.size()) return "end of text";
    const std::size_t size = std::max<std::size_t>(decode_utf8(text_, at_).size, 1);
    return "character " + printable(text_.substr(at_, size));
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }

  void add(json_kind kind, std::size_t begin, std::size_t size) {
    out_.nodes_.push_back(
        {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size), kind, false});
  }

  /// Reads a value, or opens containers up to the first value inside them.
  void value() {
    for (;;) {
      skip_space();
      const char c = peek();
      if (c != '{' && c != '[') break;
      if (depth_ == max_json_depth) {
        require(false, at_, "depth " + std::to_string(depth_ + 1),
                "at most " + std::to_string(max_json_depth) + " is allowed");
      }
      open_[static_cast<std::size_t>(depth_++)] = static_cast<std::uint32_t>(out_.nodes_.size());
      add(c == '{' ? json_kind::object : json_kind::array, at_++, 0);
      skip_space();
      if (peek() == (c == '{' ? '}' : ']')) return;
      if (c == '{') key();
    }
    const char c = peek();
    if (c == '"') {
      string();
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      number();
    } else {
      word();
    }
  }

  /// After a value: true if another one of the open container follows, false at its end.
  bool next_item() {
    const bool is_object = out_.nodes_[open_top()].kind == json_kind::object;
    skip_space();
    const char end = is_object ? '}' : ']';
    if (peek() == end) return false;
    require(peek() == ',', is_object ? "a comma or } must follow" : "a comma or ] must follow");
    ++at_;
    if (is_object) {
      skip_space();
      key();
    }
    return true;
  }

  void close() {
    ++at_;
    const std::uint32_t index = open_top();
    --depth_;
    node& container = out_.nodes_[index];
    container.size = static_cast<std::uint32_t>(out_.nodes_.size());
    if (container.kind == json_kind::object) refuse_duplicates(index);
  }

  [[nodiscard]] std::uint32_t open_top() const {
    return open_[static_cast<std::size_t>(depth_ - 1)];
  }

  void refuse_duplicates(std::uint32_t object) {
    keys_.clear();
    for (std::uint32_t i = object + 1; i < out_.nodes_[object].size; i = out_.after(i + 1)) {
      keys_.emplace_back(out_.text_of(out_.nodes_[i]), i);
    }
    std::sort(keys_.begin(), keys_.end());
    const auto twice =
        std::adjacent_find(keys_.begin(), keys_.end(),
                           [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == keys_.end()) return;
    require(false, out_.source_begin(std::next(twice)->second),
            "key " + printable(twice->first) + " twice", "keys must differ");
  }

  void key() {
    require(peek() == '"', "a key in quotes must follow");
    string();
    skip_space();
    require(peek() == ':', "a colon must follow the key");
    ++at_;
  }

  void word() {
    for (const auto& [name, kind] : {std::pair{std::string_view("true"), json_kind::boolean},
                                     std::pair{std::string_view("false"), json_kind::boolean},
                                     std::pair{std::string_view("null"), json_kind::null}}) {
      if (text_.substr(at_, name.size()) == name) {
        add(kind, at_, name.size());
        at_ += name.size();
        return;
      }
    }
    require(false, "a value must follow");
  }

  void digits() {
    require(peek() >= '0' && peek() <= '9', "a digit must follow");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  void number() {
    const std::size_t begin = at_;
    json_kind kind = json_kind::integer;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
      require(peek() < '0' || peek() > '9', "a number must not begin with 0");
    } else {
      digits();
    }
    if (peek() == '.') {
      kind = json_kind::number;
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      kind = json_kind::number;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    add(kind, begin, at_ - begin);
  }

  void string() {
    const std::size_t begin = ++at_;
    for (;;) {
      const unsigned char c = plain();
      if (c == '"') {
        add(json_kind::string, begin, at_++ - begin);
        return;
      }
      if (c == '\\') break;
    }
    escaped_string(begin);
  }

  /// Steps over one character; a quote or backslash is returned without a step.
  unsigned char plain() {
    require(at_ < text_.size(), at_, "end of text", "the string must be closed");
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"' || c == '\\') return c;
    require(c >= 0x20U, "controls in a string must be escaped");
    const std::size_t size = decode_utf8(text_, at_).size;
    require(size > 0, "a string must be UTF-8");
    at_ += size;
    return c;
  }

  void escaped_string(std::size_t begin) {
    std::string& out = out_.unescaped_;
    const std::size_t out_begin = out.size();
    out += text_.substr(begin, at_ - begin);
    for (;;) {
      const std::size_t from = at_;
      const unsigned char c = plain();
      if (c == '"') break;
      if (c == '\\') {
        escape();
      } else {
        out += text_.substr(from, at_ - from);
      }
    }
    ++at_;
    add(json_kind::string, begin - 1, out_.pieces_.size());
    out_.nodes_.back().escaped = true;
    out_.pieces_.emplace_back(out_begin, out.size() - out_begin);
  }

  void escape() {
    constexpr std::string_view letters = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    const std::size_t begin = at_++;
    if (peek() != 'u') {
      const auto which = at_ < text_.size() ? letters.find(peek()) : letters.npos;
      require(which != letters.npos, begin, "an unknown escape", "it must be one of JSON");
      out_.unescaped_ += meanings[which];
      ++at_;
      return;
    }
    char32_t value = hexadecimal();
    if (value >= 0xd800U && value <= 0xdfffU) {
      constexpr std::string_view rule = "a high surrogate and a low one must stand together";
      require(value < 0xdc00U && text_.substr(at_, 2) == "\\u", begin, "a lone surrogate", rule);
      ++at_;
      const char32_t low = hexadecimal();
      require(low >= 0xdc00U && low <= 0xdfffU, begin, "a lone surrogate", rule);
      value = 0x10000U + ((value - 0xd800U) << 10) + (low - 0xdc00U);
    }
    append_utf8(out_.unescaped_, value);
  }

  /// The four digits after a `u`.
  char32_t hexadecimal() {
    const std::string_view four = text_.substr(std::min(++at_, text_.size()), 4);
    std::uint32_t value = 0;
    const auto [end, code] = std::from_chars(four.data(), four.data() + four.size(), value, 16);
    require(four.size() == 4 && code == std::errc{} && end == four.data() + 4,
            "four hexadecimal digits must follow");
    at_ += 4;
    return value;
  }

  json_document& out_;
  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::array<std::uint32_t, max_json_depth> open_{};
  std::vector<std::pair<std::string_view, std::uint32_t>> keys_;
};

/// Parses one JSON value, and nothing before or after it but white space.
///
/// `where` and `operation` begin each sentence; `base` is the offset of the text in its file.
///
/// Cost: O(bytes), and a sort of each object's keys; constant stack.
/// Throws: not JSON; invalid UTF-8 or a lone surrogate; a key twice in one object; depth over 64.
/// Source: RFC 8259.
[[nodiscard]] inline json_document parse_json(std::string text, std::string_view where = "json",
                                              std::string_view operation = "parse json",
                                              std::uint64_t base = 0) {
  json_document out;
  out.source_ = std::move(text);
  out.where_ = where;
  out.operation_ = operation;
  out.base_ = base;
  json_parser(out).run();
  return out;
}

}  // namespace atled::io
