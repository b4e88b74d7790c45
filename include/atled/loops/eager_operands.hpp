// atled/loops/eager_operands.hpp: what an eager operator takes, its promotion, its sentences.
// Reads: loops/eager_expression.hpp. Next: loops/eager.hpp, the operators themselves.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/broadcast.hpp"
#include "atled/core/tensor.hpp"
#include "atled/loops/eager_expression.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace atled {
namespace detail {
template <class T, std::int64_t... Dims>
inline constexpr bool is_tensor_v<tensor_view<T, Dims...>> = true;
}  // namespace detail

namespace detail {
/// A loop over plain tensors has fixed sizes.
template <class X>
constexpr bool has_fixed_sizes() {
  if constexpr (is_tensor_v<X>) {
    constexpr bool is_fixed = X::type.dims.bounded_axes() == 0;
    static_assert(is_fixed,
                  "atled: a bounded tensor has a size known at the call only: compute with it "
                  "inside a function given to jit");
    return is_fixed;
  }
  return true;
}
}  // namespace detail

/// A tensor, a view, or an expression over them; never a traced value, never a bare number.
template <class X>
concept eager_operand = (detail::is_tensor_v<std::remove_cvref_t<X>> &&
                         detail::has_fixed_sizes<std::remove_cvref_t<X>>()) ||
                        tensor_expression<X>;

template <class X>
concept eager_or_number = eager_operand<X> || number<std::remove_cvref_t<X>>;

/// Operands of which at least one is eager: the other may be a number.
template <class A, class B>
concept eager_pair = (eager_operand<A> && eager_or_number<B>) ||
                     (eager_operand<B> && number<std::remove_cvref_t<A>>);

namespace loops::eager {

template <element T, std::int64_t... Dims>
[[nodiscard]] leaf<T, Dims...> node_of(const tensor<T, Dims...>& x) {
  return leaf<T, Dims...>(x);
}
template <element T, std::int64_t... Dims>
[[nodiscard]] leaf<T, Dims...> node_of(tensor<T, Dims...>&& x) {
  return leaf<T, Dims...>(std::move(x));
}
template <class T, std::int64_t... Dims>
[[nodiscard]] auto node_of(const tensor_view<T, Dims...>& x) {
  return view_leaf<std::remove_const_t<T>, Dims...>(x.data());
}
template <class Node>
[[nodiscard]] Node node_of(const lazy<Node>& x) {
  return x.node();
}
template <class Node>
[[nodiscard]] Node node_of(lazy<Node>&& x) {
  return std::move(x).node();
}

template <element To, class Node>
[[nodiscard]] auto converted(Node node) {
  if constexpr (std::same_as<typename Node::value_type, To>) {
    return node;
  } else {
    return apply<convert_to<To>, To, Node>(std::move(node));
  }
}

/// An operand as a node with elements of type To.
template <element To, eager_or_number X>
[[nodiscard]] auto operand(X&& x) {
  if constexpr (eager_operand<X>) {
    return converted<To>(node_of(std::forward<X>(x)));
  } else {
    return literal<To>(x);
  }
}

template <class X>
[[nodiscard]] constexpr tensor_type type_of() {
  using plain = std::remove_cvref_t<X>;
  if constexpr (eager_operand<X>) {
    return plain::type;
  } else if constexpr (half_float<plain>) {
    return {dtype_of<plain>(), {}};
  } else {
    return {literal_element<plain>(dtype::boolean), {}};
  }
}

/// The element type of an operation on A and B; a number of C++ is weak beside a tensor.
template <class A, class B>
[[nodiscard]] constexpr dtype promoted() {
  using left = std::remove_cvref_t<A>;
  using right = std::remove_cvref_t<B>;
  if constexpr (std::is_arithmetic_v<left> && !std::is_arithmetic_v<right>) {
    return literal_element<left>(type_of<B>().element);
  } else if constexpr (std::is_arithmetic_v<right> && !std::is_arithmetic_v<left>) {
    return literal_element<right>(type_of<A>().element);
  } else {
    return promote(type_of<A>().element, type_of<B>().element);
  }
}

/// The element type in which `Op` computes: f32 for what is not floating but must be.
template <class Op>
[[nodiscard]] constexpr dtype computed(dtype element) {
  return Op::operands == takes::floating && !is_floating(element) ? dtype::f32 : element;
}

/// Why `Op` does not take these operands, or nothing.
template <class Op, dtype Element, tensor_type... Types>
struct op_sentence {
  static constexpr text make() {
    text out;
    if (!accepts(Op::operands, Element)) {
      out << Op::name << ": ";
      bool is_first = true;
      ((out << (std::exchange(is_first, false) ? "" : " and ") << Types), ...);
      out << ": it takes " << words_for(Op::operands);
      return out;
    }
    tensor_type together{};
    bool is_first = true;
    const auto join = [&](const tensor_type& next) {
      if (!out.empty()) return;
      if (!std::exchange(is_first, false)) {
        const broadcast_result both = broadcast_dims(together, next);
        if (!both.ok()) {
          out << Op::name << ": " << both.problem;
          return;
        }
        together = {next.element, both.dims};
      } else {
        together = next;
      }
    };
    (join(Types), ...);
    return out;
  }
  static constexpr text sentence = make();
};

template <class Op, element T, class... Nodes>
[[nodiscard]] auto make_lazy(Nodes... nodes) {
  using result = std::conditional_t<Op::is_predicate, boolean, T>;
  return lazy(apply<Op, result, Nodes...>(std::move(nodes)...));
}

template <class X>
inline constexpr bool is_equality_v = false;
template <tensor_expression X>
inline constexpr bool is_equality_v<X> =
    is_equality<typename std::remove_cvref_t<X>::node_type>::value;

template <class Op, class X>
[[nodiscard]] auto unary(X&& x) {
  constexpr dtype element = computed<Op>(type_of<X>().element);
  static_assert(spell<op_sentence<Op, element, type_of<X>()>>::ok,
                "atled: the operands do not fit; trace_error<...> says why");
  using T = element_t<element>;
  return make_lazy<Op, T>(operand<T>(std::forward<X>(x)));
}

template <class Op, class A, class B>
[[nodiscard]] auto binary(A&& a, B&& b) {
  constexpr dtype element = computed<Op>(promoted<A, B>());
  static_assert(spell<op_sentence<Op, element, type_of<A>(), type_of<B>()>>::ok,
                "atled: the operands do not fit; trace_error<...> says why");
  using T = element_t<element>;
  return make_lazy<Op, T>(operand<T>(std::forward<A>(a)), operand<T>(std::forward<B>(b)));
}

}  // namespace loops::eager

}  // namespace atled
