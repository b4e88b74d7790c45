// atled/io/json_document.hpp: a parsed JSON text as a flat array, and the values in it.
// Reads: io/file.hpp, io/utf8.hpp. `parse_json` in io/json.hpp makes documents.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/file.hpp"
#include "atled/io/utf8.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace atled::io {

/// `integer` is a number without fraction and exponent, of any size.
enum class json_kind : std::uint8_t { null, boolean, integer, number, string, array, object };

class json_value;
struct json_member;

/// A parsed text and its values.
///
/// - Values come in the order of the text; a key stands right before its value.
/// - The document owns the text; a `json_value` points into it and dies with it or its move.
/// - Memory stays below 20 times the text: 12 bytes a value, and a value takes 2 bytes of text.
class json_document {
 public:
  [[nodiscard]] json_value root() const;

 private:
  friend class json_value;
  friend class json_parser;
  friend json_document parse_json(std::string, std::string_view, std::string_view, std::uint64_t);

  /// A string's `size` is its bytes, or with `escaped` its index in `pieces`; a container's is the
  /// index one past its last value.
  struct node {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    json_kind kind = json_kind::null;
    bool escaped = false;
  };

  [[nodiscard]] std::string_view text_of(const node& n) const {
    if (!n.escaped) return std::string_view(source_).substr(n.begin, n.size);
    const auto& [begin, size] = pieces_[n.size];
    return std::string_view(unescaped_).substr(begin, size);
  }

  [[nodiscard]] std::uint32_t after(std::uint32_t index) const {
    const node& n = nodes_[index];
    return n.kind == json_kind::array || n.kind == json_kind::object ? n.size : index + 1;
  }

  /// The first character of a value in the text.
  [[nodiscard]] std::size_t source_begin(std::uint32_t index) const {
    const node& n = nodes_[index];
    return n.begin - (n.kind == json_kind::string && !n.escaped ? 1U : 0U);
  }

  /// `<where> @<offset> (line <n>, column <n>)`; lines and columns from 1, columns in bytes.
  [[nodiscard]] std::string position(std::size_t at) const {
    const std::string_view before = std::string_view(source_).substr(0, at);
    const auto lines = std::count(before.begin(), before.end(), '\n');
    const auto newline = before.rfind('\n');
    const std::size_t column = newline == std::string_view::npos ? at + 1 : at - newline;
    return where_ + " @" + std::to_string(base_ + at) + " (line " + std::to_string(lines + 1) +
           ", column " + std::to_string(column) + ")";
  }

  std::string source_;
  std::string where_;
  std::string operation_;
  std::uint64_t base_ = 0;
  std::vector<node> nodes_;
  std::string unescaped_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces_;
};

/// One value of a document; the document must outlive it.
///
/// Each accessor throws, with the position, where the value is of another kind.
class json_value {
 public:
  template <class Item>
  class range;

  [[nodiscard]] json_kind kind() const { return node().kind; }

  [[nodiscard]] bool boolean() const {
    require(json_kind::boolean, "true or false");
    return document_->text_of(node()) == "true";
  }
  [[nodiscard]] std::string_view string() const {
    require(json_kind::string, "a string");
    return document_->text_of(node());
  }
  /// Digits only: no sign, fraction or exponent, and below 2^64.
  [[nodiscard]] std::uint64_t unsigned_integer() const {
    return read<std::uint64_t>("a non-negative integer of 64 bits");
  }
  /// No fraction or exponent, and within 64 bits.
  [[nodiscard]] std::int64_t integer() const { return read<std::int64_t>("an integer of 64 bits"); }
  /// The nearest f64 of an integer or a number; one outside f64 is refused, never infinite.
  [[nodiscard]] double number() const { return read<double>("a number within f64"); }

  /// The values of an array, in order.
  [[nodiscard]] range<json_value> elements() const;
  /// The members of an object, in order.
  [[nodiscard]] range<json_member> members() const;
  /// The member's value, or nothing. Cost: O(members).
  [[nodiscard]] std::optional<json_value> find(std::string_view key) const;
  /// The member's value. Cost: O(members).
  [[nodiscard]] json_value at(std::string_view key) const;

  /// `<where> @<offset> (line <n>, column <n>)` of the value's first character.
  [[nodiscard]] std::string position() const {
    return document_->position(document_->source_begin(index_));
  }

  /// The value as a sentence shows it: `number 1.5`, `string f32`, `array`.
  [[nodiscard]] std::string described() const {
    switch (kind()) {
      case json_kind::null:
        return "null";
      case json_kind::boolean:
        return std::string(document_->text_of(node()));
      case json_kind::integer:
      case json_kind::number:
        return "number " + printable(document_->text_of(node()));
      case json_kind::string:
        return "string " + printable(document_->text_of(node()));
      case json_kind::array:
        return "array";
      case json_kind::object:
        return "object";
    }
    __builtin_unreachable();
  }

  /// Throws a sentence about this value.
  [[noreturn]] void refuse(std::string_view given, std::string_view rule) const {
    io::refuse(position(), document_->operation_, given, rule);
  }

 private:
  friend class json_document;
  friend struct json_member;

  json_value(const json_document* document, std::uint32_t index)
      : document_(document), index_(index) {}

  [[nodiscard]] const json_document::node& node() const { return document_->nodes_[index_]; }

  void require(json_kind wanted, std::string_view what) const {
    if (kind() != wanted) refuse(described(), "it must be " + std::string(what));
  }

  template <class Number>
  [[nodiscard]] Number read(std::string_view what) const {
    const std::string rule = "it must be " + std::string(what);
    const bool fits = kind() == json_kind::integer ||
                      (kind() == json_kind::number && std::is_floating_point_v<Number>);
    if (!fits) refuse(described(), rule);
    const std::string_view digits = document_->text_of(node());
    Number out{};
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (code != std::errc{} || end != digits.data() + digits.size()) refuse(described(), rule);
    return out;
  }

  const json_document* document_;
  std::uint32_t index_;
};

/// A key and its value.
struct json_member {
  json_value key;
  json_value value;

  [[nodiscard]] std::string_view name() const { return key.string(); }

 private:
  template <class Item>
  friend class json_value::range;
  json_member(const json_document* document, std::uint32_t index)
      : key(document, index), value(document, index + 1) {}
};

/// What a range-based `for` walks over.
template <class Item>
class json_value::range {
 public:
  class iterator {
   public:
    [[nodiscard]] Item operator*() const { return Item(document_, index_); }
    iterator& operator++() {
      index_ = document_->after(std::is_same_v<Item, json_member> ? index_ + 1 : index_);
      return *this;
    }
    friend bool operator==(const iterator& lhs, const iterator& rhs) {
      return lhs.index_ == rhs.index_;
    }

   private:
    friend class range;
    iterator(const json_document* document, std::uint32_t index)
        : document_(document), index_(index) {}
    const json_document* document_;
    std::uint32_t index_;
  };

  [[nodiscard]] iterator begin() const { return {document_, begin_}; }
  [[nodiscard]] iterator end() const { return {document_, end_}; }

 private:
  friend class json_value;
  range(const json_document* document, std::uint32_t begin, std::uint32_t end)
      : document_(document), begin_(begin), end_(end) {}
  const json_document* document_;
  std::uint32_t begin_;
  std::uint32_t end_;
};

inline json_value json_document::root() const {
  return {this, 0};
}

inline json_value::range<json_value> json_value::elements() const {
  require(json_kind::array, "an array");
  return {document_, index_ + 1, node().size};
}

inline json_value::range<json_member> json_value::members() const {
  require(json_kind::object, "an object");
  return {document_, index_ + 1, node().size};
}

inline std::optional<json_value> json_value::find(std::string_view key) const {
  for (const json_member member : members()) {
    if (member.name() == key) return member.value;
  }
  return std::nullopt;
}

inline json_value json_value::at(std::string_view key) const {
  if (const auto value = find(key)) return *value;
  refuse("object without " + printable(key), "this key must be there");
}

}  // namespace atled::io
