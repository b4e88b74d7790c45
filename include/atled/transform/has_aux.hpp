// atled/transform/has_aux.hpp: has_aux: a function returns what is differentiated, and the rest.
// Reads: ir/builder.hpp. Used by grad, vjp, jvp, linearize, jacfwd, jacrev, hessian.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/builder.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

/// The function returns (value, what else it knows); only the value is differentiated.
struct has_aux_option {};
inline constexpr has_aux_option has_aux{};

namespace detail {

template <class... Options>
inline constexpr bool has_aux_v = (false || ... || std::is_same_v<Options, has_aux_option>);

template <class T>
inline constexpr bool is_pair_v = false;
template <class T, class U>
inline constexpr bool is_pair_v<std::pair<T, U>> = true;
template <class T, class U>
inline constexpr bool is_pair_v<std::tuple<T, U>> = true;

/// What a function returns as (value, the rest); without `HasAux` the rest is empty. A sentence
/// where it returns no pair.
template <bool HasAux, class Result>
constexpr auto value_and_aux(ir::builder& b, const Result& result) {
  if constexpr (HasAux && is_pair_v<Result>) {
    using value = std::remove_cvref_t<std::tuple_element_t<0, Result>>;
    using aux = std::remove_cvref_t<std::tuple_element_t<1, Result>>;
    return std::pair<value, aux>(std::get<0>(result), std::get<1>(result));
  } else {
    if constexpr (HasAux) {
      b.site = {};
      b.fail("has_aux",
             "the function returns one tree: it must return a pair of the value and the rest");
    }
    return std::pair<Result, std::tuple<>>(result, {});
  }
}

/// The arguments of a call without the word `has_aux`, as a tuple.
template <class T>
constexpr std::tuple<T> unless_has_aux(const T& argument) {
  return std::tuple<T>(argument);
}
constexpr std::tuple<> unless_has_aux(has_aux_option) {
  return {};
}
template <class... Args>
constexpr auto primals_of(const Args&... args) {
  return std::tuple_cat(unless_has_aux(args)...);
}

}  // namespace detail
}  // namespace atled
