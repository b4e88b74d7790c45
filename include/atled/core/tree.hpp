// atled/core/tree.hpp: nested structures of tensors: models, tuples, pairs, arrays, and their
// leaves. Reads: core/text.hpp. trace/trace.hpp puts expressions in place of the leaves.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/text.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

/// A struct that names its members with ATLED_TREE.
template <class T>
concept model_like = requires(std::remove_cvref_t<T>& model) {
  model.tree_members();
  std::remove_cvref_t<T>::tree_names;
};

namespace detail {

template <class T>
inline constexpr bool is_tuple_v = false;
template <class... T>
inline constexpr bool is_tuple_v<std::tuple<T...>> = true;
template <class T, class U>
inline constexpr bool is_tuple_v<std::pair<T, U>> = true;
template <class T>
inline constexpr bool is_array_v = false;
template <class T, std::size_t N>
inline constexpr bool is_array_v<std::array<T, N>> = true;

/// `Model<From, rest...>` with `To` in place of its first argument.
template <class Model, class To>
struct rebound;
template <template <class> class Model, class From, class To>
struct rebound<Model<From>, To> {
  using from = From;
  using type = Model<To>;
};
template <template <class, auto...> class Model, class From, class To, auto First, auto... Rest>
struct rebound<Model<From, First, Rest...>, To> {
  using from = From;
  using type = Model<To, First, Rest...>;
};
template <template <class, class, auto...> class Model, class From, class To, class T, auto... Rest>
struct rebound<Model<From, T, Rest...>, To> {
  using from = From;
  using type = Model<To, T, Rest...>;
};
template <template <class, template <class> class, auto...> class Model, class From, class To,
          template <class> class T, auto... Rest>
struct rebound<Model<From, T, Rest...>, To> {
  using from = From;
  using type = Model<To, T, Rest...>;
};

/// The I-th of the names in "first, second, third".
[[nodiscard]] constexpr std::string_view listed_name(std::string_view names, std::size_t index) {
  while (true) {
    const auto comma = names.find(',');
    if (index == 0) return names.substr(0, comma);
    names.remove_prefix(comma + 1);
    while (!names.empty() && names.front() == ' ') names.remove_prefix(1);
    --index;
  }
}

}  // namespace detail

/// A node of a tree: anything else is a leaf.
template <class T>
inline constexpr bool is_branch_v = model_like<T> || detail::is_tuple_v<std::remove_cvref_t<T>> ||
                                    detail::is_array_v<std::remove_cvref_t<T>>;

/// A model type with other leaves: `rebind_t<mlp<values>, tracing>` is `mlp<tracing>`.
///
/// The leaf policy is the first template argument; classes, values and templates of one class may
/// follow it in the orders that `detail::rebound` lists.
template <class Model, class To>
using rebind_t = typename detail::rebound<Model, To>::type;

/// The leaf policy of a model: `policy_of_t<mlp<values>>` is `values`.
template <class Model>
using policy_of_t = typename detail::rebound<Model, void>::from;

/// The members of a branch as a tuple of references.
template <class Tree>
[[nodiscard]] constexpr auto members_of(Tree& tree) {
  if constexpr (model_like<Tree>) {
    return tree.tree_members();
  } else {
    return std::apply([](auto&... member) { return std::tie(member...); }, tree);
  }
}

template <class Fn, class Tree, class... Others>
constexpr void for_each_leaf(Fn&& fn, Tree&& tree, Others&&... others);

namespace detail {

/// What `std::get` takes the members of a branch from.
template <class Tree>
constexpr decltype(auto) gettable(Tree& tree) {
  if constexpr (model_like<Tree>) {
    return tree.tree_members();
  } else {
    return (tree);
  }
}

// Plain functions in the place of std::apply and lambdas: trees are walked in every program.
template <std::size_t I, class Fn, class... Branches>
constexpr void for_each_leaf_of(Fn& fn, Branches&... branches) {
  for_each_leaf(fn, std::get<I>(branches)...);
}
template <std::size_t... I, class Fn, class... Branches>
constexpr void for_each_leaf_of_all(std::index_sequence<I...>, [[maybe_unused]] Fn& fn,
                                    [[maybe_unused]] Branches&&... branches) {
  (for_each_leaf_of<I>(fn, branches...), ...);
}

}  // namespace detail

/// Calls `fn(leaf, leaves of the other trees at the same place...)` for each leaf, in order.
template <class Fn, class Tree, class... Others>
constexpr void for_each_leaf(Fn&& fn, Tree&& tree, Others&&... others) {
  if constexpr (!is_branch_v<Tree>) {
    fn(tree, others...);
  } else {
    using members = std::remove_cvref_t<decltype(detail::gettable(tree))>;
    detail::for_each_leaf_of_all(std::make_index_sequence<std::tuple_size_v<members>>{}, fn,
                                 detail::gettable(tree), detail::gettable(others)...);
  }
}

namespace detail {
template <class Fn, class Tree>
constexpr void for_each_named(Fn&& fn, Tree&& tree, const text& prefix) {
  if constexpr (!is_branch_v<Tree>) {
    fn(prefix.view(), tree);
  } else {
    auto members = members_of(tree);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      [[maybe_unused]] auto at = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
        text name = prefix;
        if (!name.empty()) name << '.';
        if constexpr (model_like<Tree>) {
          name << listed_name(std::remove_cvref_t<Tree>::tree_names, J);
        } else {
          name << static_cast<std::int64_t>(J);
        }
        for_each_named(fn, std::get<J>(members), name);
      };
      (at(std::integral_constant<std::size_t, I>{}), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<decltype(members)>>{});
  }
}

template <class Tree>
struct leaf_counter;
template <class Tuple>
struct member_counter;
template <class... T>
struct member_counter<std::tuple<T...>> {
  static constexpr int value = (0 + ... + leaf_counter<std::remove_cvref_t<T>>::value);
};
template <class Tree>
struct leaf_counter {
  static constexpr int value = [] {
    if constexpr (is_branch_v<Tree>) {
      return member_counter<decltype(members_of(std::declval<Tree&>()))>::value;
    } else {
      return 1;
    }
  }();
};
}  // namespace detail

/// Calls `fn(name, leaf)` for each leaf: "hidden.weight", "blocks.3.attention.bias", "0.1".
template <class Fn, class Tree>
constexpr void for_each_named_leaf(Fn&& fn, Tree&& tree) {
  detail::for_each_named(fn, tree, text{});
}

/// Number of leaves of a tree type.
template <class Tree>
inline constexpr int num_leaves_v = detail::leaf_counter<std::remove_cvref_t<Tree>>::value;

/// A tree like `tree` whose leaves are `fn(leaf, leaves of the others...)`; leaf types stay.
template <class Fn, class Tree, class... Others>
[[nodiscard]] constexpr auto tree_map(Fn&& fn, const Tree& tree, const Others&... others) {
  Tree out = tree;
  for_each_leaf([&](auto& leaf, const auto&... other) { leaf = fn(std::as_const(leaf), other...); },
                out, others...);
  return out;
}

}  // namespace atled

/// Makes a struct a tree: `ATLED_TREE(mlp, hidden, out)` inside `mlp` names its members, in order.
#define ATLED_TREE(model, ...)                                 \
  static constexpr std::string_view tree_name = #model;        \
  static constexpr std::string_view tree_names = #__VA_ARGS__; \
  [[nodiscard]] constexpr auto tree_members() {                \
    return std::tie(__VA_ARGS__);                              \
  }                                                            \
  [[nodiscard]] constexpr auto tree_members() const {          \
    return std::tie(__VA_ARGS__);                              \
  }
