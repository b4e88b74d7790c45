// atled/loops/simd_math.hpp: what needs no series: max, abs, floor, sqrt, powers of two,
// reductions. Reads: loops/simd_arithmetic.hpp. Next: loops/simd_power.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd_arithmetic.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace atled::loops {

namespace detail {

// The masked forms below are whole: g++ 12 warns of the others' undefined third operand (PR
// 105593). a > b ? a : b and a < b ? a : b: the second operand where either is NaN.
template <bool Greater, class T, int N>
ATLED_INLINE vec<T, N> pick(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {pick<Greater>(a.lo, b.lo), pick<Greater>(a.hi, b.hi)};
  } else {
#if defined(__AVX512F__)
    if constexpr (std::same_as<T, f32> && N == 16) {
      return {Greater ? _mm512_maskz_max_ps(0xffff, a.r, b.r)
                      : _mm512_maskz_min_ps(0xffff, a.r, b.r)};
    } else if constexpr (std::same_as<T, f64> && N == 8) {
      return {Greater ? _mm512_maskz_max_pd(0xff, a.r, b.r) : _mm512_maskz_min_pd(0xff, a.r, b.r)};
    } else
#endif
        if constexpr (Greater) {
      return {a.r > b.r ? a.r : b.r};
    } else {
      return {a.r < b.r ? a.r : b.r};
    }
  }
}

}  // namespace detail

/// The greater, lane by lane; NaN where either is NaN (NumPy's maximum).
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> max(vec<T, N> a, vec<T, N> b) noexcept {
  const auto greater = detail::pick<true>(a, b);
  if constexpr (std::floating_point<T>) {
    return select(a != a, a, greater);
  } else {
    return greater;
  }
}

/// The smaller, lane by lane; NaN where either is NaN (NumPy's minimum).
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> min(vec<T, N> a, vec<T, N> b) noexcept {
  const auto smaller = detail::pick<false>(a, b);
  if constexpr (std::floating_point<T>) {
    return select(a != a, a, smaller);
  } else {
    return smaller;
  }
}

template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> abs(vec<T, N> v) noexcept {
  if constexpr (std::floating_point<T>) {
    using I = detail::int_like<T>;
    return reinterpret<T>(reinterpret<I>(v) & splat<N>(std::numeric_limits<I>::max()));
  } else if constexpr (std::signed_integral<T>) {
    return select(v < splat<N>(T{0}), -v, v);
  } else {
    return v;
  }
}

/// -|v|: one operation, the same for v and -v.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> minus_abs(vec<T, N> v) noexcept {
  using I = detail::int_like<T>;
  return reinterpret<T>(reinterpret<I>(v) | splat<N>(std::numeric_limits<I>::min()));
}

/// x y, and exactly 0 where a factor is 0, against infinity and NaN too.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> strong_product(vec<T, N> x, vec<T, N> y) noexcept {
#if ATLED_MASK_REGISTERS
  // one compare masks the next, and that the product: three instructions
  if constexpr (std::same_as<T, f32> && N == 16) {
    const auto zero = _mm512_setzero_ps();
    const auto x_counts = _mm512_cmp_ps_mask(x.r, zero, _CMP_NEQ_UQ);
    const auto both_count = _mm512_mask_cmp_ps_mask(x_counts, y.r, zero, _CMP_NEQ_UQ);
    return {_mm512_maskz_mul_ps(both_count, x.r, y.r)};
  } else if constexpr (std::same_as<T, f64> && N == 8) {
    const auto zero = _mm512_setzero_pd();
    const auto x_counts = _mm512_cmp_pd_mask(x.r, zero, _CMP_NEQ_UQ);
    const auto both_count = _mm512_mask_cmp_pd_mask(x_counts, y.r, zero, _CMP_NEQ_UQ);
    return {_mm512_maskz_mul_pd(both_count, x.r, y.r)};
  } else if constexpr (split<T, N>) {
    return {strong_product(x.lo, y.lo), strong_product(x.hi, y.hi)};
  } else
#endif
  {
    const auto zero = splat<N>(T{0});
    return select((x == zero) | (y == zero), zero, x * y);
  }
}

namespace detail {

#if ATLED_MASK_REGISTERS
// 1 / v to 14 bits, the same for any N.
template <int N>
ATLED_INLINE vec<f32, N> rough_reciprocal(vec<f32, N> v) noexcept {
  if constexpr (N == 16) {
    return {_mm512_maskz_rcp14_ps(0xffff, v.r)};
  } else if constexpr (N == 8) {
    return {_mm256_maskz_rcp14_ps(0xff, v.r)};
  } else if constexpr (N == 4) {
    return {_mm_maskz_rcp14_ps(0xf, v.r)};
  } else {
    return low(rough_reciprocal(join(v, v)));
  }
}
#endif

}  // namespace detail

/// a / b, within 1 ulp, for b whose reciprocal is a normal number. From a table's 14 bits and
/// Newton's steps where that is quicker than the division, which keeps a port for 16 cycles.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> quotient(vec<T, N> a, vec<T, N> b) noexcept {
#if ATLED_MASK_REGISTERS
  if constexpr (split<T, N>) {
    return {quotient(a.lo, b.lo), quotient(a.hi, b.hi)};
  } else if constexpr (std::same_as<T, f32>) {
    const auto guess = detail::rough_reciprocal(b);
    const auto reciprocal = fma(guess, fma(-guess, b, splat<N>(T{1})), guess);
    const auto rounded = a * reciprocal;
    return fma(fma(-rounded, b, a), reciprocal, rounded);
  } else
#endif
  {
    return a / b;
  }
}

/// The magnitude of `v` with the sign bit of `sign`.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> copysign(vec<T, N> v, vec<T, N> sign) noexcept {
  using I = detail::int_like<T>;
  const auto sign_bit = splat<N>(std::numeric_limits<I>::min());
#if ATLED_MASK_REGISTERS
  if constexpr (split<T, N>) {
    return {copysign(v.lo, sign.lo), copysign(v.hi, sign.hi)};
  } else if constexpr (sizeof(T) * N == 64) {  // the third operand chooses bits
    const auto r = _mm512_ternarylogic_epi32(detail::to_512(v), detail::to_512(sign),
                                             detail::to_512(sign_bit), 0xd8);
    return detail::from_512<T, N>(r);
  } else
#endif
  {
    return reinterpret<T>((reinterpret<I>(v) & ~sign_bit) | (reinterpret<I>(sign) & sign_bit));
  }
}

/// -1, 0 or 1; a zero or NaN as it is.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> sign(vec<T, N> v) noexcept {
  const auto zero = splat<N>(T{0});
  const auto positive = select(v > zero, splat<N>(T{1}), v);
  if constexpr (std::unsigned_integral<T>) {
    return positive;
  } else {
    return select(v < zero, splat<N>(static_cast<T>(-1)), positive);
  }
}

template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE mask<N> is_nan(vec<T, N> v) noexcept {
  return v != v;
}
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE mask<N> is_inf(vec<T, N> v) noexcept {
  return abs(v) == splat<N>(std::numeric_limits<T>::infinity());
}
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE mask<N> is_finite(vec<T, N> v) noexcept {
  return abs(v) < splat<N>(std::numeric_limits<T>::infinity());
}

template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> sqrt(vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    return {sqrt(v.lo), sqrt(v.hi)};
  } else {
#if defined(__AVX512F__)
    if constexpr (std::same_as<T, f32> && N == 16) return {_mm512_maskz_sqrt_ps(0xffff, v.r)};
    if constexpr (std::same_as<T, f64> && N == 8) return {_mm512_maskz_sqrt_pd(0xff, v.r)};
#endif
#if defined(__AVX__)
    if constexpr (std::same_as<T, f32> && N == 8) return {_mm256_sqrt_ps(v.r)};
    if constexpr (std::same_as<T, f64> && N == 4) return {_mm256_sqrt_pd(v.r)};
#endif
#if defined(__SSE2__)
    if constexpr (std::same_as<T, f32> && N == 4) return {_mm_sqrt_ps(v.r)};
    if constexpr (std::same_as<T, f64> && N == 2) return {_mm_sqrt_pd(v.r)};
    if constexpr (sizeof(T) * N < 16) return low(sqrt(join(v, v)));
#else
    return per_lane([](T x) { return std::sqrt(x); }, v);
#endif
  }
}

/// 1 / sqrt(v), by a root and a division, each rounded.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> rsqrt(vec<T, N> v) noexcept {
  return splat<N>(T{1}) / sqrt(v);
}

namespace detail {

enum class rounding { even = 0, down = 1, up = 2, zero = 3 };  // as the machine counts them

template <rounding R, std::floating_point T, int N>
ATLED_INLINE vec<T, N> round(vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    return {round<R>(v.lo), round<R>(v.hi)};
  } else {
#if defined(__AVX512F__)
    constexpr int quietly = static_cast<int>(R) | _MM_FROUND_NO_EXC;
    if constexpr (std::same_as<T, f32> && N == 16)
      return {_mm512_maskz_roundscale_ps(0xffff, v.r, quietly)};
    if constexpr (std::same_as<T, f64> && N == 8)
      return {_mm512_maskz_roundscale_pd(0xff, v.r, quietly)};
#endif
#if defined(__AVX__)
    constexpr int mode = static_cast<int>(R) | _MM_FROUND_NO_EXC;
    if constexpr (std::same_as<T, f32> && N == 8) return {_mm256_round_ps(v.r, mode)};
    if constexpr (std::same_as<T, f64> && N == 4) return {_mm256_round_pd(v.r, mode)};
    if constexpr (std::same_as<T, f32> && N == 4) return {_mm_round_ps(v.r, mode)};
    if constexpr (std::same_as<T, f64> && N == 2) return {_mm_round_pd(v.r, mode)};
    if constexpr (sizeof(T) * N < 16) return low(round<R>(join(v, v)));
#else
    // Adding 2^23 (f32) or 2^52 pushes the fraction out, rounded to even.
    const auto push = splat<N>(T{1} / std::numeric_limits<T>::epsilon());
    const auto size = abs(v);
    auto whole = (size + push) - push;
    if constexpr (R == rounding::zero) {
      whole = select(whole > size, whole - splat<N>(T{1}), whole);
    }
    whole = copysign(whole, v);
    if constexpr (R == rounding::down) {
      whole = select(whole > v, whole - splat<N>(T{1}), whole);
    }
    if constexpr (R == rounding::up) {
      whole = copysign(select(whole < v, whole + splat<N>(T{1}), whole), v);
    }
    return select(size < push, whole, v);
#endif
  }
}

}  // namespace detail

template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> floor(vec<T, N> v) noexcept {
  return detail::round<detail::rounding::down>(v);
}
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> ceil(vec<T, N> v) noexcept {
  return detail::round<detail::rounding::up>(v);
}
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> trunc(vec<T, N> v) noexcept {
  return detail::round<detail::rounding::zero>(v);
}

/// To the nearest integer, ties to even.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> round_even(vec<T, N> v) noexcept {
  return detail::round<detail::rounding::even>(v);
}

// ---- reducing ----------------------------------------------------------------------------------
// All lanes to one, halves first: lane i meets lane i + N/2, then i + N/4 ...: the same order, and
// so the same bits, on every machine.

template <class T, int N>
[[nodiscard]] ATLED_INLINE T reduce_add(vec<T, N> v) noexcept {
  if constexpr (N == 1) {
    return v.r;
  } else {
    return reduce_add(low(v) + high(v));
  }
}

template <class T, int N>
[[nodiscard]] ATLED_INLINE T reduce_mul(vec<T, N> v) noexcept {
  if constexpr (N == 1) {
    return v.r;
  } else {
    return reduce_mul(low(v) * high(v));
  }
}

/// NaN where one lane is.
template <class T, int N>
[[nodiscard]] ATLED_INLINE T reduce_max(vec<T, N> v) noexcept {
  if constexpr (N == 1) {
    return v.r;
  } else {
    return reduce_max(max(low(v), high(v)));
  }
}

/// NaN where one lane is.
template <class T, int N>
[[nodiscard]] ATLED_INLINE T reduce_min(vec<T, N> v) noexcept {
  if constexpr (N == 1) {
    return v.r;
  } else {
    return reduce_min(min(low(v), high(v)));
  }
}

}  // namespace atled::loops
