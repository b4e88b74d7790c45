// atled/loops/simd_mask.hpp: comparing lanes, combining masks, choosing by them.
// Reads: loops/simd_vec.hpp. Next: loops/simd_arithmetic.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd_vec.hpp"

#include <concepts>
#include <cstdint>

namespace atled::loops {

namespace detail {

enum class predicate { equal, not_equal, less, less_equal };

template <predicate P, class R>
ATLED_INLINE auto compare_native(R a, R b) noexcept {
  if constexpr (P == predicate::equal) return a == b;
  if constexpr (P == predicate::not_equal) return a != b;
  if constexpr (P == predicate::less) return a < b;
  if constexpr (P == predicate::less_equal) return a <= b;
}

#if ATLED_MASK_REGISTERS
template <predicate P, class T>
ATLED_INLINE std::uint16_t compare_bits(__m512i a, __m512i b) noexcept {
  constexpr int floats = P == predicate::equal       ? _CMP_EQ_OQ
                         : P == predicate::not_equal ? _CMP_NEQ_UQ
                         : P == predicate::less      ? _CMP_LT_OQ
                                                     : _CMP_LE_OQ;
  constexpr auto ints = P == predicate::equal       ? _MM_CMPINT_EQ
                        : P == predicate::not_equal ? _MM_CMPINT_NE
                        : P == predicate::less      ? _MM_CMPINT_LT
                                                    : _MM_CMPINT_LE;
  if constexpr (std::same_as<T, f32>) {
    return _mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), floats);
  } else if constexpr (std::same_as<T, f64>) {
    return _mm512_cmp_pd_mask(_mm512_castsi512_pd(a), _mm512_castsi512_pd(b), floats);
  } else if constexpr (std::same_as<T, i32>) {
    return _mm512_cmp_epi32_mask(a, b, ints);
  } else if constexpr (std::same_as<T, u32>) {
    return _mm512_cmp_epu32_mask(a, b, ints);
  } else if constexpr (std::same_as<T, i64>) {
    return _mm512_cmp_epi64_mask(a, b, ints);
  } else {
    static_assert(std::same_as<T, u8>, "compare: the lanes are f32, f64, i32, u32, i64 or u8");
    return static_cast<std::uint16_t>(_mm512_cmp_epu8_mask(a, b, ints));
  }
}
#endif

template <predicate P, class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> compare(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return join(compare<P>(a.lo, b.lo), compare<P>(a.hi, b.hi));
  } else {
#if ATLED_MASK_REGISTERS
    if constexpr (N == 1) {
      return {static_cast<std::uint16_t>(compare_native<P>(a.r, b.r))};
    } else {
      return {compare_bits<P, T>(to_512(a), to_512(b))};
    }
#else
    const auto lanes = compare_native<P>(a.r, b.r);
    if constexpr (N == 1) {
      return {-static_cast<i32>(lanes)};
    } else if constexpr (sizeof(T) == 4) {
      return {__builtin_bit_cast(native<i32, N>, lanes)};
    } else if constexpr (sizeof(T) == 8) {
      const auto halves = __builtin_bit_cast(native<i32, 2 * N>, lanes);
      return {shuffle(halves, halves, lane_list<N, 0, 2>{})};
    } else {
      return {__builtin_convertvector(lanes, native<i32, N>)};
    }
#endif
  }
}

}  // namespace detail

template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator==(vec<T, N> a, vec<T, N> b) noexcept {
  return detail::compare<detail::predicate::equal>(a, b);
}
template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator!=(vec<T, N> a, vec<T, N> b) noexcept {
  return detail::compare<detail::predicate::not_equal>(a, b);
}
template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator<(vec<T, N> a, vec<T, N> b) noexcept {
  return detail::compare<detail::predicate::less>(a, b);
}
template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator<=(vec<T, N> a, vec<T, N> b) noexcept {
  return detail::compare<detail::predicate::less_equal>(a, b);
}
template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator>(vec<T, N> a, vec<T, N> b) noexcept {
  return b < a;
}
template <class T, int N>
[[nodiscard]] ATLED_INLINE mask<N> operator>=(vec<T, N> a, vec<T, N> b) noexcept {
  return b <= a;
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> operator&(mask<N> a, mask<N> b) noexcept {
  if constexpr (split<i32, N>) {
    return {a.lo & b.lo, a.hi & b.hi};
  } else {
#if ATLED_MASK_REGISTERS
    return {static_cast<std::uint16_t>(a.bits & b.bits)};
#else
    return {a.r & b.r};
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> operator|(mask<N> a, mask<N> b) noexcept {
  if constexpr (split<i32, N>) {
    return {a.lo | b.lo, a.hi | b.hi};
  } else {
#if ATLED_MASK_REGISTERS
    return {static_cast<std::uint16_t>(a.bits | b.bits)};
#else
    return {a.r | b.r};
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> operator^(mask<N> a, mask<N> b) noexcept {
  if constexpr (split<i32, N>) {
    return {a.lo ^ b.lo, a.hi ^ b.hi};
  } else {
#if ATLED_MASK_REGISTERS
    return {static_cast<std::uint16_t>(a.bits ^ b.bits)};
#else
    return {a.r ^ b.r};
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> operator!(mask<N> m) noexcept {
  if constexpr (split<i32, N>) {
    return {!m.lo, !m.hi};
  } else {
#if ATLED_MASK_REGISTERS
    return {static_cast<std::uint16_t>(~m.bits)};
#else
    return {~m.r};
#endif
  }
}

/// `x` in each lane.
template <int N>
[[nodiscard]] ATLED_INLINE mask<N> splat(bool x) noexcept {
  if constexpr (split<i32, N>) {
    return {splat<N / 2>(x), splat<N / 2>(x)};
  } else {
#if ATLED_MASK_REGISTERS
    return {static_cast<std::uint16_t>(x ? 0xffff : 0)};
#else
    return {splat<N>(-static_cast<i32>(x)).r};
#endif
  }
}

/// Set in the first `count` lanes. `count` may be negative or above N.
template <int N>
[[nodiscard]] ATLED_INLINE mask<N> first_lanes(int count) noexcept {
  if constexpr (split<i32, N>) {
    return {first_lanes<N / 2>(count), first_lanes<N / 2>(count - N / 2)};
  } else {
#if ATLED_MASK_REGISTERS
    if (count >= N) return {static_cast<std::uint16_t>((1U << N) - 1U)};
    return {static_cast<std::uint16_t>(count <= 0 ? 0U : (1U << count) - 1U)};
#else
    return iota<i32, N>() < splat<N>(count);
#endif
  }
}

/// Lane by lane `a` where `m` is set, else `b`.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> select(mask<N> m, vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (split<T, N>) {
    return {select(low(m), a.lo, b.lo), select(high(m), a.hi, b.hi)};
  } else {
#if ATLED_MASK_REGISTERS
    if constexpr (N == 1) {
      return (m.bits & 1) != 0 ? a : b;
    } else if constexpr (std::same_as<T, f32> && N == 16) {
      return {_mm512_mask_mov_ps(b.r, m.bits, a.r)};
    } else if constexpr (std::same_as<T, f64> && N == 8) {
      return {_mm512_mask_mov_pd(b.r, static_cast<__mmask8>(m.bits), a.r)};
    } else {
      const auto x = detail::to_512(a);
      auto y = detail::to_512(b);
      if constexpr (sizeof(T) == 1) y = _mm512_mask_mov_epi8(y, m.bits, x);
      if constexpr (sizeof(T) == 4) y = _mm512_mask_mov_epi32(y, m.bits, x);
      if constexpr (sizeof(T) == 8) {
        y = _mm512_mask_mov_epi64(y, static_cast<__mmask8>(m.bits), x);
      }
      return detail::from_512<T, N>(y);
    }
#else
    using wide = detail::native<detail::int_like<T>, N>;
    if constexpr (N == 1) {
      return m.r != 0 ? a : b;
    } else if constexpr (sizeof(T) == 4) {
      return {m.r < 0 ? a.r : b.r};
    } else if constexpr (sizeof(T) == 8) {
      const auto twice = detail::shuffle(m.r, m.r, detail::lane_list<N, 0, 1, 2>{});
      return {__builtin_bit_cast(wide, twice) < 0 ? a.r : b.r};
    } else {
      return {__builtin_convertvector(m.r, wide) < 0 ? a.r : b.r};
    }
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> select(mask<N> m, mask<N> a, mask<N> b) noexcept {
  return (m & a) | ((!m) & b);
}

template <int N>
[[nodiscard]] ATLED_INLINE bool any(mask<N> m) noexcept {
  if constexpr (split<i32, N>) {
    return any(m.lo | m.hi);
  } else {
#if ATLED_MASK_REGISTERS
    return (m.bits & ((1U << N) - 1U)) != 0;
#else
    if constexpr (N == 1) {
      return m.r != 0;
    } else {
      return any(low(m) | high(m));
    }
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE bool all(mask<N> m) noexcept {
  return !any(!m);
}

}  // namespace atled::loops
