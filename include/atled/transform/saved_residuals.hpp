// atled/transform/saved_residuals.hpp: what reverse mode keeps of a function's forward pass.
// Reads: transform/jvp.hpp, passes/gradient.hpp, passes/compile.hpp. See transform/checkpoint.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/gradient.hpp"
#include "atled/transform/jvp.hpp"

#include <array>
#include <string>
#include <tuple>
#include <utility>

namespace atled {
namespace detail {

/// One value that is kept. `parameter` is its number among the leaves of the arguments, or -1.
struct saved_residual {
  tensor_type type;
  op code;
  call_site at;
  int parameter;
};

/// A value under another shape, and a row of a stack, are kept as what they are taken from.
constexpr int kept_as(const ir::graph& g, int id) {
  while (passes::detail::is_view_op(g[id].code) || g[id].code == op::item ||
         g[id].code == op::enter) {
    id = g.operand(id, 0);
  }
  return id;
}

/// Calls `fn(id)` for each value of the forward pass that the rest reads: what depends on a
/// cotangent (a parameter from `first_cotangent` on), or is computed again.
template <class Fn>
constexpr void for_each_residual(const ir::graph& g, int first_cotangent, const Fn& fn) {
  bool is_late[ir::graph::max_nodes]{};
  bool is_kept[ir::graph::max_nodes]{};
  for (int id = 0; id < g.num_nodes; ++id) {
    const ir::node& n = g[id];
    is_late[id] =
        n.code == op::barrier || (n.code == op::parameter && g.attribute(id) >= first_cotangent);
    for (int i = 0; i < n.num_operands && !is_late[id]; ++i) {
      is_late[id] = is_late[g.operand(id, i)];
    }
    for (int i = 0; i < n.num_operands && is_late[id]; ++i) {
      const int x = g.operand(id, i);
      const int kept = kept_as(g, x);
      if (is_late[x] || is_late[kept] || g.is_constant(kept) || g[kept].code == op::iota) continue;
      is_kept[kept] = true;
    }
  }
  for (int id = 0; id < g.num_nodes; ++id) {
    if (is_kept[id]) fn(id);
  }
}

/// The forward and the reverse pass of a function in one graph, as they will run.
template <class F, class... Args>
struct reverse_function {
  struct result {
    ir::graph graph;
    int first_cotangent;
    text problem;
  };
  static constexpr result make() {
    ir::builder b;
    const std::tuple<traced_t<Args>...> arguments{ir::make_parameters<Args>(b)...};
    const int first = b.g.num_parameters;
    const auto call = call_on_variables(F{}, arguments);
    passes::ids cotangents{};
    passes::ids out{};
    for (const int id : call.outputs) {
      const bool moves = id >= 0 && is_floating(b.type(id).element);
      cotangents.push(moves ? b.parameter(b.type(id)) : id == ir::poison ? id : ir::no_node);
    }
    passes::gradient(b, call.outputs, cotangents, only_where(call.inputs, call.inputs), out);
    for (const int id : call.outputs) b.g.outputs[b.g.num_outputs++] = id;
    for (const int id : out) {
      if (id >= 0) b.g.outputs[b.g.num_outputs++] = id;
    }
    if (!b.problem.empty()) return {{}, 0, b.problem};
    return {b.g, first, {}};
  }
  static constexpr result traced = make();
  static constexpr text sentence = traced.problem;
};
template <class F, class... Args>
struct residuals_of {
  using reverse = reverse_function<F, Args...>;
  static constexpr ir::graph joined = reverse::traced.graph.num_regions > 0
                                          ? passes::joined(reverse::traced.graph)
                                          : reverse::traced.graph;
  static constexpr ir::graph simple = passes::prepare(joined);
  static constexpr ir::graph graph =
      passes::expanded(simple.num_regions > 0 ? passes::joined(simple) : simple);
  static constexpr std::size_t count = [] {
    std::size_t out = 0;
    for_each_residual(graph, reverse::traced.first_cotangent, [&](int) { ++out; });
    return out;
  }();
  static constexpr auto list = [] {
    std::array<saved_residual, count> out{};
    std::size_t at = 0;
    for_each_residual(graph, reverse::traced.first_cotangent, [&](int id) {
      const ir::node& n = graph[id];
      const bool is_argument = n.code == op::parameter;
      out[at++] = {n.type, n.code, n.at, is_argument ? static_cast<int>(graph.attribute(id)) : -1};
    });
    return out;
  }();
};

/// `argument 1 leaf hidden.weight`, for the leaf of this number among all arguments.
template <class... Args>
std::string argument_text(int leaf) {
  std::string out;
  int begin = 0;
  std::size_t index = 0;
  const auto look = [&]<class Arg>(std::type_identity<Arg>) {
    const int count = num_leaves_v<Arg>;
    if (leaf >= begin && leaf < begin + count) {
      out = std::string(leaf_text(traced_t<Arg>{}, index, leaf - begin).view());
    }
    begin += count;
    ++index;
  };
  (look(std::type_identity<Args>{}), ...);
  return out;
}

}  // namespace detail

/// What the reverse mode of a function keeps of its forward pass, one value a line, and the sum.
///
///   std::puts(saved_residuals(f, x, w).c_str());
///
///   f32[256,16]  16384 bytes  argument 0
///   f32[256,64]  65536 bytes  tanh at model.cpp:30
///   81920 bytes in 2 values
///
/// It is known at build time and nothing is computed. A kernel may compute a value again rather
/// than read it, so that less is kept in the end; program::peak_bytes is the truth about memory.
/// Ill-formed: the function is.
template <class F, class... Args>
[[nodiscard]] std::string saved_residuals(const F&, const Args&...) {
  static_assert(spell<detail::reverse_function<F, Args...>>::ok,
                "atled::saved_residuals: the function is ill-formed; trace_error<...> says why");
  std::string out;
  std::int64_t total = 0;
  for (const detail::saved_residual& one : detail::residuals_of<F, Args...>::list) {
    text line;
    line << one.type << "  " << one.type.bytes() << " bytes  ";
    out += line.view();
    if (one.parameter >= 0) {
      out += detail::argument_text<Args...>(one.parameter);
    } else {
      out += info(one.code).name;
      if (one.at.line > 0) {
        out += " at " + std::string(file_name(one.at.file)) + ":" + std::to_string(one.at.line);
      }
    }
    out += '\n';
    total += one.type.bytes();
  }
  const auto count = detail::residuals_of<F, Args...>::count;
  return out + std::to_string(total) + " bytes in " + std::to_string(count) +
         (count == 1 ? " value\n" : " values\n");
}

}  // namespace atled
