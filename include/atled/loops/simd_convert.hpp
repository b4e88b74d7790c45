// atled/loops/simd_convert.hpp: lanes of one type as another; quotients of integers.
// Reads: loops/simd_arithmetic.hpp. Next: loops/simd_memory.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/loops/simd_arithmetic.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace atled::loops {

namespace detail {

// Value by value; floats to integers must be in range.
template <class U, class T, int N>
ATLED_INLINE vec<U, N> convert_lanes(vec<T, N> v) noexcept {
  if constexpr (N > 1 && (split<T, N> || split<U, N>)) {
    return join(convert_lanes<U>(low(v)), convert_lanes<U>(high(v)));
  } else if constexpr (N == 1) {
    return {static_cast<U>(v.r)};
  } else {
#if defined(__AVX512F__)
    if constexpr (std::same_as<T, f32> && std::same_as<U, f64> && N == 8) {
      return {_mm512_maskz_cvtps_pd(0xff, v.r)};
    } else if constexpr (std::same_as<T, i32> && std::same_as<U, f64> && N == 8) {
      return {_mm512_maskz_cvtepi32_pd(0xff, __builtin_bit_cast(__m256i, v.r))};
    } else if constexpr (std::same_as<T, i32> && std::same_as<U, i64> && N == 8) {
      return {__builtin_bit_cast(
          native<i64, 8>, _mm512_maskz_cvtepi32_epi64(0xff, __builtin_bit_cast(__m256i, v.r)))};
    } else
#endif
#if defined(__AVX__)
        if constexpr (std::same_as<T, f32> && std::same_as<U, f64> && N == 4) {
      return {_mm256_cvtps_pd(v.r)};
    } else if constexpr (std::same_as<T, i32> && std::same_as<U, f64> && N == 4) {
      return {_mm256_cvtepi32_pd(__builtin_bit_cast(__m128i, v.r))};
    } else
#endif
      return {__builtin_convertvector(v.r, native<U, N>)};
  }
}

// The f32 whose upper half the words are.
template <int N>
ATLED_INLINE vec<f32, N> widen_bf16(vec<std::uint16_t, N> v) noexcept {
  return reinterpret<f32>(convert<u32>(v) << 16);
}

// To nearest, ties to even; a NaN is made quiet and stays one. As bf16's constructor does.
template <int N>
ATLED_INLINE vec<std::uint16_t, N> round_to_bf16(vec<f32, N> v) noexcept {
  const auto word = reinterpret<u32>(v);
  const auto upper = word >> 16;
  const auto tie = (upper & splat<N>(u32{1})) + splat<N>(u32{0x7fff});
  const auto quiet = upper | splat<N>(u32{0x40});
  return convert<std::uint16_t>(select(v != v, quiet, (word + tie) >> 16));
}

// The f32 that the halves are.
template <int N>
ATLED_INLINE vec<f32, N> widen_f16(vec<std::uint16_t, N> v) noexcept {
  if constexpr (split<f32, N>) {
    return join(widen_f16(low(v)), widen_f16(high(v)));
  } else {
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      return {_mm512_maskz_cvtph_ps(0xffff, __builtin_bit_cast(__m256i, v.r))};
    } else
#endif
#if defined(__F16C__)
        if constexpr (N == 8) {
      return {_mm256_cvtph_ps(__builtin_bit_cast(__m128i, v.r))};
    } else
#endif
    {
      const auto word = convert<u32>(v);
      const auto size = word & splat<N>(u32{0x7fff});
      const auto whole = (size << 13) + splat<N>(u32{0x38000000});
      const auto beyond = (size << 13) | splat<N>(u32{0x7f800000});  // infinite, or NaN
      const auto quiet =
          select(size > splat<N>(u32{0x7c00}), splat<N>(u32{0x400000}), splat<N>(u32{0}));
      const auto tiny =
          reinterpret<u32>(convert_lanes<f32>(reinterpret<i32>(size)) * splat<N>(0x1p-24F));
      const auto finite = select(size < splat<N>(u32{0x400}), tiny, whole);
      const auto out = select(size >= splat<N>(u32{0x7c00}), beyond | quiet, finite);
      return reinterpret<f32>(out | ((word & splat<N>(u32{0x8000})) << 16));
    }
  }
}

// To nearest, ties to even; a NaN is made quiet and stays one. As f16's constructor does.
template <int N>
ATLED_INLINE vec<std::uint16_t, N> round_to_f16(vec<f32, N> v) noexcept {
  if constexpr (split<f32, N>) {
    return join(round_to_f16(low(v)), round_to_f16(high(v)));
  } else {
    using words [[maybe_unused]] = native<std::uint16_t, N>;
#if defined(__AVX512F__)
    if constexpr (N == 16) {
      constexpr int nearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
      return {__builtin_bit_cast(words, _mm512_maskz_cvtps_ph(0xffff, v.r, nearest))};
    } else
#endif
#if defined(__F16C__)
        if constexpr (N == 8) {
      return {__builtin_bit_cast(words, _mm256_cvtps_ph(v.r, _MM_FROUND_TO_NEAREST_INT))};
    } else
#endif
    {
      const auto word = reinterpret<u32>(v);
      const auto size = word & splat<N>(u32{0x7fffffff});
      const auto tie = ((size >> 13) & splat<N>(u32{1})) + splat<N>(u32{0xfff} - u32{0x38000000});
      const auto kept = reinterpret<u32>(reinterpret<f32>(size) + splat<N>(0.5F));
      const auto tiny = kept - splat<N>(u32{0x3f000000});
      const auto quiet = ((size >> 13) & splat<N>(u32{0x3ff})) | splat<N>(u32{0x7e00});
      auto out = select(size < splat<N>(u32{0x38800000}), tiny, (size + tie) >> 13);
      out = select(size >= splat<N>(u32{0x477ff000}), splat<N>(u32{0x7c00}), out);
      out = select(v != v, quiet, out);
      return convert<std::uint16_t>(out | ((word >> 16) & splat<N>(u32{0x8000})));
    }
  }
}

// As 16 bits hold them: words of T in memory, f32 in registers.
template <half_float T, int N>
ATLED_INLINE vec<f32, N> widen(vec<std::uint16_t, N> v) noexcept {
  if constexpr (std::same_as<T, f16>) {
    return widen_f16(v);
  } else {
    return widen_bf16(v);
  }
}
template <half_float T, int N>
ATLED_INLINE vec<std::uint16_t, N> round_to(vec<f32, N> v) noexcept {
  if constexpr (std::same_as<T, f16>) {
    return round_to_f16(v);
  } else {
    return round_to_bf16(v);
  }
}

}  // namespace detail

/// Each lane as a `U`.
///
/// - A float becomes the integer towards zero; outside the range the nearest end; a NaN 0 (JAX).
/// - An integer keeps its low bits. To bool: is it not 0. To bf16 or f16: rounded, and an f32
///   again.
template <class U, class T, int N>
[[nodiscard]] ATLED_INLINE auto convert(vec<T, N> v) noexcept {
  if constexpr (std::same_as<U, T>) {
    return v;
  } else if constexpr (std::same_as<U, bool>) {
    return v != splat<N>(T{0});
  } else if constexpr (half_float<U>) {
    return detail::widen<U>(detail::round_to<U>(convert<f32>(v)));
  } else if constexpr (std::floating_point<T> && std::integral<U>) {
    using limits = std::numeric_limits<U>;
    const T end = static_cast<T>(u32{1} << 31) *
                  (sizeof(U) == 8              ? static_cast<T>(u32{1} << 31) * 2
                   : sizeof(U) == 1            ? 1 / static_cast<T>(1 << 23)
                   : std::unsigned_integral<U> ? T{2}
                                               : T{1});  // 2^31, 2^32, 2^63 or 2^8: one past max()
    const auto above = v >= splat<N>(end);
    const auto begin = splat<N>(std::signed_integral<U> ? -end : T{0});
    const auto inside = (v >= begin) & !above;
    const auto whole = detail::convert_lanes<U>(select(inside, v, splat<N>(T{0})));
    const auto capped = select(above, splat<N>(limits::max()), whole);
    if constexpr (std::unsigned_integral<U>) {
      return capped;
    } else {
      return select(v < begin, splat<N>(limits::min()), capped);
    }
  } else {
    return detail::convert_lanes<U>(v);
  }
}

/// 1 where set, else 0.
template <class U, int N>
[[nodiscard]] ATLED_INLINE auto convert(mask<N> m) noexcept {
  if constexpr (std::same_as<U, bool>) {
    return m;
  } else if constexpr (half_float<U>) {
    return convert<f32>(m);
  } else {
    return select(m, splat<N>(U{1}), splat<N>(U{0}));
  }
}

// ---- quotients ---------------------------------------------------------------------------------

/// a / b of integers, towards zero as in JAX: x / 0 is -1 (all bits set), and the smallest integer
/// by -1 is itself.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator/(vec<T, N> a, vec<T, N> b) noexcept {
  const auto zero = splat<N>(T{0});
  const auto minus_one = splat<N>(static_cast<T>(-1));
  auto special = b == zero;
  if constexpr (std::signed_integral<T>) special = special | (b == minus_one);
  const auto divisor = select(special, splat<N>(T{1}), b);
  vec<T, N> quotient;
  if constexpr (sizeof(T) <= 4) {  // exact: f64 holds the operands, and a / b is off by < 1 / |a|
    quotient = convert<T>(convert<f64>(a) / convert<f64>(divisor));
  } else {
    quotient = per_lane([](T x, T y) { return static_cast<T>(x / y); }, a, divisor);
  }
  if constexpr (std::signed_integral<T>) quotient = select(b == minus_one, -a, quotient);
  return select(b == zero, minus_one, quotient);
}

/// The remainder with the sign of `a`. Integers as in JAX: x % 0 is x. Floats as fmod.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator%(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (std::integral<T>) {
    return select(b == splat<N>(T{0}), a, a - (a / b) * b);
  } else {
    return per_lane([](T x, T y) { return std::fmod(x, y); }, a, b);
  }
}

}  // namespace atled::loops
