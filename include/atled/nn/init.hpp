// atled/nn/init.hpp: models from a key: `nn::init<mlp>(random::key(0))`, and initializers of
// leaves. Reads: random/distributions.hpp. Next: nn/linear.hpp, which says how its leaves begin.
//
// A layer has a static member `init(key)`. A struct without one is made member by member. On a key
// tensor the result holds tensors; inside a trace, on an expression, it holds expressions.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/creation.hpp"
#include "atled/ops/creation.hpp"
#include "atled/random/distributions.hpp"

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled::nn {

using random::detail::key_like;

/// The square root at build time, where std::sqrt may not be called; within 1 ulp.
[[nodiscard]] constexpr double square_root(double x) {
  if (!(x > 0)) return 0;
  double root = x < 1 ? 1 : x;  // Newton's method from above falls until it has arrived
  for (double next = root / 2 + x / root / 2; next < root; next = root / 2 + x / root / 2) {
    root = next;
  }
  return root;
}

/// The leaf policy of a model that is made from such a key.
template <key_like Key>
using leaves_of = std::conditional_t<std::is_same_v<Key, expr>, tracing, values>;

namespace detail {

/// Outside a trace: one program for each shape, whatever the deviation.
template <element T, std::int64_t... Dims>
struct scaled_normal_function : transformed<scaled_normal_function<T, Dims...>> {
  [[nodiscard]] constexpr expr apply(const expr& key, const expr& deviation) const {
    return random::normal(key, {Dims...}, dtype_of<T>()) * deviation;
  }
};

template <class Tree, key_like Key>
[[nodiscard]] constexpr Tree init_tree(const Key& key);

template <class Tree, key_like Key, class... Member>
[[nodiscard]] constexpr Tree init_branch(const Key& key, std::tuple<Member...>*) {
  constexpr auto count = static_cast<int>(sizeof...(Member));
  const auto keys = random::split<count>(key);
  std::size_t next = 0;
  return Tree{init_tree<std::remove_cvref_t<Member>>(keys[next++])...};  // braces: left to right
}

template <class Tree, key_like Key>
[[nodiscard]] constexpr Tree init_tree(const Key& key) {
  if constexpr (requires { Tree::init(key); }) {
    return Tree::init(key);
  } else {
    static_assert(is_branch_v<Tree>,
                  "atled::nn::init: a struct holds a leaf of its own and does not say how it "
                  "begins: give the struct a static member init(key)");
    using members = decltype(members_of(std::declval<Tree&>()));
    return init_branch<Tree>(key, static_cast<members*>(nullptr));
  }
}

}  // namespace detail

/// A model made member by member, each from a key of its own: what `init` does with a struct that
/// has no `init`, and how one that has can begin.
template <class Model, key_like Key>
[[nodiscard]] constexpr Model init_members(const Key& key) {
  using members = decltype(members_of(std::declval<Model&>()));
  return detail::init_branch<Model>(key, static_cast<members*>(nullptr));
}

/// A new model: `init<mlp>(key)` of a template of the leaf policy, `init<mlp<values>>(key)` of a
/// type.
///
/// Ill-formed: a struct holds a leaf and has no static member `init(key)`.
template <template <class> class Model, key_like Key>
[[nodiscard]] constexpr auto init(const Key& key) {
  return detail::init_tree<Model<leaves_of<Key>>>(key);
}
template <model_like Model, key_like Key>
[[nodiscard]] constexpr auto init(const Key& key) {
  return detail::init_tree<rebind_t<Model, leaves_of<Key>>>(key);
}

/// How a leaf begins. The key also says whether the leaf is a tensor or an expression.
namespace initializers {

/// Normal numbers with mean 0.
template <element T, std::int64_t... Dims, key_like Key>
[[nodiscard]] constexpr auto normal(const Key& key, double deviation,
                                    call_site at = call_site::here()) {
  if constexpr (std::is_same_v<Key, expr>) {
    const ir::operand drawn(random::normal(key, {Dims...}, dtype_of<T>(), at), at);
    return expr(drawn.is_poison() ? drawn : drawn * deviation);
  } else {
    return detail::scaled_normal_function<T, Dims...>{}(key,
                                                        atled::detail::to_element<T>(deviation));
  }
}

template <element T, std::int64_t... Dims, key_like Key>
[[nodiscard]] constexpr auto constant(const Key& key, double value,
                                      call_site at = call_site::here()) {
  if constexpr (std::is_same_v<Key, expr>) {
    return full(key, {Dims...}, value, dtype_of<T>(), at);
  } else {
    return atled::full<T, Dims...>(value);
  }
}
template <element T, std::int64_t... Dims, key_like Key>
[[nodiscard]] constexpr auto zeros(const Key& key, call_site at = call_site::here()) {
  return constant<T, Dims...>(key, 0, at);
}
template <element T, std::int64_t... Dims, key_like Key>
[[nodiscard]] constexpr auto ones(const Key& key, call_site at = call_site::here()) {
  return constant<T, Dims...>(key, 1, at);
}

}  // namespace initializers
}  // namespace atled::nn
