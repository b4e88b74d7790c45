// atled/loops/eager_ops.hpp: what one node of an eager expression computes on a vector of lanes.
// Reads: loops/simd.hpp, loops/vector_math.hpp. Next: loops/eager_expression.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/config.hpp"
#include "atled/core/dtype.hpp"
#include "atled/loops/simd.hpp"
#include "atled/loops/vector_angle.hpp"
#include "atled/loops/vector_math.hpp"

#include <concepts>
#include <cstdint>

namespace atled::loops::eager {

/// The element types that an op accepts.
enum class takes : std::uint8_t { anything, numbers, floating, bits, integers, booleans };

[[nodiscard]] constexpr bool accepts(takes what, dtype type) {
  switch (what) {
    case takes::anything:
      return true;
    case takes::numbers:
      return type != dtype::boolean;
    case takes::floating:
      return is_floating(type);
    case takes::bits:
      return !is_floating(type);
    case takes::integers:
      return is_integer(type);
    case takes::booleans:
      return type == dtype::boolean;
  }
  __builtin_unreachable();
}

[[nodiscard]] constexpr const char* words_for(takes what) {
  switch (what) {
    case takes::anything:
      return "anything";
    case takes::numbers:
      return "numbers, not booleans; convert them first";
    case takes::floating:
      return "a floating type";
    case takes::bits:
      return "booleans or integers";
    case takes::integers:
      return "integers";
    case takes::booleans:
      return "booleans";
  }
  __builtin_unreachable();
}

/// What all ops share: the operands' type is that of the result, and it is cheap.
template <takes What>
struct op_traits {
  static constexpr takes operands = What;
  static constexpr bool is_predicate = false;  ///< the result is boolean
  static constexpr int cost = 1;               ///< Units: multiplications, roughly
};
template <takes What>
struct function_traits : op_traits<What> {
  static constexpr int cost = 10;
};
struct predicate_traits : op_traits<takes::anything> {
  static constexpr bool is_predicate = true;
};

// ---- arithmetic ----------------------------------------------------------------------------

struct add : op_traits<takes::numbers> {
  static constexpr const char* name = "add";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x + y;
  }
};
struct subtract : op_traits<takes::numbers> {
  static constexpr const char* name = "subtract";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x - y;
  }
};
struct multiply : op_traits<takes::numbers> {
  static constexpr const char* name = "multiply";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x * y;
  }
};
struct divide : op_traits<takes::floating> {
  static constexpr const char* name = "divide";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x / y;
  }
};
/// Towards minus infinity; a division by 0 gives what `loops::operator/` documents.
struct floor_divide_of : op_traits<takes::numbers> {
  static constexpr const char* name = "floor_divide";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    const auto quotient = x / y;
    if constexpr (std::floating_point<T>) {
      return floor(quotient);
    } else {
      const auto zero = splat<N>(T{0});
      const auto rest = x % y;
      const auto one_less = (rest != zero) & ((rest < zero) ^ (y < zero)) & (y != zero);
      return select(one_less, quotient - splat<N>(T{1}), quotient);
    }
  }
};
/// With the sign of the divisor, as Python's `%`.
struct remainder_of : op_traits<takes::numbers> {
  static constexpr const char* name = "remainder";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    const auto zero = splat<N>(T{0});
    const auto rest = x % y;
    const auto wrong_side = (rest != zero) & ((rest < zero) ^ (y < zero)) & (y != zero);
    return select(wrong_side, rest + y, rest);
  }
};
struct power_of : function_traits<takes::numbers> {
  static constexpr const char* name = "power";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    if constexpr (std::floating_point<T>) {
      return pow(x, y);
    } else {
      return integer_power(x, y);
    }
  }
};
struct atan2_of : function_traits<takes::floating> {
  static constexpr const char* name = "atan2";
  template <class V>
  ATLED_INLINE static V apply(V y, V x) {
    return atan2(y, x);
  }
};
struct maximum : op_traits<takes::anything> {
  static constexpr const char* name = "maximum";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    return max(x, y);
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x | y;
  }
};
struct minimum : op_traits<takes::anything> {
  static constexpr const char* name = "minimum";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    return min(x, y);
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x & y;
  }
};
struct negative : op_traits<takes::numbers> {
  static constexpr const char* name = "negative";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return -x;
  }
};
struct abs_of : op_traits<takes::numbers> {
  static constexpr const char* name = "abs";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::unsigned_integral<T>) {
      return x;
    } else {
      return abs(x);
    }
  }
};
struct sign_of : op_traits<takes::numbers> {
  static constexpr const char* name = "sign";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return sign(x);
  }
};
struct square_of : op_traits<takes::numbers> {
  static constexpr const char* name = "square";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return x * x;
  }
};

// ---- bits and predicates -------------------------------------------------------------------

struct bit_and : op_traits<takes::bits> {
  static constexpr const char* name = "bitwise_and";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x & y;
  }
};
struct bit_or : op_traits<takes::bits> {
  static constexpr const char* name = "bitwise_or";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x | y;
  }
};
struct bit_xor : op_traits<takes::bits> {
  static constexpr const char* name = "bitwise_xor";
  template <class V>
  ATLED_INLINE static V apply(V x, V y) {
    return x ^ y;
  }
};
struct logical_not : op_traits<takes::booleans> {
  static constexpr const char* name = "logical_not";
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x) {
    return !x;
  }
};
struct equal : predicate_traits {
  static constexpr const char* name = "equal";
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x == y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return !(x ^ y);
  }
};
struct not_equal : predicate_traits {
  static constexpr const char* name = "not_equal";
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x != y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x ^ y;
  }
};
struct less : predicate_traits {
  static constexpr const char* name = "less";
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x < y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return !x & y;
  }
};
struct less_equal : predicate_traits {
  static constexpr const char* name = "less_equal";
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x <= y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return !x | y;
  }
};
struct isfinite_of : op_traits<takes::floating> {
  static constexpr const char* name = "isfinite";
  static constexpr bool is_predicate = true;
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x) {
    return is_finite(x);
  }
};
struct isinf_of : op_traits<takes::floating> {
  static constexpr const char* name = "isinf";
  static constexpr bool is_predicate = true;
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x) {
    return is_inf(x);
  }
};
struct isnan_of : op_traits<takes::floating> {
  static constexpr const char* name = "isnan";
  static constexpr bool is_predicate = true;
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x) {
    return is_nan(x);
  }
};
/// condition ? x : y. The condition stands outside the promotion of the two values.
struct where_of : op_traits<takes::anything> {
  static constexpr const char* name = "where";
  template <int N, class V>
  ATLED_INLINE static V apply(mask<N> condition, V x, V y) {
    return select(condition, x, y);
  }
};
/// The element as a To. A bf16 or f16 is an f32 in registers, rounded here.
template <element To>
struct convert_to : op_traits<takes::anything> {
  static constexpr const char* name = "astype";
  template <class V>
  ATLED_INLINE static auto apply(V x) {
    return convert<To>(x);
  }
};

}  // namespace atled::loops::eager
