// atled/loops/simd_arithmetic.hpp: + - * / fma, bits and shifts of lanes.
// Reads: loops/simd_mask.hpp. Next: loops/simd_convert.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd_mask.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace atled::loops {

namespace detail {

// The same bits as lanes of `T`; for one lane the same value, truncated.
template <class T, int N, class R>
ATLED_INLINE native<T, N> as(R r) noexcept {
  if constexpr (N == 1) {
    return static_cast<T>(r);
  } else {
    return __builtin_bit_cast(native<T, N>, r);
  }
}

// Signed integers wrap around without undefined behaviour when taken as unsigned ones.
template <class T, int N>
ATLED_INLINE auto wrapping(native<T, N> r) noexcept {
  if constexpr (std::signed_integral<T>) {
    return as<std::make_unsigned_t<T>, N>(r);
  } else {
    return r;
  }
}

}  // namespace detail

template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator+(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo + b.lo, a.hi + b.hi};
  } else {
    return {detail::as<T, N>(detail::wrapping<T, N>(a.r) + detail::wrapping<T, N>(b.r))};
  }
}

template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator-(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo - b.lo, a.hi - b.hi};
  } else {
    return {detail::as<T, N>(detail::wrapping<T, N>(a.r) - detail::wrapping<T, N>(b.r))};
  }
}

template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator*(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo * b.lo, a.hi * b.hi};
  } else {
    return {detail::as<T, N>(detail::wrapping<T, N>(a.r) * detail::wrapping<T, N>(b.r))};
  }
}

template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator-(vec<T, N> a) noexcept {
  if constexpr (split<T, N>) {
    return {-a.lo, -a.hi};
  } else if constexpr (std::floating_point<T> && N > 1) {
    // As bits, which compilers see through: what depends on minus_abs(-a) is that of a.
    using bits = detail::int_like<T>;
    return {detail::as<T, N>(detail::as<bits, N>(a.r) ^ std::numeric_limits<bits>::min())};
  } else {
    return {detail::as<T, N>(-detail::wrapping<T, N>(a.r))};
  }
}

/// a / b of floats; for integers see loops/simd_convert.hpp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator/(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo / b.lo, a.hi / b.hi};
  } else {
    return {a.r / b.r};
  }
}

/// a * b + c, rounded once where the machine has such an instruction, else twice.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> fma(vec<T, N> a, vec<T, N> b, vec<T, N> c) noexcept {
  if constexpr (split<T, N>) {
    return {fma(a.lo, b.lo, c.lo), fma(a.hi, b.hi, c.hi)};
  } else {
#if defined(__AVX512F__)
    if constexpr (std::same_as<T, f32> && N == 16) return {_mm512_fmadd_ps(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f64> && N == 8) return {_mm512_fmadd_pd(a.r, b.r, c.r)};
#endif
#if defined(__FMA__)
    if constexpr (std::same_as<T, f32> && N == 8) return {_mm256_fmadd_ps(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f64> && N == 4) return {_mm256_fmadd_pd(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f32> && N == 4) return {_mm_fmadd_ps(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f64> && N == 2) return {_mm_fmadd_pd(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f32> && N == 1) return {__builtin_fmaf(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f64> && N == 1) return {__builtin_fma(a.r, b.r, c.r)};
    if constexpr (std::same_as<T, f32> && N == 2) {
      return low(fma(join(a, a), join(b, b), join(c, c)));
    }
#endif
    return a * b + c;
  }
}

/// *a * b + c, one value for all lanes. Where an instruction can do both, it does: the
/// multiply-adds of a product then leave room in the front end, which two threads of a core share.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> fma_scalar(const T* a, vec<T, N> b, vec<T, N> c) noexcept {
#if defined(__AVX512F__)
  if constexpr (std::same_as<T, f32> && N == 16) {
    asm("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(c.r) : "v"(b.r), "m"(*a));
    return c;
  } else if constexpr (std::same_as<T, f64> && N == 8) {
    asm("vfmadd231pd %2%{1to8%}, %1, %0" : "+v"(c.r) : "v"(b.r), "m"(*a));
    return c;
  } else {
    return fma(splat<N>(*a), b, c);
  }
#else
  return fma(splat<N>(*a), b, c);
#endif
}

// ---- bits --------------------------------------------------------------------------------------

template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator&(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo & b.lo, a.hi & b.hi};
  } else {
    return {detail::as<T, N>(a.r & b.r)};
  }
}

template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator|(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo | b.lo, a.hi | b.hi};
  } else {
    return {detail::as<T, N>(a.r | b.r)};
  }
}

template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator^(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo ^ b.lo, a.hi ^ b.hi};
  } else {
    return {detail::as<T, N>(a.r ^ b.r)};
  }
}

template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator~(vec<T, N> a) noexcept {
  return a ^ splat<N>(static_cast<T>(-1));
}

/// Shifts left. Pre: 0 <= n < bits of T.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator<<(vec<T, N> a, int n) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo << n, a.hi << n};
  } else {
    return {detail::as<T, N>(detail::wrapping<T, N>(a.r) << n)};
  }
}

/// Shifts right; copies of the sign come in where T is signed. Pre: 0 <= n < bits of T.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator>>(vec<T, N> a, int n) noexcept {
  if constexpr (split<T, N>) {
    return {a.lo >> n, a.hi >> n};
  } else {
    return {detail::as<T, N>(a.r >> n)};
  }
}

namespace detail {

// n modulo the bits of T, so that no shift is undefined; the callers choose what lies outside.
template <class T, int N>
ATLED_INLINE native<T, N> safe_shift(vec<T, N> n) noexcept {
  return (n & splat<N>(static_cast<T>(8 * sizeof(T) - 1))).r;
}
template <class T, int N>
ATLED_INLINE mask<N> inside(vec<T, N> n) noexcept {
  return (n & splat<N>(static_cast<T>(~(8 * sizeof(T) - 1)))) == splat<N>(T{0});
}

}  // namespace detail

/// a << n by lanes, and 0 where n is negative or at least the bits of T (JAX).
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> shift_left(vec<T, N> a, vec<T, N> n) noexcept {
  if constexpr (split<T, N>) {
    return {shift_left(a.lo, n.lo), shift_left(a.hi, n.hi)};
  } else {
    const auto by = detail::wrapping<T, N>(detail::safe_shift(n));
    const vec<T, N> shifted{detail::as<T, N>(detail::wrapping<T, N>(a.r) << by)};
    return select(detail::inside(n), shifted, splat<N>(T{0}));
  }
}

/// a >> n by lanes with zeros coming in, and 0 where n is negative or at least the bits of T.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> shift_right_logical(vec<T, N> a, vec<T, N> n) noexcept {
  if constexpr (split<T, N>) {
    return {shift_right_logical(a.lo, n.lo), shift_right_logical(a.hi, n.hi)};
  } else {
    const auto by = detail::wrapping<T, N>(detail::safe_shift(n));
    const vec<T, N> shifted{detail::as<T, N>(detail::wrapping<T, N>(a.r) >> by)};
    return select(detail::inside(n), shifted, splat<N>(T{0}));
  }
}

/// a >> n by lanes with the sign coming in, and all sign where n is negative or too large.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> shift_right_arithmetic(vec<T, N> a, vec<T, N> n) noexcept {
  if constexpr (split<T, N>) {
    return {shift_right_arithmetic(a.lo, n.lo), shift_right_arithmetic(a.hi, n.hi)};
  } else {
    using S = std::make_signed_t<T>;
    const auto value = reinterpret<S>(a);
    const auto by = reinterpret<S>(vec<T, N>{detail::safe_shift(n)});
    const vec<S, N> shifted{detail::as<S, N>(value.r >> by.r)};
    const auto all_sign = value >> static_cast<int>(8 * sizeof(T) - 1);
    return select(detail::inside(n), reinterpret<T>(shifted), reinterpret<T>(all_sign));
  }
}

}  // namespace atled::loops
