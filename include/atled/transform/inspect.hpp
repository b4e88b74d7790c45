// atled/transform/inspect.hpp: eval_shape, make_graph: what a function becomes, without running it.
// Reads: transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/program.hpp"

#include <array>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {
namespace detail {

/// A tree with types in place of its leaves; a struct, which holds tensors only, becomes an array.
template <class Tree>
struct type_tree {
  using type = tensor_type;
};
template <class... T>
struct type_tree<std::tuple<T...>> {
  using type = std::tuple<typename type_tree<T>::type...>;
};
template <class T, class U>
struct type_tree<std::pair<T, U>> {
  using type = std::pair<typename type_tree<T>::type, typename type_tree<U>::type>;
};
template <class T, std::size_t N>
struct type_tree<std::array<T, N>> {
  using type = std::array<typename type_tree<T>::type, N>;
};
template <class Model>
  requires model_like<Model>
struct type_tree<Model> {
  using type = std::array<tensor_type, static_cast<std::size_t>(num_leaves_v<Model>)>;
};

/// The traced graph without what no output needs.
template <class F, class... Args>
struct inspected_function {
  static_assert(spell<traced_function<F, Args...>>::ok,
                "atled::inspect: the traced function is ill-formed; trace_error<...> says why");
  static constexpr ir::graph live = [] {
    ir::builder b;
    passes::copy_live(traced_function<F, Args...>::traced.graph, b);
    return b.g;
  }();
  static constexpr auto compact = ir::compact_graph<ir::sizes_of(live)>::of(live);
};

}  // namespace detail

/// The types of a function's results: a tree like the result, of `tensor_type`s.
///
///   eval_shape(f, x, w)    or by types alone    eval_shape<tensor<f32, 8>>(f)
///
/// Nothing is computed; it is a constant expression. A struct gives an array, a type for each leaf.
/// Ill-formed: the function is.
template <class... Args, class F>
  requires std::is_empty_v<F>
[[nodiscard]] constexpr auto eval_shape(const F&) {
  using traced = detail::traced_function<F, Args...>;
  static_assert(spell<traced>::ok,
                "atled::eval_shape: the function is ill-formed; trace_error<...> says why");
  typename detail::type_tree<ir::traced_result_t<F, Args...>>::type out{};
  int at = 0;
  for_each_leaf(
      [&](tensor_type& leaf) {
        leaf = traced::traced.graph.type(traced::traced.graph.outputs[at++]);
      },
      out);
  return out;
}
template <class F, class First, class... Rest>
[[nodiscard]] constexpr auto eval_shape(const F& f, const First&, const Rest&...) {
  return eval_shape<First, Rest...>(f);
}

/// What `make_graph` returns; see there.
template <class F>
class graph_maker {
 public:
  template <class... Args>
  [[nodiscard]] std::string operator()(const Args&...) const {
    return ir::to_text(*detail::inspected_function<F, Args...>::compact.expand());
  }
};

/// The graph of a function as text, one equation a line with its line in the source.
///
///   std::puts(make_graph(grad(f))(x).c_str());
///
/// It is the graph as traced; `decltype(jit(f))::program<...>::text()` is what passes make of it.
/// Ill-formed: the function is.
template <class F>
[[nodiscard]] constexpr auto make_graph(const F&) {
  return graph_maker<F>();
}

}  // namespace atled
