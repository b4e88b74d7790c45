// atled/loops/vector_math.hpp: exp, log, tanh, erf, pow ... on N lanes, without branches.
// Reads: loops/simd.hpp. Errors in units of the last place (ulp) stand with each function.
// Next: loops/vector_trigonometry.hpp (sin and its kin), loops/vector_angle.hpp (atan2 and its
// kin), loops/vector_special.hpp (erfc, lgamma ...).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd.hpp"

#include <cmath>
#include <concepts>
#include <limits>

// Method: the argument is reduced by a multiple of ln 2 held in several parts (Cody and
// Waite, Software Manual for the Elementary Functions, 1980); a minimax polynomial covers the
// small remainder. The coefficients come from a weighted Remez exchange in 140-bit arithmetic that
// minimises the relative error of the function, rounded to T one by one from the lowest power on,
// the others fitted again each time.

namespace atled::loops {

namespace detail {

// c0 + c1 x + c2 x^2 ..., by Horner's rule.
template <class T, int N>
ATLED_INLINE vec<T, N> polynomial(vec<T, N>, T c0) noexcept {
  return splat<N>(c0);
}
template <class T, int N, class... Rest>
ATLED_INLINE vec<T, N> polynomial(vec<T, N> x, T c0, Rest... rest) noexcept {
  return fma(polynomial(x, rest...), x, splat<N>(c0));
}

// ln 2 = high + low; a whole number of 8 (f32) or 20 (f64) bits times high is exact.
template <class T>
inline constexpr T ln2_high = std::same_as<T, f32> ? T(0x1.62e4p-1) : T(0x1.62e42feep-1);
template <class T>
inline constexpr T ln2_low = std::same_as<T, f32> ? T(0x1.7f7d1cp-20) : T(0x1.a39ef35793c76p-33);
template <class T>
inline constexpr T log2_e = std::same_as<T, f32> ? T(0x1.715476p+0) : T(0x1.71547652b82fep+0);

// x = n ln 2 + r with |r| <= ln 2 / 2; shifted = n + magic.
template <class T, int N>
struct exp_parts {
  vec<T, N> n, r, shifted;
};
template <class T, int N>
ATLED_INLINE exp_parts<T, N> reduce_exp(vec<T, N> x) noexcept {
  const auto big = splat<N>(magic<T>);
  const auto shifted = fma(x, splat<N>(log2_e<T>), big);
  const auto n = shifted - big;
  const auto r = fma(n, splat<N>(-ln2_low<T>), fma(n, splat<N>(-ln2_high<T>), x));
  return {n, r, shifted};
}

// e^r for |r| <= ln 2 / 2. Relative error of the polynomial: 3.3e-9 (f32), 3.8e-18 (f64).
template <class T, int N>
ATLED_INLINE vec<T, N> exp_small(vec<T, N> r) noexcept {
  if constexpr (std::same_as<T, f32>) {
    return polynomial(r, 1.0F, 1.0F, 0x1.fffffcp-2F, 0x1.555492p-3F, 0x1.5558bep-5F, 0x1.1239ecp-7F,
                      0x1.6a4002p-10F);
  } else {
    return polynomial(r, 1.0, 1.0, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.5555555550671p-5,
                      0x1.11111111270e9p-7, 0x1.6c16c18497c01p-10, 0x1.a01a012d38119p-13,
                      0x1.a01998e0b8457p-16, 0x1.71df1f7089150p-19, 0x1.28ae8e8d9d2cbp-22,
                      0x1.ad89153208bf8p-26);
  }
}

// e^r - 1 for |r| <= ln 2 / 2. Relative error of the polynomial: 1.4e-8 (f32), 3.1e-19 (f64).
template <class T, int N>
ATLED_INLINE vec<T, N> expm1_small(vec<T, N> r) noexcept {
  const auto q = [r] {
    if constexpr (std::same_as<T, f32>) {
      return polynomial(r, 0x1.fffffep-2F, 0x1.5554b2p-3F, 0x1.5556eep-5F, 0x1.1226e4p-7F,
                        0x1.6ba23cp-10F);
    } else {
      return polynomial(r, 0.5, 0x1.5555555555559p-3, 0x1.5555555555557p-5, 0x1.111111110f73ep-7,
                        0x1.6c16c16c17b3bp-10, 0x1.a01a01af8cd87p-13, 0x1.a01a0197dc1e8p-16,
                        0x1.71ddf9444c6acp-19, 0x1.27e5065acfec2p-22, 0x1.af5d266a32b5ap-26,
                        0x1.1f24fa5530031p-29);
    }
  }();
  return fma(r * r, q, r);
}

// v within [low, high]; a NaN stays.
template <class T, int N>
ATLED_INLINE vec<T, N> clamp(vec<T, N> v, T low, T high) noexcept {
  return pick<true>(splat<N>(low), pick<false>(splat<N>(high), v));
}

// Arguments beyond which exp is 0 or infinite.
template <class T>
inline constexpr T exp_min = std::same_as<T, f32> ? T{-104} : T{-746};
template <class T>
inline constexpr T exp_max = std::same_as<T, f32> ? T{89} : T{710};

}  // namespace detail

/// e^x, within 1 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> exp(vec<T, N> x) noexcept {
  // A lane that would underflow to 0 computes e^0: a processor takes a hundred cycles to get there,
  // and -inf is what a mask puts in half of all scores.
  const auto zero = splat<N>(T{0});
  const auto vanishes = x < splat<N>(detail::exp_min<T>);
  const auto safe = select(vanishes, zero, detail::pick<false>(splat<N>(detail::exp_max<T>), x));
  const auto parts = detail::reduce_exp(safe);
  return select(vanishes, zero, scale_pow2(detail::exp_small(parts.r), parts.n));
}

/// e^x - 1, within 2 ulp; its relative error is small near 0 too.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> expm1(vec<T, N> x) noexcept {
  constexpr T min = std::same_as<T, f32> ? T{-18} : T{-40};
  constexpr T max_exponent = std::numeric_limits<T>::max_exponent;
  const auto parts = detail::reduce_exp(detail::clamp(x, min, detail::exp_max<T>));
  const auto p = detail::expm1_small(parts.r);
  // 2^n p + (2^n - 1). The largest n is beyond the exponents of T: half of it, doubled at the end.
  const auto one = splat<N>(T{1});
  const auto top = parts.n == splat<N>(max_exponent);
  const auto power = detail::pow2_of(select(top, parts.shifted - one, parts.shifted));
  const auto y = fma(power, p, power - select(top, splat<N>(T{0.5}), one));
  return copysign(select(top, y + y, y), x);
}

/// The logarithm to base e, within 1 ulp. 0 gives -inf, negative numbers NaN.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> log(vec<T, N> x) noexcept;

namespace detail {

// k ln 2 + log(1 + f) for f in [-0.25, 0.5]; the polynomials' relative error: 5e-9, 1.4e-19.
template <class T, int N>
ATLED_INLINE vec<T, N> log_of_parts(vec<T, N> k, vec<T, N> f) noexcept {
  const auto high = splat<N>(ln2_high<T>);
  const auto low = splat<N>(ln2_low<T>);
  if constexpr (std::same_as<T, f32>) {
    const auto p = polynomial(f, 0x1.5555a4p-2F, -0x1.00004ap-2F, 0x1.996974p-3F, -0x1.54ec7cp-3F,
                              0x1.28809cp-3F, -0x1.0da8a6p-3F, 0x1.ad4368p-4F, -0x1.725894p-5F);
    const auto square = f * f;
    const auto tail = fma(square, fma(f, p, splat<N>(T{-0.5})), k * low);
    return fma(k, high, f + tail);
  } else {
    // log(1 + f) = 2 atanh(s) = f - s (f - R) with s = f / (2 + f), R in powers of s^2.
    const auto s = quotient(f, splat<N>(T{2}) + f);
    const auto z = s * s;
    const auto p = polynomial(z, 0x1.555555555554fp-1, 0x1.999999999c187p-2, 0x1.24924921e32e7p-2,
                              0x1.c71c7490db5afp-3, 0x1.745c4a95981b2p-3, 0x1.3b35c9fdc1541p-3,
                              0x1.0dcaf85954076p-3, 0x1.1b85c9c6a98b8p-3);
    const auto half_square = splat<N>(T{0.5}) * f * f;
    const auto tail = fma(s, fma(z, p, half_square), k * low) - half_square;
    return fma(k, high, f + tail);
  }
}

}  // namespace detail

template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> log(vec<T, N> x) noexcept {
  const auto parts = split_pow2(x + splat<N>(T{0}));  // -0 + 0 = 0
  return detail::log_of_parts(parts.e, parts.m - splat<N>(T{1}));
}

/// log(1 + x), within 1 ulp; its relative error is small near 0 too.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> log1p(vec<T, N> x) noexcept {
  const auto one = splat<N>(T{1});
  const auto sum = one + x;
  const auto lost = x - (sum - one);  // what rounding the sum dropped, exact where it matters
  const auto parts = split_pow2(sum);
  const auto f = (parts.m - one) + scale_pow2(lost, -parts.e);
  const auto y = copysign(detail::log_of_parts(parts.e, f), x);
  // 0 and infinity have infinite exponents; below -1 the mantissa is NaN.
  return select(is_inf(parts.e), parts.e + (parts.m - one), y);
}

/// The hyperbolic tangent, within 1.5 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> tanh(vec<T, N> x) noexcept {
  constexpr bool single = std::same_as<T, f32>;
  const auto size = abs(x);
  // Below 0.5625 x + x^3 P(x^2); relative errors 1.4e-9, 9.9e-19.
  const auto z = x * x;
  const auto p = [z] {
    if constexpr (single) {
      return detail::polynomial(z, -0x1.555548p-2F, 0x1.110c5ep-3F, -0x1.b90626p-5F, 0x1.58189ap-6F,
                                -0x1.948c1ep-8F);
    } else {
      return detail::polynomial(z, -0x1.555555555554bp-2, 0x1.1111111110246p-3,
                                -0x1.ba1ba1b92fa48p-5, 0x1.664f4847f6d10p-6, -0x1.226e2cd62bdc4p-7,
                                0x1.d6d240bb0c88dp-9, -0x1.7d8b3f6586e81p-10, 0x1.345df33aafd6dp-11,
                                -0x1.e7ef6ef6ff01cp-13, 0x1.5926438acacd6p-14,
                                -0x1.3c70233e08532p-16);
    }
  }();
  const auto near = fma(x * z, p, x);
  // Else 1 - 2 / (e^2|x| + 1), which is 1 from 10 (f32) or 20 on.
  const auto half = detail::pick<false>(splat<N>(single ? T{10} : T{20}), size);
  const auto parts = detail::reduce_exp(half + half);
  const auto sum = fma(detail::pow2_of(parts.shifted), detail::exp_small(parts.r), splat<N>(T{1}));
  const auto far = splat<N>(T{1}) - quotient(splat<N>(T{2}), sum);
  return copysign(select(size < splat<N>(T{0.5625}), near, far), x);
}

/// 1 / (1 + e^-x), within 2 ulp, also where it is tiny. For x and -x the exponential and the
/// reciprocal are the same, which compilers see.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> logistic(vec<T, N> x) noexcept {
  const auto one = splat<N>(T{1});
  const auto e = exp(minus_abs(x));
  const auto sum = one + e;
  const auto y = quotient(select(x < splat<N>(T{0}), e, one), sum);
  return fma(y, (sum - one) - e, y);  // what rounding the sum added, taken out to first order
}

/// log(1 + e^x) without overflow, within 2 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> softplus(vec<T, N> x) noexcept {
  return max(x, splat<N>(T{0})) + log1p(exp(minus_abs(x)));
}

/// log(logistic(x)) = -softplus(-x).
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> log_sigmoid(vec<T, N> x) noexcept {
  return -softplus(-x);
}

/// The hyperbolic sine, within 2 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> sinh(vec<T, N> x) noexcept {
  const auto size = abs(x);
  const auto one = splat<N>(T{1});
  // Below 1 x + x^3 P(x^2); relative errors 3e-10, 1.1e-19.
  const auto z = x * x;
  const auto p = [z] {
    if constexpr (std::same_as<T, f32>) {
      return detail::polynomial(z, 0x1.555556p-3F, 0x1.1110e0p-7F, 0x1.a022bcp-13F,
                                0x1.756c1ep-19F);
    } else {
      return detail::polynomial(z, 0x1.5555555555555p-3, 0x1.111111111119bp-7,
                                0x1.a01a01a00735bp-13, 0x1.71de3a68d035fp-19, 0x1.ae6441228b488p-26,
                                0x1.61314d6095a7bp-33, 0x1.a665474a09f03p-41,
                                0x1.d29ee5870b950p-48);
    }
  }();
  const auto small = fma(x * z, p, x);
  const auto parts = detail::reduce_exp(detail::clamp(size, T{0}, detail::exp_max<T> + 1));
  const auto half_exp = scale_pow2(detail::exp_small(parts.r), parts.n - one);
  const auto large = half_exp - splat<N>(T{0.25}) / half_exp;
  return select(size < one, small, copysign(large, x));
}

/// The hyperbolic cosine, within 2 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> cosh(vec<T, N> x) noexcept {
  const auto parts = detail::reduce_exp(detail::clamp(abs(x), T{0}, detail::exp_max<T> + 1));
  const auto half_exp = scale_pow2(detail::exp_small(parts.r), parts.n - splat<N>(T{1}));
  return half_exp + splat<N>(T{0.25}) / half_exp;
}

/// The error function, within 1.5 ulp.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> erf(vec<T, N> x) noexcept {
  // Below a bound near 1 x + x P(x^2), else 1 - e^-Q(|x|).
  constexpr bool single = std::same_as<T, f32>;
  const auto z = x * x;
  const auto size = abs(x);
  const auto p = [z] {  // relative errors 1.5e-8, 1.1e-17
    if constexpr (single) {
      return detail::polynomial(z, 0x1.06eba6p-3F, -0x1.8126eap-2F, 0x1.ce1b0ep-4F, -0x1.b69390p-6F,
                                0x1.476886p-8F, -0x1.3ac5bcp-11F);
    } else {
      return detail::polynomial(z, 0x1.06eba8214db69p-3, -0x1.812746b037a25p-2,
                                0x1.ce2f21a0458d9p-4, -0x1.b82ce31354dd0p-6, 0x1.565bcd2c66e23p-8,
                                -0x1.c02db93422e43p-11, 0x1.f9a3b97b194e5p-14,
                                -0x1.f4dcf5188fa68p-17, 0x1.ba694e7a82cd7p-20,
                                -0x1.639303b9ee66cp-23, 0x1.132e748da9dddp-26,
                                -0x1.c519dfae4926ap-30, 0x1.3c306e2ddc417p-33);
    }
  }();
  const auto capped = detail::pick<false>(splat<N>(single ? T{4} : T{6}), size);
  const auto q = [capped] {  // -log(1 - erf), relative errors of erf 1.6e-9, 1.3e-18
    if constexpr (single) {
      return detail::polynomial(capped, 0x1.9a5ccap-13F, 0x1.20af5ap+0F, 0x1.463cbcp-1F,
                                0x1.a9b46ep-4F, -0x1.6c2b56p-6F, 0x1.8ee458p-9F, -0x1.9af072p-13F);
    } else {
      return detail::polynomial(
          capped, 0x1.81c551778cfd2p-23, 0x1.20dd562df5456p+0, 0x1.45f42b5e6fd75p-1,
          0x1.a4da4cd2cb05bp-4, -0x1.38938f9d93462p-6, -0x1.261f6713e7031p-12,
          0x1.cfbc4a2e6dc27p-10, -0x1.5029ee6533702p-11, 0x1.780cefaddd70cp-15,
          0x1.271fcbd3d8ed0p-14, -0x1.79c991cac4e80p-15, 0x1.150c552a3eab7p-16,
          -0x1.225f3777007cap-18, 0x1.c8a13c805e5d8p-21, -0x1.0deff3a307e61p-23,
          0x1.d430023a53ce0p-27, -0x1.19ed933eb68fap-30, 0x1.a5d73bfa9f39cp-35,
          -0x1.276cbc50c5397p-40);
    }
  }();
  const auto near = fma(x, p, x);
  const auto parts = detail::reduce_exp(-q);
  const auto power = detail::pow2_of(parts.shifted);
  const auto far = fma(-power, detail::exp_small(parts.r), splat<N>(T{1}));
  return select(size < splat<N>(single ? T(0.92F) : T{1}), near, copysign(far, x));
}

/// x^y of integers by squaring, wrapping around; a negative power is the whole part of the
/// fraction: 0, but 1 of 1 and 1 or -1 of -1.
template <std::integral T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> integer_power(vec<T, N> x, vec<T, N> y) noexcept {
  const auto zero = splat<N>(T{0});
  const auto one = splat<N>(T{1});
  const auto is_odd = (y & one) == one;
  auto out = one;
  auto base = x;
  for (auto rest = y; any(rest > zero); rest = rest >> 1, base = base * base) {
    out = select((rest > zero) & ((rest & one) == one), out * base, out);
  }
  if constexpr (std::signed_integral<T>) {
    const auto of_minus_one = select(is_odd, -one, one);
    const auto fraction = select(x == one, one, select(x == -one, of_minus_one, zero));
    return select(y < zero, fraction, out);
  } else {
    return out;
  }
}

/// x^y as IEEE pow: pow(x, 0) = 1 and pow(1, y) = 1, also where the other is NaN.
/// f32 within 1 ulp, through f64; f64 lane by lane.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> pow(vec<T, N> x, vec<T, N> y) noexcept {
  if constexpr (std::same_as<T, f32>) {
    const auto zero = splat<N>(0.0F);
    const auto one = splat<N>(1.0F);
    const auto size = abs(x);
    const auto infinite = is_inf(y);
    // log 1 is 0, also to an infinite power.
    const auto power = select(infinite & (size == one), one, y);
    const auto size_to_y = convert<f32>(exp(convert<f64>(power) * log(convert<f64>(size))));
    const auto whole = trunc(y) == y;
    const auto half = y * splat<N>(0.5F);
    const auto odd = whole & (trunc(half) != half);
    const auto no_number = (x < zero) & is_finite(x) & !whole;
    const auto signed_power = select(odd, copysign(size_to_y, x), size_to_y);
    const auto value =
        select(no_number, splat<N>(std::numeric_limits<f32>::quiet_NaN()), signed_power);
    return select((y == zero) | (x == one), one, value);
  } else {
    return per_lane([](T a, T b) { return std::pow(a, b); }, x, y);
  }
}

}  // namespace atled::loops
