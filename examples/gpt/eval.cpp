// gpt/eval.cpp: measures weights on the validation part of a text.
// Reads: gpt/verbs.hpp, gpt/run_folder.hpp, gpt/dataset.hpp, gpt/evaluate.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/dataset.hpp"
#include "gpt/evaluate.hpp"
#include "gpt/run_folder.hpp"
#include "gpt/verbs.hpp"
#include <cmath>
#include <cstdio>
#include <numbers>

namespace gpt {

void eval(const options& given) {
  loaded_model loaded = folder_of(given.out, given.preset).load(given.preset);
  const source_text source = read_source(given.data);
  if (source.fingerprint != loaded.from.fingerprint) {
    std::fprintf(stderr, "note: the weights were trained on another text, %s\n",
                 loaded.from.data.c_str());
  }
  const dataset data(source, loaded.tokenizer);
  const auto tokens = data.validation();
  atled::io::require_tokens(tokens.size(), 1, source.name);

  const double loss = whole_loss(*loaded.model, tokens);
  const auto count = static_cast<double>(tokens.size() - 1);
  const auto bytes = static_cast<double>(loaded.tokenizer.decode(tokens.subspan(1)).size());
  std::printf(
      "validation loss %.6f nats a token over %zu tokens: perplexity %.4f, %.4f bits a byte\n",
      loss, tokens.size() - 1, std::exp(loss), loss * count / bytes / std::numbers::ln2);
}

}  // namespace gpt
