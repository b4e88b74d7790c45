// atled/loops/eager.hpp: operators and functions on plain tensors, outside a trace.
// Reads: loops/eager_operands.hpp. Next: loops/eager_reduce.hpp (sums), eager_shape.hpp (moves).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/eager_functions.hpp"
#include "atled/loops/eager_operands.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace atled {

// ---- operators -----------------------------------------------------------------------------

/// Elementwise, as NumPy broadcasts and JAX promotes. One loop, however long the expression.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator+(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::add>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator-(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::subtract>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator*(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::multiply>(std::forward<A>(a), std::forward<B>(b));
}
/// The true quotient: integers are divided as f32; see `floor_divide`.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator/(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::divide>(std::forward<A>(a), std::forward<B>(b));
}
/// The remainder with the sign of the divisor, as Python's.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator%(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::remainder_of>(std::forward<A>(a), std::forward<B>(b));
}
template <eager_operand X>
[[nodiscard]] auto operator-(X&& x) {
  return loops::eager::unary<loops::eager::negative>(std::forward<X>(x));
}

/// Elementwise: a boolean tensor. In an `if`, `==` asks whether all elements are equal.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator==(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::equal>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator!=(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::not_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator<(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::less>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator<=(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::less_equal>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator>(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::less>(std::forward<B>(b), std::forward<A>(a));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator>=(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::less_equal>(std::forward<B>(b), std::forward<A>(a));
}

template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator&(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::bit_and>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator|(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::bit_or>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto operator^(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::bit_xor>(std::forward<A>(a), std::forward<B>(b));
}
/// Elementwise on booleans. `!(a == b)` is `a != b`, as a condition, too.
template <eager_operand X>
[[nodiscard]] auto operator!(X&& x) {
  if constexpr (loops::eager::is_equality_v<X>) {
    using compared = typename std::remove_cvref_t<X>::node_type::op_type;
    constexpr bool equal = std::same_as<compared, loops::eager::equal>;
    using other = std::conditional_t<equal, loops::eager::not_equal, loops::eager::equal>;
    return lazy(loops::eager::node_of(std::forward<X>(x)).template with_op<other>());
  } else {
    return loops::eager::unary<loops::eager::logical_not>(std::forward<X>(x));
  }
}

/// In place, in one loop. Ill-formed: the result has another type or shape than `x`.
template <element T, std::int64_t... Dims, eager_or_number B>
tensor<T, Dims...>& operator+=(tensor<T, Dims...>& x, B&& b) {
  return x = x + std::forward<B>(b);
}
template <element T, std::int64_t... Dims, eager_or_number B>
tensor<T, Dims...>& operator-=(tensor<T, Dims...>& x, B&& b) {
  return x = x - std::forward<B>(b);
}
template <element T, std::int64_t... Dims, eager_or_number B>
tensor<T, Dims...>& operator*=(tensor<T, Dims...>& x, B&& b) {
  return x = x * std::forward<B>(b);
}
template <element T, std::int64_t... Dims, eager_or_number B>
tensor<T, Dims...>& operator/=(tensor<T, Dims...>& x, B&& b) {
  return x = x / std::forward<B>(b);
}

// ---- two and three operands ----------------------------------------------------------------

/// The larger of two elements; NaN where either is.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto maximum(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::maximum>(std::forward<A>(a), std::forward<B>(b));
}
/// The smaller of two elements; NaN where either is.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto minimum(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::minimum>(std::forward<A>(a), std::forward<B>(b));
}
/// `maximum`; with one operand it is the reduction of loops/eager_reduce.hpp.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto max(A&& a, B&& b) {
  return maximum(std::forward<A>(a), std::forward<B>(b));
}
/// `minimum`; with one operand it is the reduction of loops/eager_reduce.hpp.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto min(A&& a, B&& b) {
  return minimum(std::forward<A>(a), std::forward<B>(b));
}
/// a to the power of b.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto power(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::power_of>(std::forward<A>(a), std::forward<B>(b));
}
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto pow(A&& a, B&& b) {
  return power(std::forward<A>(a), std::forward<B>(b));
}
/// The angle of the point (x, y). Units: radians, from -pi to pi.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto atan2(A&& y, B&& x) {
  return loops::eager::binary<loops::eager::atan2_of>(std::forward<A>(y), std::forward<B>(x));
}
/// The quotient rounded towards minus infinity, in the type of the operands.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto floor_divide(A&& a, B&& b) {
  return loops::eager::binary<loops::eager::floor_divide_of>(std::forward<A>(a),
                                                             std::forward<B>(b));
}
/// The same as `%`.
template <class A, class B>
  requires eager_pair<A, B>
[[nodiscard]] auto remainder(A&& a, B&& b) {
  return std::forward<A>(a) % std::forward<B>(b);
}

/// `a` where the condition holds (is not 0), else `b`; all three broadcast together.
template <eager_operand C, eager_or_number A, eager_or_number B>
[[nodiscard]] auto where(C&& condition, A&& a, B&& b) {
  using namespace loops::eager;
  constexpr dtype element = promoted<A, B>();
  static_assert(spell<op_sentence<where_of, element, type_of<C>(), type_of<A>(), type_of<B>()>>::ok,
                "atled: the operands do not fit; trace_error<...> says why");
  using T = element_t<element>;
  return make_lazy<where_of, T>(operand<boolean>(std::forward<C>(condition)),
                                operand<T>(std::forward<A>(a)), operand<T>(std::forward<B>(b)));
}

/// `x` moved into [low, high].
template <eager_operand X, eager_or_number A, eager_or_number B>
[[nodiscard]] auto clip(X&& x, A&& low, B&& high) {
  return minimum(maximum(std::forward<X>(x), std::forward<A>(low)), std::forward<B>(high));
}

// ---- one operand ---------------------------------------------------------------------------
// Integers and booleans become f32 where only floating types make sense.

template <eager_operand X>
[[nodiscard]] auto exp(X&& x) {
  return loops::eager::unary<loops::eager::exp_of>(std::forward<X>(x));
}
/// exp(x) - 1 without the loss of digits near 0.
template <eager_operand X>
[[nodiscard]] auto expm1(X&& x) {
  return loops::eager::unary<loops::eager::expm1_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto log(X&& x) {
  return loops::eager::unary<loops::eager::log_of>(std::forward<X>(x));
}
/// log(1 + x) without the loss of digits near 0.
template <eager_operand X>
[[nodiscard]] auto log1p(X&& x) {
  return loops::eager::unary<loops::eager::log1p_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto tanh(X&& x) {
  return loops::eager::unary<loops::eager::tanh_of>(std::forward<X>(x));
}
/// 1 / (1 + exp(-x)).
template <eager_operand X>
[[nodiscard]] auto sigmoid(X&& x) {
  return loops::eager::unary<loops::eager::logistic_of>(std::forward<X>(x));
}
/// The same as `sigmoid`.
template <eager_operand X>
[[nodiscard]] auto logistic(X&& x) {
  return sigmoid(std::forward<X>(x));
}
/// The error function.
template <eager_operand X>
[[nodiscard]] auto erf(X&& x) {
  return loops::eager::unary<loops::eager::erf_of>(std::forward<X>(x));
}
/// Units: x in radians.
template <eager_operand X>
[[nodiscard]] auto sin(X&& x) {
  return loops::eager::unary<loops::eager::sin_of>(std::forward<X>(x));
}
/// Units: x in radians.
template <eager_operand X>
[[nodiscard]] auto cos(X&& x) {
  return loops::eager::unary<loops::eager::cos_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto sqrt(X&& x) {
  return loops::eager::unary<loops::eager::sqrt_of>(std::forward<X>(x));
}
/// 1 / sqrt(x).
template <eager_operand X>
[[nodiscard]] auto rsqrt(X&& x) {
  return loops::eager::unary<loops::eager::rsqrt_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto reciprocal(X&& x) {
  return 1 / std::forward<X>(x);
}
template <eager_operand X>
[[nodiscard]] auto square(X&& x) {
  return loops::eager::unary<loops::eager::square_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto abs(X&& x) {
  return loops::eager::unary<loops::eager::abs_of>(std::forward<X>(x));
}
/// -1, 0 or 1; a NaN stays.
template <eager_operand X>
[[nodiscard]] auto sign(X&& x) {
  return loops::eager::unary<loops::eager::sign_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto negative(X&& x) {
  return -std::forward<X>(x);
}
template <eager_operand X>
[[nodiscard]] auto floor(X&& x) {
  return loops::eager::unary<loops::eager::floor_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto ceil(X&& x) {
  return loops::eager::unary<loops::eager::ceil_of>(std::forward<X>(x));
}
/// To the nearest whole number, halves to the even one.
template <eager_operand X>
[[nodiscard]] auto round(X&& x) {
  return loops::eager::unary<loops::eager::round_of>(std::forward<X>(x));
}
/// max(x, 0); a NaN stays.
template <eager_operand X>
[[nodiscard]] auto relu(X&& x) {
  return maximum(std::forward<X>(x), 0);
}
template <eager_operand X>
[[nodiscard]] auto isnan(X&& x) {
  return loops::eager::unary<loops::eager::isnan_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto isinf(X&& x) {
  return loops::eager::unary<loops::eager::isinf_of>(std::forward<X>(x));
}
/// Neither infinite nor NaN.
template <eager_operand X>
[[nodiscard]] auto isfinite(X&& x) {
  return loops::eager::unary<loops::eager::isfinite_of>(std::forward<X>(x));
}

/// `x` as another element type, `astype<bf16>(x)`; to boolean, whether it is not 0.
template <element T, eager_operand X>
[[nodiscard]] auto astype(X&& x) {
  return lazy(loops::eager::operand<T>(std::forward<X>(x)));
}

}  // namespace atled
