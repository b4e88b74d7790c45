// atled/runtime/describe.hpp: the kernels of a program as text, for reading.
// Reads: passes/plan.hpp. Called by transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/plan.hpp"

#include <array>
#include <string>

namespace atled::runtime {

/// One distinct kernel and how often it runs.
struct kernel_facts {
  passes::kernel kernel;
  int steps;
  call_site first;  ///< the line of the last node that the first of these steps computes
};

struct kernel_table_sizes {
  std::size_t kernels, instructions;
};

/// The kernels of a plan, cut to size.
template <kernel_table_sizes Sizes>
struct kernel_table {
  std::array<kernel_facts, Sizes.kernels> kernels;
  std::array<passes::instruction, Sizes.instructions> instructions;

  [[nodiscard]] static constexpr kernel_table of(const ir::graph& g, const passes::plan& p) {
    kernel_table out{};
    for (std::size_t i = 0; i < Sizes.kernels; ++i) out.kernels[i].kernel = p.kernels[i];
    for (std::size_t i = 0; i < Sizes.instructions; ++i) out.instructions[i] = p.instructions[i];
    for (int i = 0; i < p.num_steps; ++i) {
      kernel_facts& k = out.kernels[static_cast<std::size_t>(p.steps[i].kernel)];
      if (k.steps++ == 0) k.first = g[p.steps[i].node].at;
    }
    return out;
  }
};

namespace detail {

[[nodiscard]] inline std::string value_name(int index) {
  return "v" + std::to_string(index);
}

/// `v3 = mul v1 v2`, one instruction.
[[nodiscard]] inline std::string instruction_text(const passes::instruction& i, int index) {
  using kind = passes::instruction_kind;
  const std::string slot = "[" + std::to_string(i.slot) + "]";
  const char* along = i.walk == passes::access::splat     ? " row"
                      : i.walk == passes::access::strided ? " strided"
                      : i.walk == passes::access::stream  ? " past the cache"
                                                          : "";
  const std::string operand = value_name(i.operands[0]);
  switch (i.kind) {
    case kind::load:
      return value_name(index) + " = load" + slot + along;
    case kind::index:
      return value_name(index) + " = index" + slot + along;
    case kind::constant: {
      text number;
      if (!is_floating(i.element)) number << i.bits;
      return value_name(index) + " = " +
             (is_floating(i.element) ? std::to_string(std::bit_cast<double>(i.bits))
                                     : std::string(number.view()));
    }
    case kind::accumulator:
      return value_name(index) + " = product";
    case kind::compute: {
      std::string out = value_name(index) + " = " + std::string(info(i.code).name);
      for (int k = 0; k < i.num_operands; ++k) out += " " + value_name(i.operands[k]);
      return out;
    }
    case kind::store:
      return "store" + slot + along + " " + operand;
    case kind::row_reduce:
      return value_name(index) + " = " + std::string(info(i.code).name) + " over the row " +
             operand;
    case kind::partial:
      return std::string(info(i.code).name) + (i.per_row ? " over all " : " over rows ") + operand +
             " into" + slot;
  }
  __builtin_unreachable();
}

[[nodiscard]] inline const char* kind_name(passes::kernel_kind kind) {
  switch (kind) {
    case passes::kernel_kind::loop:
      return "loop";
    case passes::kernel_kind::dot:
      return "dot";
    case passes::kernel_kind::gather:
      return "gather";
    case passes::kernel_kind::scatter:
      return "scatter";
    case passes::kernel_kind::generic:
      return "generic";
    case passes::kernel_kind::region:
      return "loops and branches";
    case passes::kernel_kind::collective:
      return "collective";
  }
  __builtin_unreachable();
}

}  // namespace detail

/// One line a kernel, then its instructions by stage.
template <kernel_table_sizes Sizes>
[[nodiscard]] std::string kernels_text(const kernel_table<Sizes>& table) {
  std::string out;
  int id = 0;
  for (const kernel_facts& k : table.kernels) {
    out += "kernel " + std::to_string(id++) + ": " + detail::kind_name(k.kernel.kind) + ", " +
           std::to_string(k.steps) + (k.steps == 1 ? " step" : " steps") + ", first at " +
           std::string(file_name(k.first.file)) + ":" + std::to_string(k.first.line) + "\n";
    int stage = -1;
    for (int i = 0; i < k.kernel.size; ++i) {
      const passes::instruction& at =
          table.instructions[static_cast<std::size_t>(k.kernel.begin + i)];
      if (at.stage != stage) {
        stage = at.stage;
        out += stage % 2 == 0 ? "  once a row:\n" : "  for each element:\n";
      }
      out += "    " + detail::instruction_text(at, i) + "\n";
    }
  }
  return out;
}

}  // namespace atled::runtime
