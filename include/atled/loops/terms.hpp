// atled/loops/terms.hpp: the vocabulary of fused kernels: the functions that they apply.
// Reads: loops/vector_math.hpp. Next: loops/work.hpp, what each instruction of a kernel does.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/loops/vector_angle.hpp"
#include "atled/loops/vector_special.hpp"
#include "atled/loops/vector_trigonometry.hpp"

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>

namespace atled::loops {

/// How an operand is walked along a row.
///
/// `stream` is `unit` for stores that go past the cache.
enum class walk : std::uint8_t { splat, unit, strided, stream };

namespace detail {
template <class T, int N>
struct packet_of {
  using type = vec<T, N>;
};
template <int N>
struct packet_of<bool, N> {
  using type = mask<N>;
};
template <half_float T, int N>
struct packet_of<T, N> {
  using type = vec<f32, N>;
};
}  // namespace detail

/// What holds N elements of T in registers: bf16 and f16 are f32 there, bool is a mask.
template <class T, int N>
using packet = typename detail::packet_of<T, N>::type;

/// A scalar of T in every lane.
template <class T, int N>
[[nodiscard]] ATLED_INLINE packet<T, N> splat_of(T value) {
  if constexpr (std::same_as<T, bool>) {
    return splat<N>(value);
  } else if constexpr (half_float<T>) {
    return splat<N>(static_cast<f32>(value));
  } else {
    return splat<N>(value);
  }
}

// ---- functions: what `compute` applies ------------------------------------------------------

struct neg_of {
  ATLED_INLINE static auto apply(auto x) { return -x; }
};
struct exp_of {
  ATLED_INLINE static auto apply(auto x) { return exp(x); }
};
struct expm1_of {
  ATLED_INLINE static auto apply(auto x) { return expm1(x); }
};
struct log_of {
  ATLED_INLINE static auto apply(auto x) { return log(x); }
};
struct log1p_of {
  ATLED_INLINE static auto apply(auto x) { return log1p(x); }
};
struct tanh_of {
  ATLED_INLINE static auto apply(auto x) { return tanh(x); }
};
struct logistic_of {
  ATLED_INLINE static auto apply(auto x) { return logistic(x); }
};
struct sin_of {
  ATLED_INLINE static auto apply(auto x) { return sin(x); }
};
struct cos_of {
  ATLED_INLINE static auto apply(auto x) { return cos(x); }
};
struct sqrt_of {
  ATLED_INLINE static auto apply(auto x) { return sqrt(x); }
};
struct rsqrt_of {
  ATLED_INLINE static auto apply(auto x) { return rsqrt(x); }
};
struct erf_of {
  ATLED_INLINE static auto apply(auto x) { return erf(x); }
};
struct erfc_of {
  ATLED_INLINE static auto apply(auto x) { return erfc(x); }
};
struct erf_inv_of {
  ATLED_INLINE static auto apply(auto x) { return erf_inv(x); }
};
struct sinh_of {
  ATLED_INLINE static auto apply(auto x) { return sinh(x); }
};
struct cosh_of {
  ATLED_INLINE static auto apply(auto x) { return cosh(x); }
};
struct cbrt_of {
  ATLED_INLINE static auto apply(auto x) { return cbrt(x); }
};
struct lgamma_of {
  ATLED_INLINE static auto apply(auto x) { return lgamma(x); }
};
template <int Order>
struct polygamma_of {
  ATLED_INLINE static auto apply(auto x) { return polygamma<Order>(x); }
};
struct abs_of {
  ATLED_INLINE static auto apply(auto x) { return abs(x); }
};
struct sign_of {
  ATLED_INLINE static auto apply(auto x) { return sign(x); }
};
struct floor_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::floating_point<T>) {
      return floor(x);
    } else {
      return x;
    }
  }
};
struct ceil_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::floating_point<T>) {
      return ceil(x);
    } else {
      return x;
    }
  }
};
struct round_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    if constexpr (std::floating_point<T>) {
      return round_even(x);
    } else {
      return x;
    }
  }
};
struct is_finite_of {
  ATLED_INLINE static auto apply(auto x) { return is_finite(x); }
};
struct not_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x) {
    return ~x;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x) {
    return !x;
  }
};
/// A change of element type; from and to bool by comparison with 0.
template <class To>
struct convert_to {
  template <int N>
  ATLED_INLINE static packet<To, N> apply(mask<N> x) {
    if constexpr (std::same_as<To, bool>) {
      return x;
    } else if constexpr (half_float<To>) {
      return convert<f32>(x);
    } else {
      return convert<To>(x);
    }
  }
  template <class T, int N>
  ATLED_INLINE static packet<To, N> apply(vec<T, N> x) {
    if constexpr (std::same_as<To, bool>) {
      return x != splat<N>(T{});
    } else if constexpr (half_float<To>) {
      return convert<f32>(x);
    } else {
      return convert<To>(x);
    }
  }
};
struct identity_of {
  ATLED_INLINE static auto apply(auto x) { return x; }
};
struct add {
  ATLED_INLINE static auto apply(auto x, auto y) { return x + y; }
};
struct sub {
  ATLED_INLINE static auto apply(auto x, auto y) { return x - y; }
};
struct mul {
  ATLED_INLINE static auto apply(auto x, auto y) { return x * y; }
};
/// 0 where a factor is exactly 0, whatever the other one is.
struct strong_mul {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    if constexpr (std::floating_point<T>) {
      return strong_product(x, y);
    } else {
      return x * y;
    }
  }
};
struct div {
  ATLED_INLINE static auto apply(auto x, auto y) { return x / y; }
};
/// The remainder with the sign of the dividend.
struct rem {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    if constexpr (std::floating_point<T>) {
      return per_lane([](T a, T b) { return std::fmod(a, b); }, x, y);
    } else {
      return x % y;
    }
  }
};
struct pow_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    if constexpr (std::floating_point<T>) {
      return pow(x, y);
    } else {
      return integer_power(x, y);
    }
  }
};
struct max_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    return max(x, y);
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x | y;
  }
};
struct min_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> y) {
    return min(x, y);
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x & y;
  }
};
struct atan2_of {
  ATLED_INLINE static auto apply(auto y, auto x) { return atan2(y, x); }
};
struct bit_and {
  ATLED_INLINE static auto apply(auto x, auto y) { return x & y; }
};
struct bit_or {
  ATLED_INLINE static auto apply(auto x, auto y) { return x | y; }
};
struct bit_xor {
  ATLED_INLINE static auto apply(auto x, auto y) { return x ^ y; }
};
struct shift_left_of {
  ATLED_INLINE static auto apply(auto x, auto n) { return shift_left(x, n); }
};
struct shift_right_of {
  template <class T, int N>
  ATLED_INLINE static vec<T, N> apply(vec<T, N> x, vec<T, N> n) {
    if constexpr (std::signed_integral<T>) {
      return shift_right_arithmetic(x, n);
    } else {
      return shift_right_logical(x, n);
    }
  }
};
struct eq {
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x == y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return !(x ^ y);
  }
};
struct ne {
  template <class T, int N>
  ATLED_INLINE static mask<N> apply(vec<T, N> x, vec<T, N> y) {
    return x != y;
  }
  template <int N>
  ATLED_INLINE static mask<N> apply(mask<N> x, mask<N> y) {
    return x ^ y;
  }
};
struct lt {
  ATLED_INLINE static auto apply(auto x, auto y) { return x < y; }
};
struct le {
  ATLED_INLINE static auto apply(auto x, auto y) { return x <= y; }
};
struct gt {
  ATLED_INLINE static auto apply(auto x, auto y) { return x > y; }
};
struct ge {
  ATLED_INLINE static auto apply(auto x, auto y) { return x >= y; }
};
struct select_of {
  ATLED_INLINE static auto apply(auto p, auto x, auto y) { return select(p, x, y); }
};
/// Word 0 or 1 of threefry2x32, or the exclusive or of both (Word 2).
///
/// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011: 20 rounds,
/// rotations 13 15 26 6 and 17 29 16 24, key parity 0x1BD11BDA.
template <int Word>
struct threefry_of {
  template <int N>
  ATLED_INLINE static vec<u32, N> rotate_left(vec<u32, N> x, int by) {
    return (x << by) | (x >> (32 - by));
  }
  template <int N>
  ATLED_INLINE static vec<u32, N> apply(vec<u32, N> key0, vec<u32, N> key1, vec<u32, N> x0,
                                        vec<u32, N> x1) {
    constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const vec<u32, N> keys[3] = {key0, key1, key0 ^ key1 ^ splat<N>(u32{0x1BD11BDA})};
    x0 = x0 + keys[0];
    x1 = x1 + keys[1];
    for (int group = 0; group < 5; ++group) {
      for (int round = 0; round < 4; ++round) {
        x0 = x0 + x1;
        x1 = rotate_left(x1, rotations[group % 2][round]) ^ x0;
      }
      x0 = x0 + keys[(group + 1) % 3];
      x1 = x1 + keys[(group + 2) % 3] + splat<N>(static_cast<u32>(group + 1));
    }
    if constexpr (Word == 0) return x0;
    if constexpr (Word == 1) return x1;
    if constexpr (Word == 2) return x0 ^ x1;
  }
};

// ---- reductions: how `row_reduce` and `partial` combine -------------------------------------

struct sum_of {
  template <class T>
  static constexpr T neutral() {
    return T{};
  }
  ATLED_INLINE static auto apply(auto x, auto y) { return x + y; }
  ATLED_INLINE static auto across(auto x) { return reduce_add(x); }
};
struct prod_of {
  template <class T>
  static constexpr T neutral() {
    return T{1};
  }
  ATLED_INLINE static auto apply(auto x, auto y) { return x * y; }
  ATLED_INLINE static auto across(auto x) { return reduce_mul(x); }
};
struct maximum_of {
  template <class T>
  static constexpr T neutral() {
    return std::floating_point<T> ? -std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::lowest();
  }
  ATLED_INLINE static auto apply(auto x, auto y) { return max(x, y); }
  template <int N>
  ATLED_INLINE static auto apply(mask<N> x, mask<N> y) {
    return x | y;
  }
  ATLED_INLINE static auto across(auto x) { return reduce_max(x); }
  template <int N>
  ATLED_INLINE static bool across(mask<N> x) {
    return any(x);
  }
};
struct minimum_of {
  template <class T>
  static constexpr T neutral() {
    return std::floating_point<T> ? std::numeric_limits<T>::infinity()
                                  : std::numeric_limits<T>::max();
  }
  ATLED_INLINE static auto apply(auto x, auto y) { return min(x, y); }
  template <int N>
  ATLED_INLINE static auto apply(mask<N> x, mask<N> y) {
    return x & y;
  }
  ATLED_INLINE static auto across(auto x) { return reduce_min(x); }
  template <int N>
  ATLED_INLINE static bool across(mask<N> x) {
    return all(x);
  }
};

}  // namespace atled::loops
