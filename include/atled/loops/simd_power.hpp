// atled/loops/simd_power.hpp: multiplying by powers of two, and splitting them off.
// Reads: loops/simd_arithmetic.hpp. Next: loops/vector_math.hpp (exp, log, tanh ...).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd_arithmetic.hpp"

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace atled::loops {

namespace detail {

template <class T>
inline constexpr int fraction_bits = std::numeric_limits<T>::digits - 1;

/// 1.5 * 2^fraction_bits: x + magic rounds x to an integer, which then stands in the low bits.
template <class T>
inline constexpr T magic = std::same_as<T, f32> ? T{12582912} : T{6755399441055744};

// 2^n where shifted = n + magic<T>, for the n of normal numbers.
template <std::floating_point T, int N>
ATLED_INLINE vec<T, N> pow2_of(vec<T, N> shifted) noexcept {
  using I = int_like<T>;
  const auto one = splat<N>(__builtin_bit_cast(I, T{1}));
  return reinterpret<T>((reinterpret<I>(shifted) << fraction_bits<T>)+one);
}

}  // namespace detail

/// v * 2^n for whole n, rounded once, also into the denormals.
/// Pre: |n| <= 252 (f32), 2044 (f64); the product of an infinite n is not specified.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> scale_pow2(vec<T, N> v, vec<T, N> n) noexcept {
  if constexpr (split<T, N>) {
    return {scale_pow2(v.lo, n.lo), scale_pow2(v.hi, n.hi)};
  } else {
#if ATLED_MASK_REGISTERS
    if constexpr (std::same_as<T, f32>) {
      if constexpr (N == 16) return {_mm512_maskz_scalef_ps(0xffff, v.r, n.r)};
      if constexpr (N == 8) return {_mm256_maskz_scalef_ps(0xff, v.r, n.r)};
      if constexpr (N == 4) return {_mm_maskz_scalef_ps(0xf, v.r, n.r)};
    } else {
      if constexpr (N == 8) return {_mm512_maskz_scalef_pd(0xff, v.r, n.r)};
      if constexpr (N == 4) return {_mm256_maskz_scalef_pd(0xf, v.r, n.r)};
      if constexpr (N == 2) return {_mm_maskz_scalef_pd(0x3, v.r, n.r)};
    }
    if constexpr (sizeof(T) * N < 16) return low(scale_pow2(join(v, v), join(n, n)));
#else
    const auto magic = splat<N>(detail::magic<T>);
    const auto shifted = n * splat<N>(T{0.5}) + magic;
    const auto half = shifted - magic;
    return v * detail::pow2_of(shifted) * detail::pow2_of((n - half) + magic);
#endif
  }
}

/// m * 2^e = v with m in [0.75, 1.5) and e whole.
///
/// - A zero: m is it with the size 1, e = -inf. Infinity: m = 1, e = inf. A negative number or NaN:
/// m is NaN.
template <std::floating_point T, int N>
struct mantissa_exponent {
  vec<T, N> m, e;
};
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE mantissa_exponent<T, N> split_pow2(vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    const auto lo = split_pow2(v.lo);
    const auto hi = split_pow2(v.hi);
    return {{lo.m, hi.m}, {lo.e, hi.e}};
  } else {
#if ATLED_MASK_REGISTERS
    constexpr auto from = _MM_MANT_NORM_p75_1p5;
    constexpr auto sign = _MM_MANT_SIGN_nan;
    vec<T, N> m;
    vec<T, N> e;
    if constexpr (sizeof(T) * N < 16) {
      const auto wide = split_pow2(join(v, v));
      return {low(wide.m), low(wide.e)};
    } else if constexpr (std::same_as<T, f32> && N == 16) {
      m = {_mm512_maskz_getmant_ps(0xffff, v.r, from, sign)};
      e = {_mm512_maskz_getexp_ps(0xffff, v.r)};
    } else if constexpr (std::same_as<T, f32> && N == 8) {
      m = {_mm256_maskz_getmant_ps(0xff, v.r, from, sign)};
      e = {_mm256_maskz_getexp_ps(0xff, v.r)};
    } else if constexpr (std::same_as<T, f32>) {
      m = {_mm_maskz_getmant_ps(0xf, v.r, from, sign)};
      e = {_mm_maskz_getexp_ps(0xf, v.r)};
    } else if constexpr (N == 8) {
      m = {_mm512_maskz_getmant_pd(0xff, v.r, from, sign)};
      e = {_mm512_maskz_getexp_pd(0xff, v.r)};
    } else if constexpr (N == 4) {
      m = {_mm256_maskz_getmant_pd(0xf, v.r, from, sign)};
      e = {_mm256_maskz_getexp_pd(0xf, v.r)};
    } else {
      m = {_mm_maskz_getmant_pd(0x3, v.r, from, sign)};
      e = {_mm_maskz_getexp_pd(0x3, v.r)};
    }
    const auto one = splat<N>(T{1});
    return {m, select(m < one, e + one, e)};  // the machine counts e for m in [1, 2)
#else
    using limits = std::numeric_limits<T>;
    using I = detail::int_like<T>;
    using U = std::make_unsigned_t<I>;
    constexpr int bits = detail::fraction_bits<T>;
    constexpr T whole = static_cast<T>(U{1} << bits);
    constexpr I bias = limits::max_exponent;
    const auto tiny = v < splat<N>(limits::min());
    const auto word = reinterpret<I>(select(tiny, v * splat<N>(whole), v));
    const auto above = word - splat<N>(__builtin_bit_cast(I, T{0.75}));
    const auto fraction = splat<N>(static_cast<I>((U{1} << bits) - 1));
    auto m = reinterpret<T>(word - (above & ~fraction));
    const auto biased = reinterpret<U>(above + splat<N>(static_cast<I>(bias << bits))) >> bits;
    auto e = reinterpret<T>(reinterpret<I>(biased) | splat<N>(__builtin_bit_cast(I, whole))) -
             splat<N>(whole + static_cast<T>(bias));
    e = select(tiny, e - splat<N>(static_cast<T>(bits)), e);
    const auto zero = splat<N>(T{0});
    const auto infinity = splat<N>(limits::infinity());
    m = select(v >= zero, m, splat<N>(limits::quiet_NaN()));
    e = select(v == zero, -infinity, select(v == infinity, infinity, e));
    return {m, e};
#endif
  }
}

}  // namespace atled::loops
