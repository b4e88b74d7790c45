// atled/loops/eager_special.hpp: the rarer functions of each element, on tensors outside a trace.
// Reads: loops/eager.hpp, loops/vector_angle.hpp, loops/vector_special.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/eager.hpp"
#include "atled/loops/vector_angle.hpp"
#include "atled/loops/vector_special.hpp"
#include "atled/loops/vector_trigonometry.hpp"

#include <utility>

namespace atled {
namespace loops::eager {

struct tan_of : function_traits<takes::floating> {
  static constexpr const char* name = "tan";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return tan(x);
  }
};
struct asin_of : function_traits<takes::floating> {
  static constexpr const char* name = "asin";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return asin(x);
  }
};
struct acos_of : function_traits<takes::floating> {
  static constexpr const char* name = "acos";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return acos(x);
  }
};
struct atan_of : function_traits<takes::floating> {
  static constexpr const char* name = "atan";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return atan(x);
  }
};
struct sinh_of : function_traits<takes::floating> {
  static constexpr const char* name = "sinh";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return sinh(x);
  }
};
struct cosh_of : function_traits<takes::floating> {
  static constexpr const char* name = "cosh";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return cosh(x);
  }
};
struct cbrt_of : function_traits<takes::floating> {
  static constexpr const char* name = "cbrt";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return cbrt(x);
  }
};
struct erfc_of : function_traits<takes::floating> {
  static constexpr const char* name = "erfc";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return erfc(x);
  }
};
struct erf_inv_of : function_traits<takes::floating> {
  static constexpr const char* name = "erf_inv";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return erf_inv(x);
  }
};
struct lgamma_of : function_traits<takes::floating> {
  static constexpr const char* name = "lgamma";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return lgamma(x);
  }
};
struct digamma_of : function_traits<takes::floating> {
  static constexpr const char* name = "digamma";
  template <class V>
  ATLED_INLINE static V apply(V x) {
    return polygamma<0>(x);
  }
};

}  // namespace loops::eager

/// Units: radians.
template <eager_operand X>
[[nodiscard]] auto tan(X&& x) {
  return loops::eager::unary<loops::eager::tan_of>(std::forward<X>(x));
}
/// The angle whose sine is x, from -pi / 2 to pi / 2.
template <eager_operand X>
[[nodiscard]] auto asin(X&& x) {
  return loops::eager::unary<loops::eager::asin_of>(std::forward<X>(x));
}
/// The angle whose cosine is x, from 0 to pi.
template <eager_operand X>
[[nodiscard]] auto acos(X&& x) {
  return loops::eager::unary<loops::eager::acos_of>(std::forward<X>(x));
}
/// The angle whose tangent is x, from -pi / 2 to pi / 2.
template <eager_operand X>
[[nodiscard]] auto atan(X&& x) {
  return loops::eager::unary<loops::eager::atan_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto sinh(X&& x) {
  return loops::eager::unary<loops::eager::sinh_of>(std::forward<X>(x));
}
template <eager_operand X>
[[nodiscard]] auto cosh(X&& x) {
  return loops::eager::unary<loops::eager::cosh_of>(std::forward<X>(x));
}
/// The cube root, also of negative numbers.
template <eager_operand X>
[[nodiscard]] auto cbrt(X&& x) {
  return loops::eager::unary<loops::eager::cbrt_of>(std::forward<X>(x));
}
/// 1 - erf(x), also where that is tiny.
template <eager_operand X>
[[nodiscard]] auto erfc(X&& x) {
  return loops::eager::unary<loops::eager::erfc_of>(std::forward<X>(x));
}
/// The inverse of the error function.
template <eager_operand X>
[[nodiscard]] auto erf_inv(X&& x) {
  return loops::eager::unary<loops::eager::erf_inv_of>(std::forward<X>(x));
}
/// The logarithm of |gamma(x)|.
template <eager_operand X>
[[nodiscard]] auto lgamma(X&& x) {
  return loops::eager::unary<loops::eager::lgamma_of>(std::forward<X>(x));
}
/// The derivative of `lgamma`.
template <eager_operand X>
[[nodiscard]] auto digamma(X&& x) {
  return loops::eager::unary<loops::eager::digamma_of>(std::forward<X>(x));
}

}  // namespace atled
