// atled/kernels/cumulative.hpp: running sums, products and extremes along an axis.
// Reads: core/dtype.hpp. Each row is combined with the one before it, element by element.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>

namespace atled::kernels {

namespace detail {
/// `f` on two elements as numbers that it may be applied to: bf16 and f16 as f32, integers without
/// a sign, in which what is too large wraps.
template <class T, class F>
[[nodiscard]] constexpr T combined(T x, T y, F f) {
  if constexpr (half_float<T>) {
    return T(f(static_cast<f32>(x), static_cast<f32>(y)));
  } else if constexpr (std::is_integral_v<T> && sizeof(T) >= 4) {
    using plain = std::make_unsigned_t<T>;
    return static_cast<T>(f(static_cast<plain>(x), static_cast<plain>(y)));
  } else {
    return static_cast<T>(f(x, y));
  }
}
template <class T>
[[nodiscard]] constexpr auto number_of(T x) {
  if constexpr (half_float<T>) {
    return static_cast<f32>(x);
  } else {
    return x;
  }
}
}  // namespace detail

struct combine_sum {
  template <class T>
  [[nodiscard]] static constexpr T of(T x, T y) {
    return detail::combined(x, y, [](auto l, auto r) { return l + r; });
  }
};
struct combine_product {
  template <class T>
  [[nodiscard]] static constexpr T of(T x, T y) {
    return detail::combined(x, y, [](auto l, auto r) { return l * r; });
  }
};
/// The larger; once NaN, always NaN.
struct combine_max {
  template <class T>
  [[nodiscard]] static constexpr T of(T x, T y) {
    const auto l = detail::number_of(x);
    const auto r = detail::number_of(y);
    return l >= r || l != l ? x : y;
  }
};
struct combine_min {
  template <class T>
  [[nodiscard]] static constexpr T of(T x, T y) {
    const auto l = detail::number_of(x);
    const auto r = detail::number_of(y);
    return l <= r || l != l ? x : y;
  }
};

/// Combines along the middle of [outer, size, inner] up to each element; backwards from the end.
template <class Combine, class T>
void cumulative(std::int64_t outer, std::int64_t size, std::int64_t inner, bool backwards,
                const T* in, T* out) {
  for (std::int64_t o = 0; o < outer; ++o) {
    const std::int64_t first = (o * size + (backwards ? size - 1 : 0)) * inner;
    const std::int64_t step = backwards ? -inner : inner;
    if (size == 0) continue;
    for (std::int64_t k = 0; k < inner; ++k) out[first + k] = in[first + k];
    for (std::int64_t i = 1; i < size; ++i) {
      const std::int64_t at = first + i * step;
      for (std::int64_t k = 0; k < inner; ++k) {
        out[at + k] = Combine::of(out[at - step + k], in[at + k]);
      }
    }
  }
}

/// log(sum(exp)) along the middle of [outer, size, inner]: the largest so far, and the sum over it.
template <class T>
void cumulative_logsumexp(std::int64_t outer, std::int64_t size, std::int64_t inner, bool backwards,
                          const T* in, T* out) {
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t k = 0; k < inner; ++k) {
      f64 most = -HUGE_VAL;
      f64 sum = 0;
      for (std::int64_t i = 0; i < size; ++i) {
        const std::int64_t at = (o * size + (backwards ? size - 1 - i : i)) * inner + k;
        const auto x = static_cast<f64>(detail::number_of(in[at]));
        if (x == most) {
          sum += 1;
        } else if (x > most) {
          sum = sum * std::exp(most - x) + 1;
          most = x;
        } else {
          sum += std::exp(x - most);  // also NaN
        }
        out[at] = static_cast<T>(most == -HUGE_VAL && sum == sum ? most : most + std::log(sum));
      }
    }
  }
}

}  // namespace atled::kernels
