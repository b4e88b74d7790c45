// atled/io/tokenizer.hpp: text as numbers, one for each character that a training text holds.
// Reads: io/utf8.hpp, io/json.hpp. A tokenizer travels as one JSON string beside the weights.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/file.hpp"
#include "atled/io/json.hpp"
#include "atled/io/json_writer.hpp"
#include "atled/io/utf8.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::io {

/// The index of a token, as an embedding takes it.
using token_id = std::int32_t;

/// Reads a file that is to be text. Bytes are bytes: any encoding passes but UTF-16 and UTF-32.
///
/// Throws: the file cannot be read, is empty, or begins with a UTF-16 or UTF-32 mark.
[[nodiscard]] inline std::string read_text(const std::string& path) {
  using namespace std::string_view_literals;
  std::string out = read_file(path);
  const std::string_view start = std::string_view(out).substr(0, 4);
  if (start.empty()) refuse(at_offset(path, 0), "read text", "an empty file", "text is needed");
  std::string_view encoding;
  if (start.substr(0, 2) == "\xff\xfe"sv) encoding = "UTF-16LE";
  if (start.substr(0, 2) == "\xfe\xff"sv) encoding = "UTF-16BE";
  if (start == "\xff\xfe\0\0"sv) encoding = "UTF-32LE";
  if (start == "\0\0\xfe\xff"sv) encoding = "UTF-32BE";
  if (!encoding.empty()) {
    refuse(at_offset(path, 0), "read text", std::string(encoding) + " by its byte order mark",
           "UTF-8 is needed; convert it with iconv -f " + std::string(encoding.substr(0, 6)) +
               " -t UTF-8");
  }
  return out;
}

/// A window of `context` tokens and its targets, shifted by one, need `context` + 1 tokens.
///
/// Throws: there are fewer.
inline void require_tokens(std::uint64_t count, std::uint64_t context, std::string_view path) {
  if (count > context) return;
  refuse(shown_path(path), "read tokens",
         std::to_string(count) + " tokens for a context of " + std::to_string(context),
         "at least context + 1 are needed; use a longer text or a smaller context");
}

/// Gives each character of a text a number.
///
/// - Characters are code points; a byte that is no part of valid UTF-8 is a character of its own.
/// - Ids count from 0: code points ascending, then such bytes ascending.
/// - decode(encode(text)) == text for every byte string whose characters are known.
class character_tokenizer {
 public:
  /// The tokenizer of all characters in `text`.
  ///
  /// Cost: O(bytes) and 139 KB.
  /// Throws: the text is empty.
  [[nodiscard]] static character_tokenizer from_text(std::string_view text) {
    if (text.empty()) {
      refuse("text", "build character tokenizer", "0 bytes", "at least one character is needed");
    }
    std::vector<std::uint64_t> present(num_symbols / 64);  // one bit a symbol
    for (std::size_t at = 0; at < text.size();) {
      const auto [symbol, size] = symbol_at(text, at);
      present[symbol / 64] |= std::uint64_t{1} << (symbol % 64);
      at += size;
    }
    std::vector<char32_t> symbols;
    for (std::size_t i = 0; i < present.size(); ++i) {
      for (std::uint64_t rest = present[i]; rest != 0; rest &= rest - 1) {
        symbols.push_back(static_cast<char32_t>(i * 64) +
                          static_cast<char32_t>(std::countr_zero(rest)));
      }
    }
    return character_tokenizer(std::move(symbols));
  }

  /// What `to_json` wrote; `where` begins each sentence.
  ///
  /// Throws: another format or version; characters that do not ascend.
  [[nodiscard]] static character_tokenizer from_json(std::string json,
                                                     std::string_view where = "tokenizer") {
    const json_document document = parse_json(std::move(json), where, "read tokenizer");
    const json_value root = document.root();
    for (const json_member member : root.members()) {
      const std::string_view name = member.name();
      if (name != "type" && name != "version" && name != "characters" && name != "bytes") {
        member.key.refuse("key " + printable(name), "it must be one of the tokenizer's four");
      }
    }
    const json_value type = root.at("type");
    if (type.string() != "character") type.refuse(type.described(), "only character can be read");
    const json_value version = root.at("version");
    if (version.unsigned_integer() != 1) {
      version.refuse(version.described(), "only version 1 can be read");
    }
    std::vector<char32_t> symbols;
    const json_value characters = root.at("characters");
    for (std::size_t at = 0; at < characters.string().size();) {
      const code_point next = decode_utf8(characters.string(), at);
      add_ascending(symbols, next.value, characters);
      at += next.size;
    }
    for (const json_value byte : root.at("bytes").elements()) {
      const std::uint64_t value = byte.unsigned_integer();
      if (value < 0x80U || value > 0xffU) byte.refuse(byte.described(), "it must be 128 to 255");
      add_ascending(symbols, first_byte + static_cast<char32_t>(value), byte);
    }
    if (symbols.empty()) root.refuse("no characters", "at least one is needed");
    return character_tokenizer(std::move(symbols));
  }

  /// One line of JSON, which `from_json` reads.
  [[nodiscard]] std::string to_json() const {
    std::string characters;
    json_writer bytes;
    bytes.begin_object().key("type").value("character").key("version").value(1);
    for (const char32_t symbol : symbols_) {
      if (symbol < first_byte) append_utf8(characters, symbol);
    }
    bytes.key("characters").value(characters).key("bytes").begin_array();
    for (const char32_t symbol : symbols_) {
      if (symbol >= first_byte) bytes.value(static_cast<std::uint32_t>(symbol - first_byte));
    }
    return bytes.end().end().finish();
  }

  [[nodiscard]] std::size_t vocabulary_size() const { return symbols_.size(); }

  /// The ids of a text; `where` begins the sentence about an unknown character.
  ///
  /// Throws: a character that the tokenizer does not know, with its byte offset, line and column.
  [[nodiscard]] std::vector<token_id> encode(std::string_view text,
                                             std::string_view where = "text") const {
    std::vector<token_id> out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const auto [symbol, size] = symbol_at(text, at);
      const token_id id = find(symbol);
      if (id < 0) refuse_unknown(text, at, size, where);
      out.push_back(id);
      at += size;
    }
    return out;
  }

  /// The text of ids.
  ///
  /// Throws: an id below 0 or not below the vocabulary's size, with its position.
  [[nodiscard]] std::string decode(std::span<const token_id> ids) const {
    std::string out;
    out.reserve(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || static_cast<std::size_t>(ids[i]) >= symbols_.size()) {
        refuse("token " + std::to_string(i), "decode", "id " + std::to_string(ids[i]),
               "it must be from 0 to " + std::to_string(symbols_.size() - 1));
      }
      const char32_t symbol = symbols_[static_cast<std::size_t>(ids[i])];
      if (symbol < first_byte) {
        append_utf8(out, symbol);
      } else {
        out += static_cast<char>(symbol - first_byte);
      }
    }
    return out;
  }

  friend bool operator==(const character_tokenizer& lhs, const character_tokenizer& rhs) {
    return lhs.symbols_ == rhs.symbols_;
  }

 private:
  /// A symbol is a code point, or `first_byte` and a byte that is not UTF-8.
  static constexpr char32_t first_byte = 0x110000U;
  static constexpr char32_t num_symbols = first_byte + 0x100U;

  explicit character_tokenizer(std::vector<char32_t> symbols) : symbols_(std::move(symbols)) {
    ascii_.fill(-1);
    for (std::size_t i = 0; i < symbols_.size() && symbols_[i] < 0x80U; ++i) {
      ascii_[symbols_[i]] = static_cast<token_id>(i);
    }
  }

  static code_point symbol_at(std::string_view text, std::size_t at) {
    const code_point next = decode_utf8(text, at);
    if (next.size > 0) return next;
    return {first_byte + static_cast<unsigned char>(text[at]), 1};
  }

  static void add_ascending(std::vector<char32_t>& symbols, char32_t symbol,
                            const json_value& value) {
    if (!symbols.empty() && symbols.back() >= symbol) {
      value.refuse("character " + std::to_string(symbols.size()), "characters must ascend");
    }
    symbols.push_back(symbol);
  }

  [[nodiscard]] token_id find(char32_t symbol) const {
    if (symbol < 0x80U) return ascii_[symbol];
    const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
    if (at == symbols_.end() || *at != symbol) return -1;
    return static_cast<token_id>(at - symbols_.begin());
  }

  [[noreturn]] void refuse_unknown(std::string_view text, std::size_t at, std::size_t size,
                                   std::string_view where) const {
    const std::string_view before = text.substr(0, at);
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const auto newline = before.rfind('\n');
    const std::size_t column = newline == before.npos ? at + 1 : at - newline;
    refuse(at_offset(where, at) + " (line " + std::to_string(line) + ", column " +
               std::to_string(column) + ")",
           "encode", "character " + printable(text.substr(at, size)),
           "it must be one of the " + std::to_string(symbols_.size()) +
               " characters of the text that the tokenizer was built from");
  }

  std::vector<char32_t> symbols_;
  std::array<token_id, 0x80> ascii_{};
};

}  // namespace atled::io
