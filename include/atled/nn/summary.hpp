// atled/nn/summary.hpp: what a model holds: the number of its parameters, and a table of them.
// Reads: trace/trace.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/trace/trace.hpp"

#include <string>

namespace atled::nn {

/// The number of parameters of a model of tensors: `num_parameters<mlp<values>>()`.
template <model_like Model>
[[nodiscard]] constexpr std::int64_t num_parameters() {
  std::int64_t count = 0;
  traced_t<Model> traced{};
  atled::detail::for_each_leaf_type<std::remove_cvref_t<Model>>(
      traced, [&]<class Leaf>(expr&) { count += Leaf::type.size(); });
  return count;
}

/// One line a leaf: its name, type and number of elements; then their sum.
template <model_like Model>
[[nodiscard]] std::string summary(const Model& model) {
  std::string out;
  const auto column = [&](std::string_view entry, std::size_t width) {
    out += entry;
    out.append(entry.size() < width ? width - entry.size() : 1, ' ');
  };
  for_each_named_leaf(
      [&](std::string_view name, const auto& leaf) {
        text type;
        type << leaf.type;
        column(name, 40);
        column(type.view(), 24);
        out += std::to_string(leaf.type.size()) + '\n';
      },
      model);
  column("parameters", 64);
  return out + std::to_string(num_parameters<Model>()) + '\n';
}

}  // namespace atled::nn
