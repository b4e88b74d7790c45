// atled/loops/simd_vec.hpp: N lanes of a type in registers, and the masks that go with them.
// Reads: core/dtype.hpp. Next: loops/simd_mask.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/config.hpp"
#include "atled/core/dtype.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__AVX__)
#  include <immintrin.h>
#elif defined(__SSE2__)
#  include <emmintrin.h>  // all of immintrin.h would take 0.4 s and 80 MB
#endif

// Compares write mask registers; all widths and lane sizes have them.
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#  define ATLED_MASK_REGISTERS 1
#else
#  define ATLED_MASK_REGISTERS 0
#endif

namespace atled::loops {

/// Bytes of the widest vector register that the compiler may use.
#if defined(__AVX512F__)
inline constexpr int simd_bytes = 64;
#elif defined(__AVX__)
inline constexpr int simd_bytes = 32;
#else
inline constexpr int simd_bytes = 16;
#endif

/// Lanes of `T` that fill one register.
template <class T>
inline constexpr int native_lanes = simd_bytes / static_cast<int>(sizeof(T));

namespace detail {

// A leaf holds one register; more lanes are two halves, so that all unrolls without a loop. Types
// below 4 bytes have as many lanes in a leaf as i32: then a leaf never needs more than one mask.
template <class T>
inline constexpr int leaf_lanes = sizeof(T) < 4 ? native_lanes<i32> : native_lanes<T>;

template <class T, int N>
struct native_of {
  typedef T type __attribute__((vector_size(N * sizeof(T))));  // `using` drops it in g++
};
template <class T>
struct native_of<T, 1> {
  using type = T;
};
template <class T, int N>
using native = typename native_of<T, N>::type;

template <std::size_t Bytes>
struct int_of;
template <>
struct int_of<1> {
  using type = std::int8_t;
};
template <>
struct int_of<2> {
  using type = std::int16_t;
};
template <>
struct int_of<4> {
  using type = std::int32_t;
};
template <>
struct int_of<8> {
  using type = std::int64_t;
};
// The signed integer as wide as `T`.
template <class T>
using int_like = typename int_of<sizeof(T)>::type;

}  // namespace detail

/// `N` lanes of `T` do not fit one register.
template <class T, int N>
concept split = (N > detail::leaf_lanes<T>);

/// `N` lanes of `T`: a register, or two halves.
///
/// - N is a power of two; 1 is a plain scalar. The same N serves all types of one loop.
/// - T is f32, f64, i32, u32, i64 or u8. In registers bf16 and f16 are f32 and bool is `mask<N>`.
/// - Integers wrap around; nothing here traps.
template <class T, int N>
struct vec {
  static_assert(std::has_single_bit(static_cast<unsigned>(N)), "vec: N is a power of two");
  using value_type = T;
  static constexpr int lanes = N;
  detail::native<T, N> r;
};
template <class T, int N>
  requires split<T, N>
struct vec<T, N> {
  static_assert(std::has_single_bit(static_cast<unsigned>(N)), "vec: N is a power of two");
  using value_type = T;
  static constexpr int lanes = N;
  vec<T, N / 2> lo, hi;
};

/// `N` truth values: bits of a mask register (AVX-512), else 0 or -1 in i32 lanes.
template <int N>
struct mask {
  static constexpr int lanes = N;
#if ATLED_MASK_REGISTERS
  std::uint16_t bits;  // bits from N on have no meaning
#else
  detail::native<i32, N> r;
#endif
};
template <int N>
  requires split<i32, N>
struct mask<N> {
  static constexpr int lanes = N;
  mask<N / 2> lo, hi;
};

// ---- halves ------------------------------------------------------------------------------------

namespace detail {

template <int... Lane, class R>
ATLED_INLINE auto shuffle(R a, R b, std::integer_sequence<int, Lane...>) noexcept {
  return __builtin_shufflevector(a, b, Lane...);
}

template <int Begin, int Step, int Repeat, int... I>
auto make_lanes(std::integer_sequence<int, I...>)
    -> std::integer_sequence<int, (Begin + Step * (I / Repeat))...>;
// Begin, Begin + Step, ...: `Count` lanes, each `Repeat` times.
template <int Count, int Begin = 0, int Step = 1, int Repeat = 1>
using lane_list =
    decltype(make_lanes<Begin, Step, Repeat>(std::make_integer_sequence<int, Count * Repeat>{}));

}  // namespace detail

/// Lanes 0 to N/2 - 1.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N / 2> low(vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    return v.lo;
  } else if constexpr (N == 2) {
    return {v.r[0]};
  } else {
    return {detail::shuffle(v.r, v.r, detail::lane_list<N / 2>{})};
  }
}

/// Lanes N/2 to N - 1.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N / 2> high(vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    return v.hi;
  } else if constexpr (N == 2) {
    return {v.r[1]};
  } else {
    return {detail::shuffle(v.r, v.r, detail::lane_list<N / 2, N / 2>{})};
  }
}

/// The lanes of `lo`, then those of `hi`.
template <class T, int M>
[[nodiscard]] ATLED_INLINE vec<T, 2 * M> join(vec<T, M> lo, vec<T, M> hi) noexcept {
  if constexpr (split<T, 2 * M>) {
    return {lo, hi};
  } else if constexpr (M == 1) {
    return {detail::native<T, 2>{lo.r, hi.r}};
  } else {
    return {detail::shuffle(lo.r, hi.r, detail::lane_list<2 * M>{})};
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N / 2> low(mask<N> m) noexcept {
  if constexpr (split<i32, N>) {
    return m.lo;
  } else {
#if ATLED_MASK_REGISTERS
    return {m.bits};
#else
    return {low(vec<i32, N>{m.r}).r};
#endif
  }
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N / 2> high(mask<N> m) noexcept {
  if constexpr (split<i32, N>) {
    return m.hi;
  } else {
#if ATLED_MASK_REGISTERS
    return {_kshiftri_mask16(m.bits, N / 2)};
#else
    return {high(vec<i32, N>{m.r}).r};
#endif
  }
}

template <int M>
[[nodiscard]] ATLED_INLINE mask<2 * M> join(mask<M> lo, mask<M> hi) noexcept {
  if constexpr (split<i32, 2 * M>) {
    return {lo, hi};
  } else {
#if ATLED_MASK_REGISTERS
    if constexpr (M == 8) {
      return {static_cast<std::uint16_t>(_mm512_kunpackb(hi.bits, lo.bits))};
    } else {
      const unsigned low_bits = lo.bits & ((1U << M) - 1U);
      return {static_cast<std::uint16_t>(low_bits | (static_cast<unsigned>(hi.bits) << M))};
    }
#else
    return {join(vec<i32, M>{lo.r}, vec<i32, M>{hi.r}).r};
#endif
  }
}

// ---- making ------------------------------------------------------------------------------------

namespace detail {

template <class T, int N, int... I>
ATLED_INLINE native<T, N> lanes_of(std::integer_sequence<int, I...>) noexcept {
  return native<T, N>{static_cast<T>(I)...};
}
template <class T, int N, int Begin>
ATLED_INLINE vec<T, N> count_from() noexcept {
  if constexpr (split<T, N>) {
    return {count_from<T, N / 2, Begin>(), count_from<T, N / 2, Begin + N / 2>()};
  } else {
    return {lanes_of<T, N>(lane_list<N, Begin>{})};
  }
}

#if ATLED_MASK_REGISTERS
// A leaf in the low part of 64 bytes, for instructions used in one width only; the rest has no
// meaning.
template <class T, int N>
ATLED_INLINE __m512i to_512(vec<T, N> v) noexcept {
  if constexpr (sizeof(v.r) == 64) {
    return __builtin_bit_cast(__m512i, v.r);
  } else if constexpr (sizeof(v.r) == 32) {
    return _mm512_castsi256_si512(__builtin_bit_cast(__m256i, v.r));
  } else if constexpr (sizeof(v.r) == 16) {
    return _mm512_castsi128_si512(__builtin_bit_cast(__m128i, v.r));
  } else {
    return to_512(join(v, v));
  }
}
template <class T, int N>
ATLED_INLINE vec<T, N> from_512(__m512i r) noexcept {
  const vec<i64, 8> whole{__builtin_bit_cast(native<i64, 8>, r)};
  if constexpr (sizeof(T) * N == 64) {
    return {__builtin_bit_cast(native<T, N>, r)};
  } else if constexpr (sizeof(T) * N == 32) {
    return {__builtin_bit_cast(native<T, N>, low(whole).r)};
  } else if constexpr (sizeof(T) * N == 16) {
    return {__builtin_bit_cast(native<T, N>, low(low(whole)).r)};
  } else {
    return low(from_512<T, 2 * N>(r));
  }
}
#endif

}  // namespace detail

/// `x` in each lane.
template <int N, class T>
[[nodiscard]] ATLED_INLINE vec<T, N> splat(T x) noexcept {
  if constexpr (split<T, N>) {
    return {splat<N / 2>(x), splat<N / 2>(x)};
  } else if constexpr (N == 1) {
    return {x};
  } else {
    return {x - detail::native<T, N>{}};  // x - 0, not x + 0: keeps -0
  }
}

/// 0, 1, 2 ... N - 1.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> iota() noexcept {
  return detail::count_from<T, N, 0>();
}

/// The bits of each lane as a `U` of the same size.
template <class U, class T, int N>
[[nodiscard]] ATLED_INLINE vec<U, N> reinterpret(vec<T, N> v) noexcept {
  static_assert(sizeof(U) == sizeof(T), "reinterpret: the lanes have one size");
  if constexpr (split<T, N>) {
    return {reinterpret<U>(v.lo), reinterpret<U>(v.hi)};
  } else {
    return {__builtin_bit_cast(detail::native<U, N>, v.r)};
  }
}

/// f(a lane of v, the same lane of w ...) for each lane: what has no vector form.
template <class F, class T, int N, class... Vec>
[[nodiscard]] ATLED_INLINE vec<T, N> per_lane(F f, vec<T, N> v, Vec... w) noexcept {
  if constexpr (N == 1) {
    return {f(v.r, w.r...)};
  } else {
    return join(per_lane(f, low(v), low(w)...), per_lane(f, high(v), high(w)...));
  }
}

}  // namespace atled::loops
