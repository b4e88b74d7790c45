// atled/loops/simd_memory.hpp: loads and stores: whole, partial, strided, gathered, streamed.
// Reads: loops/simd_convert.hpp. bf16 and f16 in memory are f32 in registers, a bool byte is a lane
// of a mask; no address needs alignment.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/dtype.hpp"
#include "atled/loops/simd_convert.hpp"

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace atled::loops {

/// N values from `p`.
template <int N, class T>
[[nodiscard]] ATLED_INLINE vec<T, N> load(const T* p) noexcept {
  if constexpr (split<T, N>) {
    return {load<N / 2>(p), load<N / 2>(p + N / 2)};
  } else {
    vec<T, N> v;
    std::memcpy(&v.r, p, sizeof(v.r));
    return v;
  }
}

/// The first `count` values from `p`, `fill` in the lanes behind; reads nothing more.
template <int N, class T>
[[nodiscard]] ATLED_INLINE vec<T, N> load_partial(const T* p, int count, T fill = T{}) noexcept {
  if constexpr (split<T, N>) {
    return {
        load_partial<N / 2>(p, count, fill),
        count > N / 2 ? load_partial<N / 2>(p + N / 2, count - N / 2, fill) : splat<N / 2>(fill)};
  } else {
#if ATLED_MASK_REGISTERS
    const auto bits = first_lanes<N>(count).bits;
    auto r = detail::to_512(splat<N>(fill));
    if constexpr (sizeof(T) == 1) r = _mm512_mask_loadu_epi8(r, bits, p);
    if constexpr (sizeof(T) == 2) r = _mm512_mask_loadu_epi16(r, bits, p);
    if constexpr (sizeof(T) == 4) r = _mm512_mask_loadu_epi32(r, bits, p);
    if constexpr (sizeof(T) == 8) {
      r = _mm512_mask_loadu_epi64(r, static_cast<__mmask8>(bits), p);
    }
    return detail::from_512<T, N>(r);
#else
    T buffer[static_cast<std::size_t>(N)];
    store(buffer, splat<N>(fill));
    for (int i = 0; i < N && i < count; ++i) buffer[i] = p[i];
    return load<N>(static_cast<const T*>(buffer));
#endif
  }
}

template <class T, int N>
ATLED_INLINE void store(T* p, vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    store(p, v.lo);
    store(p + N / 2, v.hi);
  } else {
    std::memcpy(p, &v.r, sizeof(v.r));
  }
}

/// Stores the first `count` lanes; writes nothing more.
template <class T, int N>
ATLED_INLINE void store_partial(T* p, vec<T, N> v, int count) noexcept {
  if constexpr (split<T, N>) {
    store_partial(p, v.lo, count);
    if (count > N / 2) store_partial(p + N / 2, v.hi, count - N / 2);
  } else {
#if ATLED_MASK_REGISTERS
    const auto bits = first_lanes<N>(count).bits;
    const auto r = detail::to_512(v);
    if constexpr (sizeof(T) == 1) _mm512_mask_storeu_epi8(p, bits, r);
    if constexpr (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, bits, r);
    if constexpr (sizeof(T) == 4) _mm512_mask_storeu_epi32(p, bits, r);
    if constexpr (sizeof(T) == 8) _mm512_mask_storeu_epi64(p, static_cast<__mmask8>(bits), r);
#else
    T buffer[static_cast<std::size_t>(N)];
    store(static_cast<T*>(buffer), v);
    for (int i = 0; i < N && i < count; ++i) p[i] = buffer[i];
#endif
  }
}

/// As `store`, past the caches, for output that is not read again soon. Pre: `p` is aligned to
/// the bytes of the register or of the whole vector, the smaller. Call `stream_fence` at the end.
template <class T, int N>
ATLED_INLINE void store_stream(T* p, vec<T, N> v) noexcept {
  if constexpr (split<T, N>) {
    store_stream(p, v.lo);
    store_stream(p + N / 2, v.hi);
  } else {
#if defined(__AVX512F__)
    if constexpr (sizeof(v.r) == 64) {
      return _mm512_stream_si512(reinterpret_cast<__m512i*>(p), __builtin_bit_cast(__m512i, v.r));
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(v.r) == 32) {
      return _mm256_stream_si256(reinterpret_cast<__m256i*>(p), __builtin_bit_cast(__m256i, v.r));
    }
#endif
#if defined(__SSE2__)
    if constexpr (sizeof(v.r) == 16) {
      return _mm_stream_si128(reinterpret_cast<__m128i*>(p), __builtin_bit_cast(__m128i, v.r));
    }
#endif
    store(p, v);
  }
}

/// Orders streamed stores before all later ones, as other threads see them.
ATLED_INLINE void stream_fence() noexcept {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

namespace detail {

// Bytes of truth values.
ATLED_INLINE const u8* bytes(const bool* p) noexcept {
  return reinterpret_cast<const u8*>(p);
}
ATLED_INLINE u8* bytes(bool* p) noexcept {
  return reinterpret_cast<u8*>(p);
}
template <half_float T>
ATLED_INLINE const std::uint16_t* words(const T* p) noexcept {
  return &p->bits;
}
template <half_float T>
ATLED_INLINE std::uint16_t* words(T* p) noexcept {
  return &p->bits;
}

}  // namespace detail

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> load(const bool* p) noexcept {
  return load<N>(detail::bytes(p)) != splat<N>(u8{0});
}
template <int N, half_float T>
[[nodiscard]] ATLED_INLINE vec<f32, N> load(const T* p) noexcept {
  return detail::widen<T>(load<N>(detail::words(p)));
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> load_partial(const bool* p, int count,
                                                bool fill = false) noexcept {
  return load_partial<N>(detail::bytes(p), count, static_cast<u8>(fill)) != splat<N>(u8{0});
}
template <int N, half_float T>
[[nodiscard]] ATLED_INLINE vec<f32, N> load_partial(const T* p, int count, T fill = {}) noexcept {
  return detail::widen<T>(load_partial<N>(detail::words(p), count, fill.bits));
}

template <int N>
ATLED_INLINE void store(bool* p, mask<N> m) noexcept {
  store(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})));
}
template <half_float T, int N>
ATLED_INLINE void store(T* p, vec<f32, N> v) noexcept {
  store(detail::words(p), detail::round_to<T>(v));
}

template <int N>
ATLED_INLINE void store_partial(bool* p, mask<N> m, int count) noexcept {
  store_partial(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})), count);
}
template <half_float T, int N>
ATLED_INLINE void store_partial(T* p, vec<f32, N> v, int count) noexcept {
  store_partial(detail::words(p), detail::round_to<T>(v), count);
}

template <int N>
ATLED_INLINE void store_stream(bool* p, mask<N> m) noexcept {
  store_stream(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})));
}
template <half_float T, int N>
ATLED_INLINE void store_stream(T* p, vec<f32, N> v) noexcept {
  store_stream(detail::words(p), detail::round_to<T>(v));
}

/// base[index], lane by lane for the first `count` lanes; the others read nothing and are 0.
/// Units: index in elements. Pre: the indices are in range.
template <class T, std::signed_integral Index, int N>
[[nodiscard]] ATLED_INLINE auto gather(const T* base, vec<Index, N> index, int count = N) noexcept {
  if constexpr (N > 1 && (split<Index, N> || split<T, N>)) {
    return join(gather(base, low(index), count), gather(base, high(index), count - N / 2));
  } else {
#if ATLED_MASK_REGISTERS
    constexpr bool four = sizeof(T) == 4 && sizeof(Index) == 4 && N == 16;
    constexpr bool eight = sizeof(T) == 8 && N == 8;
    if constexpr (four) {
      const auto at = __builtin_bit_cast(__m512i, index.r);
      const auto r = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), first_lanes<N>(count).bits,
                                                 at, base, 4);
      return detail::from_512<T, N>(r);
    } else if constexpr (eight) {
      const auto at = __builtin_bit_cast(__m512i, convert<i64>(index).r);
      const auto bits = static_cast<__mmask8>(first_lanes<N>(count).bits);
      const auto r = _mm512_mask_i64gather_epi64(_mm512_setzero_si512(), bits, at, base, 8);
      return detail::from_512<T, N>(r);
    } else
#endif
    {
      T buffer[static_cast<std::size_t>(N)] = {};
      Index at[static_cast<std::size_t>(N)];
      store(static_cast<Index*>(at), index);
      for (int i = 0; i < N && i < count; ++i) buffer[i] = base[at[i]];
      return load<N>(static_cast<const T*>(buffer));
    }
  }
}

/// p[0], p[stride], p[2 * stride] ... for the first `count` lanes; the others are 0.
/// Units: stride in elements, of any sign.
template <int N, class T>
[[nodiscard]] ATLED_INLINE auto load_strided(const T* p, std::int64_t stride,
                                             int count = N) noexcept {
  if constexpr (ATLED_MASK_REGISTERS != 0 && (sizeof(T) == 8)) {
    return gather(p, iota<i64, N>() * splat<N>(i64{stride}), count);
  } else {
    if constexpr (ATLED_MASK_REGISTERS != 0 && sizeof(T) == 4) {
      if (stride < (1 << 24) && stride > -(1 << 24)) {  // the offsets fit 32 bits
        return gather(p, iota<i32, N>() * splat<N>(static_cast<i32>(stride)), count);
      }
    }
    T buffer[static_cast<std::size_t>(N)] = {};
    for (int i = 0; i < N && i < count; ++i) buffer[i] = p[i * stride];
    return load<N>(static_cast<const T*>(buffer));
  }
}

/// Stores the first `count` lanes to p[0], p[stride], p[2 * stride] ...; `v` is a vec or a mask.
template <class T, class V>
ATLED_INLINE void store_strided(T* p, V v, std::int64_t stride, int count = V::lanes) noexcept {
  T buffer[static_cast<std::size_t>(V::lanes)];
  store(static_cast<T*>(buffer), v);
  for (int i = 0; i < V::lanes && i < count; ++i) p[i * stride] = buffer[i];
}

// ---- transposing -------------------------------------------------------------------------------
// Matrices are transposed (kernels/gemm_pack.hpp) in groups of 16 bytes: 4 f32, 2 f64.

/// Groups of 16 bytes from `p`, `p + stride`, `p + 2 * stride` ..., side by side.
template <int N, class T>
[[nodiscard]] ATLED_INLINE vec<T, N> load_groups(const T* p, std::ptrdiff_t stride) noexcept {
  constexpr int group = 16 / static_cast<int>(sizeof(T));
  if constexpr (N == group) {
    return load<N>(p);
  } else {
    const auto lo = load_groups<N / 2>(p, stride);
    const auto hi = load_groups<N / 2>(p + N / 2 / group * stride, stride);
    using native [[maybe_unused]] = detail::native<T, N>;
    // g++ 12 makes two-source permutes of a join; an insert from memory is half a step of a port.
#if defined(__AVX512F__)
    if constexpr (sizeof(lo.r) == 32) {
      return {std::bit_cast<native>(
          _mm512_maskz_insertf64x4(0xff, _mm512_castpd256_pd512(std::bit_cast<__m256d>(lo.r)),
                                   std::bit_cast<__m256d>(hi.r), 1))};
    }
#endif
#if defined(__AVX__)
    if constexpr (sizeof(lo.r) == 16) {
      return {std::bit_cast<native>(_mm256_insertf128_pd(
          _mm256_castpd128_pd256(std::bit_cast<__m128d>(lo.r)), std::bit_cast<__m128d>(hi.r), 1))};
    }
#endif
    return join(lo, hi);
  }
}

namespace detail {
// Of 2 N lanes the one that goes to `lane`, if each group of lanes is filled by the same pattern.
template <std::size_t N, std::size_t... Pattern>
consteval int group_source(std::size_t lane) noexcept {
  constexpr std::size_t group = sizeof...(Pattern);
  const std::size_t pattern[] = {Pattern...};
  const std::size_t from = pattern[lane % group], begin = lane / group * group;
  return static_cast<int>(from < group ? begin + from : N + begin + from - group);
}
template <std::size_t... Pattern, class T, int N, std::size_t... I>
ATLED_INLINE vec<T, N> shuffle_groups(vec<T, N> a, vec<T, N> b,
                                      std::index_sequence<I...>) noexcept {
  return {__builtin_shufflevector(a.r, b.r, group_source<std::size_t{N}, Pattern...>(I)...)};
}
}  // namespace detail

/// Group by group the lanes `Pattern`, counted through a group of `a` and on through one of `b`:
/// shuffle_groups<0, 4, 1, 5> makes a0 b0 a1 b1 of each 16 bytes of f32.
template <std::size_t... Pattern, class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> shuffle_groups(vec<T, N> a, vec<T, N> b) noexcept {
  static_assert(!split<T, N> && sizeof...(Pattern) * sizeof(T) == 16);
  return detail::shuffle_groups<Pattern...>(a, b, std::make_index_sequence<std::size_t{N}>{});
}

}  // namespace atled::loops
