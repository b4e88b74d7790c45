// gpt/sample.cpp: writes text, token by token.
// Reads: gpt/verbs.hpp, gpt/run_folder.hpp, gpt/sampler.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/draws.hpp"
#include "gpt/run_folder.hpp"
#include "gpt/sampler.hpp"
#include "gpt/verbs.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace gpt {
namespace {

/// The tokens to begin with: a new line, or where the text had none its first character.
std::vector<token_id> first_tokens(const options& given,
                                   const atled::io::character_tokenizer& tokenizer) {
  if (given.prompt) return tokenizer.encode(*given.prompt, "--prompt");
  try {
    return tokenizer.encode("\n");
  } catch (const atled::error&) {
    return {0};
  }
}

void write_text(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void sample(const options& given) {
  const loaded_model loaded = folder_of(given.out, given.preset).load(given.preset);
  const config& sizes = loaded.model->sizes();
  const auto context = static_cast<std::size_t>(sizes.context);
  const auto vocabulary = static_cast<std::size_t>(sizes.vocabulary);
  const sampling how{given.temperature, given.top_k, given.top_p};

  std::vector<token_id> tokens = first_tokens(given, loaded.tokenizer);
  if (given.prompt) write_text(*given.prompt);
  for (std::int64_t i = 0; i < given.tokens; ++i) {
    const std::size_t seen = std::min(tokens.size(), context);
    const auto scores = loaded.model->logits(std::span(tokens).last(seen));
    // Rows of the vocabulary that no character of the text has are never chosen.
    const auto next = scores.subspan((seen - 1) * vocabulary, loaded.tokenizer.vocabulary_size());
    draws random(given.seed, i);
    tokens.push_back(choose(candidates(next, how), random.unit()));
    write_text(loaded.tokenizer.decode(std::span(tokens).last(1)));
    std::fflush(stdout);
  }
  write_text("\n");
}

}  // namespace gpt
