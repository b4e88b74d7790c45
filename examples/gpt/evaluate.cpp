// gpt/evaluate.cpp: losses over parts of a text and over all of it.
// Reads: gpt/evaluate.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace gpt {

double cross_entropy(std::span<const float> logits, token_id target) {
  const double most = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  return most + std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(target)]);
}

double sampled_loss(network& model, std::span<const token_id> tokens, std::int64_t batches,
                    std::int64_t seed) {
  if (tokens.size() <= static_cast<std::size_t>(model.sizes().context)) {
    return whole_loss(model, tokens);
  }
  batch rows(model.sizes());
  double sum = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    rows.draw(tokens, draws(seed, i));
    sum += static_cast<double>(model.loss(rows.text(), rows.next()));
  }
  return sum / static_cast<double>(batches);
}

double whole_loss(network& model, std::span<const token_id> tokens) {
  const config& sizes = model.sizes();
  const auto context = static_cast<std::size_t>(sizes.context);
  const auto vocabulary = static_cast<std::size_t>(sizes.vocabulary);
  const std::size_t count = tokens.size() - 1;
  batch rows(sizes);
  double sum = 0;
  std::size_t at = 0;
  for (; at + rows.text().size() <= count; at += rows.text().size()) {
    rows.take(tokens.subspan(at));
    sum += static_cast<double>(model.loss(rows.text(), rows.next())) *
           static_cast<double>(rows.text().size());
  }
  while (at < count) {  // what does not fill a batch, block by block
    const std::size_t length = std::min(context, count - at);
    const auto logits = model.logits(tokens.subspan(at, length));
    for (std::size_t i = 0; i < length; ++i) {
      sum += cross_entropy(logits.subspan(i * vocabulary, vocabulary), tokens[at + i + 1]);
    }
    at += length;
  }
  return sum / static_cast<double>(count);
}

}  // namespace gpt
