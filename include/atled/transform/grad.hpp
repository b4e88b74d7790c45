// atled/transform/grad.hpp: grad, value_and_grad: the derivative of a scalar function, in reverse.
// Reads: transform/variables.hpp, transform/has_aux.hpp, passes/gradient.hpp.
// Next: transform/vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/gradient.hpp"
#include "atled/transform/has_aux.hpp"
#include "atled/transform/transformed.hpp"
#include "atled/transform/variables.hpp"

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

/// Which arguments to differentiate by: `grad(f, argnums<0, 2>)` gives a tuple of two gradients.
template <int... Index>
struct argnums_option {
  static_assert(sizeof...(Index) > 0, "argnums: it must name an argument: argnums<0>");
};
template <int... Index>
inline constexpr argnums_option<Index...> argnums{};

namespace detail {

template <class... Options>
struct argnums_of {
  using type = std::index_sequence<0>;
};
template <int... Index, class... Rest>
struct argnums_of<argnums_option<Index...>, Rest...> {
  using type = std::index_sequence<static_cast<std::size_t>(Index)...>;
};
template <class First, class... Rest>
struct argnums_of<First, Rest...> : argnums_of<Rest...> {};

/// A result as an expression: a function may return a plain number.
template <class T>
constexpr expr as_expr(ir::builder& b, const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return {b, b.constant(static_cast<double>(value), leaf_type<T>().element)};
  } else {
    static_assert(std::is_same_v<T, expr>,
                  "atled::grad: the function must return one scalar; with has_aux, a pair of the "
                  "scalar and the rest");
    return value;
  }
}

/// The sentence for a value that has no gradient, about the line that made it.
constexpr bool is_differentiable(ir::builder& b, const expr& value, std::string_view verb) {
  if (value.is_poison()) return false;
  const tensor_type type = value.type();
  if (type.rank() == 0 && is_floating(type.element)) return true;
  const call_site& at = b.g[value.id()].at;
  b.site = {at.file, at.line, ""};
  text why = "output 0 is ";
  why << type
      << (type.rank() > 0 ? ": it must be a scalar; use vjp, or sum it"
                          : ": it must be of a floating type; convert it with astype");
  b.fail(verb, why);
  return false;
}

/// Runs `f` on variables and appends its gradient: (result of f, gradients as a tuple of trees).
template <std::size_t... Index, bool HasAux, class F, class... Args>
constexpr auto differentiated(std::index_sequence<Index...>, std::bool_constant<HasAux>,
                              std::string_view verb, const F& f, const Args&... args) {
  static_assert(((Index < sizeof...(Args)) && ...),
                "atled::grad: argnums names an argument that the call does not have; they are "
                "counted from 0");
  std::tuple<Args...> arguments(args...);
  ir::builder* found = nullptr;
  ((found = found == nullptr ? builder_of_tree(std::get<Index>(arguments)) : found), ...);
  ir::builder& b = *found;
  passes::ids inputs{};
  (make_variables(b, verb, Index, std::get<Index>(arguments), inputs), ...);

  const auto result = value_and_aux<HasAux>(
      b, std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  const expr value = as_expr(b, result.first);
  passes::ids outputs{};
  passes::ids seeds{};
  passes::ids gradient{};
  const bool is_fine = is_differentiable(b, value, verb);
  outputs.push(is_fine ? value.id() : ir::poison);
  seeds.push(is_fine ? b.constant(1, value.element()) : ir::poison);
  passes::gradient(b, outputs, seeds, inputs, gradient);

  int begin = 0;
  // braces keep the order in which the cotangents are taken
  auto gradients = std::tuple<std::tuple_element_t<Index, std::tuple<Args...>>...>{
      with_derivatives(b, std::get<Index>(arguments), gradient, begin)...};
  if constexpr (HasAux) {
    return std::pair(std::pair(value, result.second), gradients);
  } else {
    return std::pair(value, gradients);
  }
}

/// One gradient alone, several as a tuple.
template <class... Trees>
constexpr auto single_or_tuple(const std::tuple<Trees...>& trees) {
  if constexpr (sizeof...(Trees) == 1) {
    return std::get<0>(trees);
  } else {
    return trees;
  }
}

}  // namespace detail

/// What `value_and_grad` returns; see there.
template <class F, class... Options>
class value_and_grad_function : public transformed<value_and_grad_function<F, Options...>> {
 public:
  constexpr value_and_grad_function() requires std::default_initializable<F>
  = default;
  constexpr explicit value_and_grad_function(const F& function) : f_(function) {}
  /// The ranks that a call runs on, if `f` is a function of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    const auto [value, gradients] = detail::differentiated(
        typename detail::argnums_of<Options...>::type{},
        std::bool_constant<detail::has_aux_v<Options...>>{}, "value_and_grad", f_, args...);
    return std::pair(value, detail::single_or_tuple(gradients));
  }

 private:
  [[no_unique_address]] F f_;
};

/// What `grad` returns; see there.
template <class F, class... Options>
class grad_function : public transformed<grad_function<F, Options...>> {
 public:
  constexpr grad_function() requires std::default_initializable<F>
  = default;
  constexpr explicit grad_function(const F& function) : f_(function) {}
  /// The ranks that a call runs on, if `f` is a function of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    constexpr bool with_aux = detail::has_aux_v<Options...>;
    const auto [value, gradients] =
        detail::differentiated(typename detail::argnums_of<Options...>::type{},
                               std::bool_constant<with_aux>{}, "grad", f_, args...);
    if constexpr (with_aux) {
      return std::pair(detail::single_or_tuple(gradients), value.second);
    } else {
      return detail::single_or_tuple(gradients);
    }
  }

 private:
  [[no_unique_address]] F f_;
};

/// The gradient of a scalar function: a function of the same arguments.
///
///   grad(f)(x)                     a tree like x
///   grad(f, argnums<0, 2>)(x,y,z)  (a tree like x, a tree like z)
///   grad(f, has_aux)(x)            (gradient, aux), where f returns (value, aux)
///
/// Cost: that of f, and about twice as much again.
/// Gradient: it may be differentiated like any function, to any order.
/// Ill-formed: the value is no floating scalar; an argument to differentiate by is no float.
template <class F, class... Options>
[[nodiscard]] constexpr auto grad(const F& f, const Options&...) {
  return grad_function<F, Options...>(f);
}

/// The value and the gradient of a scalar function, computed together.
///
///   value_and_grad(f)(x)           (value, a tree like x)
///   value_and_grad(f, has_aux)(x)  ((value, aux), a tree like x)
///
/// Cost, options, errors: as `grad`.
template <class F, class... Options>
[[nodiscard]] constexpr auto value_and_grad(const F& f, const Options&...) {
  return value_and_grad_function<F, Options...>(f);
}

}  // namespace atled
