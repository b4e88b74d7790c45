// gpt/sampler.cpp: temperature, top-k and top-p.
// Reads: gpt/sampler.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/sampler.hpp"

#include "atled/io/file.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>

namespace gpt {

std::vector<candidate> candidates(std::span<const float> logits, const sampling& how) {
  const auto score = [&](const candidate& c) { return logits[static_cast<std::size_t>(c.token)]; };
  const auto is_before = [&](const candidate& lhs, const candidate& rhs) {
    return score(lhs) > score(rhs) || (score(lhs) == score(rhs) && lhs.token < rhs.token);
  };
  std::vector<candidate> out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) {
      atled::io::refuse("sample", "choose a token", "a score of " + std::to_string(logits[i]),
                        "scores must be finite; the weights are damaged or the training failed");
    }
    out.push_back({static_cast<std::int32_t>(i), 1});
  }
  if (how.temperature == 0) {
    return {*std::min_element(out.begin(), out.end(), is_before)};
  }
  if (how.top_k > 0 && static_cast<std::size_t>(how.top_k) < out.size()) {
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(how.top_k);
    std::nth_element(out.begin(), end, out.end(), is_before);
    out.erase(end, out.end());
  }
  std::sort(out.begin(), out.end(), is_before);

  const auto most = static_cast<double>(score(out.front()));
  double sum = 0;
  for (candidate& c : out) {
    c.probability = std::exp((static_cast<double>(score(c)) - most) / how.temperature);
    sum += c.probability;
  }
  double kept = 0;
  std::size_t count = 0;
  while (count < out.size() && kept < how.top_p * sum) kept += out[count++].probability;
  out.resize(std::max<std::size_t>(count, 1));
  for (candidate& c : out) c.probability /= kept;
  return out;
}

std::int32_t choose(std::span<const candidate> from, double unit) {
  for (const candidate& c : from.first(from.size() - 1)) {
    if (unit < c.probability) return c.token;
    unit -= c.probability;
  }
  return from.back().token;  // also where rounding leaves a rest
}

}  // namespace gpt
