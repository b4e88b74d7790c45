// atled/loops/simd.hpp: the one file that touches SIMD: N lanes of a type, whatever the registers.
// Reads: core/dtype.hpp. Next: loops/vector_math.hpp (exp, log, tanh ...), loops/terms.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bf16.hpp"
#include "atled/core/config.hpp"
#include "atled/core/dtype.hpp"

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#if defined(__SSE2__)
#  include <immintrin.h>
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

// ---- types ---------------------------------------------------------------------------------

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
/// - T is f32, f64, i32, u32, i64 or u8. In registers bf16 is f32 and bool is `mask<N>`.
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

// ---- halves --------------------------------------------------------------------------------

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

// ---- making --------------------------------------------------------------------------------

namespace detail {

template <class T, int N, int... I>
ATLED_INLINE native<T, N> count_up(std::integer_sequence<int, I...>) noexcept {
  return native<T, N>{static_cast<T>(I)...};
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
  if constexpr (split<T, N>) {
    const auto half = iota<T, N / 2>();
    return {half, half + splat<N / 2>(static_cast<T>(N / 2))};
  } else if constexpr (N == 1) {
    return {T{0}};
  } else {
    return {detail::count_up<T, N>(std::make_integer_sequence<int, N>{})};
  }
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

// ---- arithmetic ----------------------------------------------------------------------------

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
  } else {
    return {detail::as<T, N>(-detail::wrapping<T, N>(a.r))};
  }
}

/// a / b. Integers round towards zero as in JAX: x / 0 is -1 (all bits set), and the smallest
/// integer by -1 is itself.
template <class T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> operator/(vec<T, N> a, vec<T, N> b) noexcept {
  if constexpr (std::integral<T>) {
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
  } else if constexpr (split<T, N>) {
    return {a.lo / b.lo, a.hi / b.hi};
  } else {
    return {a.r / b.r};
  }
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

// ---- bits ----------------------------------------------------------------------------------

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

// ---- comparing and choosing ----------------------------------------------------------------

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

// ---- loading and storing -------------------------------------------------------------------
// bf16 in memory is f32 in registers, a bool byte is a lane of a mask. No address needs alignment.

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
ATLED_INLINE const std::uint16_t* words(const bf16* p) noexcept {
  return &p->bits;
}
ATLED_INLINE std::uint16_t* words(bf16* p) noexcept {
  return &p->bits;
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

}  // namespace detail

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> load(const bool* p) noexcept {
  return load<N>(detail::bytes(p)) != splat<N>(u8{0});
}
template <int N>
[[nodiscard]] ATLED_INLINE vec<f32, N> load(const bf16* p) noexcept {
  return detail::widen_bf16(load<N>(detail::words(p)));
}

template <int N>
[[nodiscard]] ATLED_INLINE mask<N> load_partial(const bool* p, int count,
                                                bool fill = false) noexcept {
  return load_partial<N>(detail::bytes(p), count, static_cast<u8>(fill)) != splat<N>(u8{0});
}
template <int N>
[[nodiscard]] ATLED_INLINE vec<f32, N> load_partial(const bf16* p, int count,
                                                    bf16 fill = {}) noexcept {
  return detail::widen_bf16(load_partial<N>(detail::words(p), count, fill.bits));
}

template <int N>
ATLED_INLINE void store(bool* p, mask<N> m) noexcept {
  store(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})));
}
template <int N>
ATLED_INLINE void store(bf16* p, vec<f32, N> v) noexcept {
  store(detail::words(p), detail::round_to_bf16(v));
}

template <int N>
ATLED_INLINE void store_partial(bool* p, mask<N> m, int count) noexcept {
  store_partial(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})), count);
}
template <int N>
ATLED_INLINE void store_partial(bf16* p, vec<f32, N> v, int count) noexcept {
  store_partial(detail::words(p), detail::round_to_bf16(v), count);
}

template <int N>
ATLED_INLINE void store_stream(bool* p, mask<N> m) noexcept {
  store_stream(detail::bytes(p), select(m, splat<N>(u8{1}), splat<N>(u8{0})));
}
template <int N>
ATLED_INLINE void store_stream(bf16* p, vec<f32, N> v) noexcept {
  store_stream(detail::words(p), detail::round_to_bf16(v));
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

// ---- converting ----------------------------------------------------------------------------

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

}  // namespace detail

/// Each lane as a `U`.
///
/// - A float becomes the integer towards zero; outside the range the nearest end; a NaN 0 (JAX).
/// - An integer keeps its low bits. To bool: is it not 0. To bf16: rounded, and an f32 again.
template <class U, class T, int N>
[[nodiscard]] ATLED_INLINE auto convert(vec<T, N> v) noexcept {
  if constexpr (std::same_as<U, T>) {
    return v;
  } else if constexpr (std::same_as<U, bool>) {
    return v != splat<N>(T{0});
  } else if constexpr (std::same_as<U, bf16>) {
    return detail::widen_bf16(detail::round_to_bf16(convert<f32>(v)));
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
  } else if constexpr (std::same_as<U, bf16>) {
    return convert<f32>(m);
  } else {
    return select(m, splat<N>(U{1}), splat<N>(U{0}));
  }
}

// ---- elementwise ---------------------------------------------------------------------------

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

// ---- powers of two --------------------------------------------------------------------------

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

// ---- reducing ------------------------------------------------------------------------------
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

// ---- transposing ---------------------------------------------------------------------------
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

#undef ATLED_MASK_REGISTERS
