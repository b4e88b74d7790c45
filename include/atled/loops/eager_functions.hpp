// atled/loops/eager_functions.hpp: the functions of one element that eager expressions know.
// Reads: loops/eager_ops.hpp, loops/vector_math.hpp. Next: loops/eager.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/eager_ops.hpp"
#include "atled/loops/vector_math.hpp"
#include "atled/loops/vector_trigonometry.hpp"

#include <concepts>

namespace atled::loops::eager {

struct exp_of : function_traits<takes::floating> {
  static constexpr const char* name = "exp";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return exp(x);
  }
};
struct expm1_of : function_traits<takes::floating> {
  static constexpr const char* name = "expm1";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return expm1(x);
  }
};
struct log_of : function_traits<takes::floating> {
  static constexpr const char* name = "log";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return log(x);
  }
};
struct log1p_of : function_traits<takes::floating> {
  static constexpr const char* name = "log1p";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return log1p(x);
  }
};
struct tanh_of : function_traits<takes::floating> {
  static constexpr const char* name = "tanh";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return tanh(x);
  }
};
struct logistic_of : function_traits<takes::floating> {
  static constexpr const char* name = "sigmoid";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return logistic(x);
  }
};
struct erf_of : function_traits<takes::floating> {
  static constexpr const char* name = "erf";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return erf(x);
  }
};
struct sin_of : function_traits<takes::floating> {
  static constexpr const char* name = "sin";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return sin(x);
  }
};
struct cos_of : function_traits<takes::floating> {
  static constexpr const char* name = "cos";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return cos(x);
  }
};
struct sqrt_of : function_traits<takes::floating> {
  static constexpr const char* name = "sqrt";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return sqrt(x);
  }
};
struct rsqrt_of : function_traits<takes::floating> {
  static constexpr const char* name = "rsqrt";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return rsqrt(x);
  }
};
struct floor_of : op_traits<takes::numbers> {
  static constexpr const char* name = "floor";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::integral<T>) {
      return x;
    } else {
      return floor(x);
    }
  }
};
struct ceil_of : op_traits<takes::numbers> {
  static constexpr const char* name = "ceil";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::integral<T>) {
      return x;
    } else {
      return ceil(x);
    }
  }
};
/// To the nearest, ties to even, as NumPy's.
struct round_of : op_traits<takes::numbers> {
  static constexpr const char* name = "round";
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::integral<T>) {
      return x;
    } else {
      return round_even(x);
    }
  }
};

}  // namespace atled::loops::eager
