// atled/trace/trace.hpp: runs a user's function on expressions and records what it does.
// Reads: trace/expr.hpp, core/tree.hpp, core/tensor.hpp. Next: passes/compile.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"
#include "atled/core/tree.hpp"
#include "atled/trace/expr.hpp"

namespace atled {

/// The leaf policy of a model that holds numbers: `mlp<values>`.
struct values {
  template <element T, std::int64_t... Dims>
  using leaf = tensor<T, Dims...>;
};

/// The leaf policy of a model of which there are many: `mlp<stacked<64>>` holds 64 models, each
/// leaf with an axis of 64 in front. What `vmap` maps, and what it returns.
template <std::int64_t... Sizes>
struct stacked {
  template <element T, std::int64_t... Dims>
  using leaf = tensor<T, Sizes..., Dims...>;
};

/// The leaf policy of a model inside a trace: `mlp<tracing>`.
struct tracing {
  template <element T, std::int64_t... Dims>
  using leaf = expr;
};

namespace detail {

template <class T>
inline constexpr bool is_value_leaf_v = std::is_arithmetic_v<T> || element<T> || requires {
  { T::type } -> std::convertible_to<tensor_type>;
};

template <class Tree>
struct traced_tree {
  using type = expr;
};
template <class Tree>
  requires model_like<Tree>
struct traced_tree<Tree> {
  using type = rebind_t<Tree, tracing>;
};
template <class... T>
struct traced_tree<std::tuple<T...>> {
  using type = std::tuple<typename traced_tree<T>::type...>;
};
template <class T, class U>
struct traced_tree<std::pair<T, U>> {
  using type = std::pair<typename traced_tree<T>::type, typename traced_tree<U>::type>;
};
template <class T, std::size_t N>
struct traced_tree<std::array<T, N>> {
  using type = std::array<typename traced_tree<T>::type, N>;
};

template <class T>
constexpr tensor_type leaf_type() {
  if constexpr (element<T>) {
    return {dtype_of<T>(), {}};
  } else if constexpr (std::integral<T>) {
    return {sizeof(T) == 8 ? dtype::i64 : dtype::i32, {}};
  } else {
    return T::type;
  }
}

/// Calls `fn.template operator()<Leaf>(traced leaf)` for each leaf type of `Tree`.
template <class Tree, class Traced, class Fn>
constexpr void for_each_leaf_type(Traced& traced, Fn&& fn) {
  if constexpr (!is_branch_v<Tree>) {
    static_assert(is_value_leaf_v<Tree>,
                  "atled::jit: an argument is neither a tensor, a number nor a tree of them; "
                  "name the members of a struct with ATLED_TREE");
    fn.template operator()<Tree>(traced);
  } else {
    using members = decltype(members_of(std::declval<Tree&>()));
    auto traced_members = members_of(traced);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (for_each_leaf_type<std::remove_cvref_t<std::tuple_element_t<I, members>>>(
           std::get<I>(traced_members), fn),
       ...);
    }
    (std::make_index_sequence<std::tuple_size_v<members>>{});
  }
}

}  // namespace detail

/// What stands for a tree of values in a trace: tensors and numbers become `expr`.
template <class Tree>
using traced_t = typename detail::traced_tree<std::remove_cvref_t<Tree>>::type;

/// A tree that holds expressions: a transformed function called with one is inlined.
template <class Tree>
[[nodiscard]] constexpr bool holds_expressions() {
  using tree = std::remove_cvref_t<Tree>;
  if constexpr (std::is_same_v<tree, expr>) {
    return true;
  } else if constexpr (is_branch_v<tree>) {
    using members = decltype(members_of(std::declval<tree&>()));
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (false || ... || holds_expressions<std::tuple_element_t<I, members>>());
    }
    (std::make_index_sequence<std::tuple_size_v<members>>{});
  } else {
    return false;
  }
}

namespace ir {

/// A parameter for each leaf of a tree of values, as the tree that the function will see.
template <class Tree>
[[nodiscard]] constexpr traced_t<Tree> make_parameters(builder& b) {
  traced_t<Tree> out{};
  atled::detail::for_each_leaf_type<std::remove_cvref_t<Tree>>(out, [&]<class Leaf>(expr& leaf) {
    leaf = expr(b, b.parameter(atled::detail::leaf_type<Leaf>()));
  });
  return out;
}

/// Makes the leaves of a function's result the outputs of the graph.
template <class Tree>
constexpr void set_outputs(builder& b, const Tree& result) {
  for_each_leaf(
      [&](const auto& leaf) {
        using type = std::remove_cvref_t<decltype(leaf)>;
        int id = poison;
        if constexpr (std::is_arithmetic_v<type>) {
          id = b.constant(static_cast<double>(leaf), atled::detail::leaf_type<type>().element);
        } else {
          static_assert(std::is_same_v<type, expr>,
                        "atled::jit: the function returns a leaf that is no expression; it must "
                        "return tensors computed from its arguments, or trees of them");
          id = leaf.id();
        }
        b.g.outputs[b.g.num_outputs++] = id;
      },
      result);
}

/// What a function returns when it is called with trees of expressions.
template <class F, class... Args>
using traced_result_t = std::remove_cvref_t<std::invoke_result_t<const F&, traced_t<Args>...>>;

/// Traces `F{}` on arguments that hold the parameters of `b`.
template <class F, class... Traced>
constexpr void trace_on(builder& b, std::tuple<Traced...>& arguments) {
  set_outputs(b, std::apply([](auto&... argument) { return F{}(argument...); }, arguments));
  if (const int i = escaped_output(b.g); i >= 0) {
    b.site = {b.g[b.g.outputs[i]].at.file, b.g[b.g.outputs[i]].at.line, ""};
    text why = "output ";
    b.fail("jit", why << i << " is a value inside of a loop or branch: return it from the body");
  }
}

/// Traces `F{}` on arguments of the types `Args` into `b`.
///
/// Cost: that of running the function in the compiler, about 0.2 ms an operation.
template <class F, class... Args>
constexpr void trace(builder& b) {
  std::tuple<traced_t<Args>...> arguments{make_parameters<Args>(b)...};
  trace_on<F>(b, arguments);
}

}  // namespace ir
}  // namespace atled
