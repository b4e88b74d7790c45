// atled/ops/einsum_labels.hpp: the text of an einsum as terms, a term as labels of axes.
// Reads: core/shape.hpp. Next: ops/einsum.hpp, which contracts by them.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"

#include <string_view>

namespace atled::detail {

/// The labels of one term, a letter an axis; axes under an ellipsis are '0', '1' ... from the last.
struct labels {
  char list[max_rank]{};
  int size = 0;

  constexpr void push(char label) {
    if (size < max_rank) list[size] = label;
    ++size;
  }
  [[nodiscard]] constexpr int find(char label) const {
    for (int i = 0; i < size && i < max_rank; ++i) {
      if (list[i] == label) return i;
    }
    return -1;
  }
  [[nodiscard]] constexpr bool has(char label) const { return find(label) >= 0; }
};

/// A set of labels of any number of terms.
struct label_set {
  bool is_in[128]{};

  constexpr void add(const labels& term) {
    for (int i = 0; i < term.size; ++i) is_in[static_cast<std::size_t>(term.list[i])] = true;
  }
  [[nodiscard]] constexpr bool has(char label) const {
    return is_in[static_cast<std::size_t>(label)];
  }
};

/// The text of an einsum, cut into terms.
struct einsum_spec {
  static constexpr int most = 8;
  std::string_view inputs[most]{};
  int num_inputs = 0;
  std::string_view output{};
  bool has_output = false;

  constexpr explicit einsum_spec(std::string_view spec) {
    const auto arrow = spec.find("->");
    if (arrow != std::string_view::npos) {
      has_output = true;
      output = spec.substr(arrow + 2);
      spec = spec.substr(0, arrow);
    }
    while (true) {
      const auto comma = spec.find(',');
      if (num_inputs < most) inputs[num_inputs] = spec.substr(0, comma);
      ++num_inputs;
      if (comma == std::string_view::npos) return;
      spec.remove_prefix(comma + 1);
    }
  }
};

constexpr bool is_label(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// The labels of a term for a value of `rank` axes; an empty text, or what is wrong.
constexpr text read_term(std::string_view term, int rank, labels& out) {
  text problem;
  int letters = 0;
  for (const char c : term) letters += is_label(c) ? 1 : 0;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.substr(i, 3) == "...") {
      for (int j = rank - letters; j > 0; --j) out.push(static_cast<char>('0' + j - 1));
      i += 2;
    } else if (is_label(term[i])) {
      out.push(term[i]);
    } else if (term[i] != ' ') {
      return problem << "a label must be a letter, and " << term.substr(i, 1) << " is none";
    }
  }
  return problem;
}

}  // namespace atled::detail
