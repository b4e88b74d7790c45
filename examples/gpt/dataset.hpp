// gpt/dataset.hpp: a text as tokens: the part to learn from, the part to be measured on, batches.
// Reads: gpt/gpt.hpp, gpt/draws.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/fingerprint.hpp"

#include "gpt/draws.hpp"
#include "gpt/gpt.hpp"
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/// A text before it is made into tokens.
struct source_text {
  std::string name;  ///< as sentences and files name it
  std::string bytes;
  atled::io::fingerprint fingerprint;
};

/// The text of a file, or where there is none the sources of atled, which are part of this program.
///
/// Throws: the file cannot be read, is empty, or is UTF-16 or UTF-32.
[[nodiscard]] source_text read_source(const std::optional<std::string>& path);

/// The tokens of a text. The last tenth is for validation.
class dataset {
 public:
  /// Throws: a character that the tokenizer does not know.
  dataset(const source_text& source, const atled::io::character_tokenizer& tokenizer)
      : name_(source.name), tokens_(tokenizer.encode(source.bytes, source.name)) {
    split_ = tokens_.size() / 10 * 9 + tokens_.size() % 10 * 9 / 10;
  }

  [[nodiscard]] std::span<const token_id> train() const { return std::span(tokens_).first(split_); }
  [[nodiscard]] std::span<const token_id> validation() const {
    return std::span(tokens_).subspan(split_);
  }

  /// Throws: too short to be trained on with this context, or to be measured on.
  void require_enough(const config& sizes) const {
    atled::io::require_tokens(split_, static_cast<std::uint64_t>(sizes.context), name_);
    atled::io::require_tokens(tokens_.size() - split_, 1, name_);
  }

 private:
  std::string name_;
  std::vector<token_id> tokens_;
  std::size_t split_ = 0;
};

/// Rows of text and, for each place, the token that follows.
class batch {
 public:
  explicit batch(const config& sizes)
      : context_(static_cast<std::size_t>(sizes.context)),
        text_(static_cast<std::size_t>(sizes.batch) * context_),
        next_(text_.size()) {}

  [[nodiscard]] std::span<const token_id> text() const { return text_; }
  [[nodiscard]] std::span<const token_id> next() const { return next_; }

  /// Rows from random places, of which part number `part` of a larger batch is taken. There must be
  /// more than `context` tokens.
  void draw(std::span<const token_id> tokens, draws random, int part = 0) {
    const auto places = static_cast<std::int64_t>(tokens.size() - context_);
    for (std::size_t skipped = static_cast<std::size_t>(part) * text_.size() / context_;
         skipped > 0; --skipped) {
      (void)random.below(places);
    }
    for (std::size_t row = 0; row < text_.size(); row += context_) {
      copy_row(row, tokens.subspan(static_cast<std::size_t>(random.below(places))));
    }
  }

  /// All rows, one after the other: batch * context + 1 tokens are needed.
  void take(std::span<const token_id> tokens) {
    for (std::size_t row = 0; row < text_.size(); row += context_) {
      copy_row(row, tokens.subspan(row));
    }
  }

 private:
  void copy_row(std::size_t row, std::span<const token_id> from) {
    for (std::size_t i = 0; i < context_; ++i) {
      text_[row + i] = from[i];
      next_[row + i] = from[i + 1];
    }
  }

  std::size_t context_;
  std::vector<token_id> text_;
  std::vector<token_id> next_;
};

}  // namespace gpt
