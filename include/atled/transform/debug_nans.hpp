// atled/transform/debug_nans.hpp: which operation made the NaN in a result, with file and line.
// Reads: passes/nan_flags.hpp, transform/program.hpp. Called by transform/transformed.hpp where
// `jit(f, debug_nans)` asks for it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/nan_flags.hpp"
#include "atled/transform/program.hpp"

#include <array>
#include <vector>

namespace atled::detail {

/// The flags of a function as a program.
template <class F, class... Args>
struct flagged_source {
  static constexpr passes::flagged_graph flagged =
      passes::with_nan_flags(expanded_function<F, Args...>::graph);
  static constexpr ir::graph expanded = passes::expanded(flagged.g);
  [[nodiscard]] static constexpr const ir::graph& open_graph() { return expanded; }
};
template <class F, class... Args>
struct closed_flagged_source
    : flagged_source<F, Args...>,
      closed_function<flagged_source<F, Args...>,
                      (num_regions_of(flagged_source<F, Args...>::open_graph()) > 0)> {
  static constexpr passes::donation donated = [] {
    passes::donation out{};
    for (int& parameter : out.parameter_of) parameter = -1;
    return out;
  }();
};

/// What is known at run time of the values that have a flag.
struct nan_table {
  const ir::graph* g;
  const int* flagged;
  int num_flags;
  const int* results;
  int num_results;
  int num_nodes;
};

/// The sentence about the first operation that made a NaN which a result holds.
inline text nan_sentence(const nan_table& table, const i32* flags) {
  const ir::graph& g = *table.g;
  const auto count = static_cast<std::size_t>(table.num_nodes);
  std::vector<char> has_flag(count), has_nan(count), is_seen(count);
  for (int i = 0; i < table.num_flags; ++i) {
    const auto id = static_cast<std::size_t>(table.flagged[i]);
    has_flag[id] = 1;
    has_nan[id] = flags[i] != 0;
  }
  // The nearest values with a NaN that a value is made of; what has no flag is looked through.
  const auto sources = [&](int of) {
    std::vector<char> is_passed(count);
    std::vector<int> found;
    std::vector<int> open{of};
    while (!open.empty()) {
      const int id = open.back();
      open.pop_back();
      for (int i = 0; i < g[id].num_operands; ++i) {
        const int x = g.operand(id, i);
        const auto at = static_cast<std::size_t>(x);
        if (is_passed[at] != 0) continue;
        is_passed[at] = 1;
        if (has_flag[at] == 0) {
          open.push_back(x);
        } else if (has_nan[at] != 0) {
          found.push_back(x);
        }
      }
    }
    return found;
  };

  int first = ir::no_node;
  std::vector<int> open;
  const auto visit = [&](int id) {
    char& seen = is_seen[static_cast<std::size_t>(id)];
    if (seen == 0) open.push_back(id);
    seen = 1;
  };
  for (int i = 0; i < table.num_results; ++i) {
    const int id = table.results[i];
    const auto at = static_cast<std::size_t>(id);
    if (has_flag[at] != 0 && has_nan[at] != 0) visit(id);
    if (has_flag[at] == 0) {
      for (const int x : sources(id)) visit(x);
    }
  }
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    const std::vector<int> from = sources(id);
    if (from.empty() && (first == ir::no_node || id < first)) first = id;
    for (const int x : from) visit(x);
  }

  text out;
  if (first == ir::no_node) return out << "debug_nans: a result holds a NaN that no operation made";
  const ir::node& n = g[first];
  if (n.code == op::parameter) {
    int index = 0;
    while (g.parameters[index] != first) ++index;
    return out << "debug_nans: argument leaf " << index << ' ' << n.type << " holds a NaN";
  }
  const bool is_region = n.code == op::result_of;
  const ir::node& by = is_region ? g[g.operand(first, 0)] : n;
  out << sentence_start(by.at, info(by.code).name) << "result " << n.type
      << (is_region ? " holds a NaN, made in its body" : " holds a NaN, its operands ");
  if (!is_region) {
    for (int i = 0; i < n.num_operands; ++i) {
      out << (i > 0 ? " and " : "") << g.type(g.operand(first, i));
    }
    out << (n.num_operands > 0 ? " hold none" : "none");
  }
  return out;
}

/// Runs the program of flags and throws.
template <class F, class... Args, class... Given>
[[noreturn]] void find_nan(const Given&... args) {
  using source = closed_flagged_source<F, Args...>;
  using planned = planned_graph<source>;
  static constexpr auto compact =
      ir::compact_graph<ir::sizes_of(source::flagged.g)>::of(source::flagged.g);
  constexpr auto num_flags = static_cast<std::size_t>(source::flagged.num_flags);
  constexpr auto num_results = static_cast<std::size_t>(source::flagged.num_results);
  static constexpr auto ids = [] {
    std::array<int, num_flags + num_results + 1> out{};
    for (std::size_t i = 0; i < num_flags; ++i) out[i] = source::flagged.flagged[i];
    for (std::size_t i = 0; i < num_results; ++i) out[num_flags + i] = source::flagged.results[i];
    return out;
  }();

  std::array<const std::byte*, static_cast<std::size_t>(planned::kernel_graph().num_parameters) + 1>
      inputs{};
  std::size_t count = 0;
  const auto take = [&](const auto& leaf) {
    if constexpr (requires { leaf.data(); }) {
      inputs[count++] = reinterpret_cast<const std::byte*>(leaf.data());
    } else {
      inputs[count++] = reinterpret_cast<const std::byte*>(&leaf);
    }
  };
  (for_each_leaf(take, args), ...);
  std::array<i32, num_flags + 1> flags{};
  std::array<std::byte*, num_flags + 1> results{};
  for (std::size_t i = 0; i < num_flags; ++i) results[i] = reinterpret_cast<std::byte*>(&flags[i]);
  runtime::execute(lowered_graph<planned>::frozen, inputs.data(), results.data());

  const ir::graph_ptr g = compact.expand();
  throw error(nan_sentence({g.get(), ids.data(), source::flagged.num_flags, ids.data() + num_flags,
                            source::flagged.num_results, source::flagged.num_nodes},
                           flags.data()));
}

/// Whether a leaf of a tree of tensors is a NaN somewhere.
template <class Tree>
bool holds_nan(const Tree& tree) {
  bool out = false;
  for_each_leaf(
      [&](const auto& leaf) {
        for (const auto& x : leaf) {
          using T = std::remove_cvref_t<decltype(x)>;
          if constexpr (is_floating(dtype_of<T>())) {
            const auto number =
                static_cast<double>(static_cast<std::conditional_t<sizeof(T) == 2, float, T>>(x));
            out = out || !(number == number);
          }
        }
      },
      tree);
  return out;
}

}  // namespace atled::detail
