// atled/loops/vector_trigonometry.hpp: sin, cos and tan on N lanes.
// Reads: loops/vector_math.hpp, whose method it shares: the argument is reduced by a multiple of
// pi / 2 held in several parts. Next: loops/vector_angle.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/vector_math.hpp"

#include <cmath>
#include <concepts>
#include <cstddef>

namespace atled::loops {

namespace detail {

// Beyond this size the quotient by pi / 2 has too many bits: the standard library takes over.
template <class T>
inline constexpr T angle_max = T{1 << 20};

// x = n pi / 2 + r + tail; the low bits of shifted hold n.
template <int N>
struct angle_parts {
  vec<f64, N> r, tail, shifted;
};
template <int N>
ATLED_INLINE angle_parts<N> reduce_angle(vec<f64, N> x) noexcept {
  // pi / 2 in 33, 33 and 53 bits: n has 20, so that the first two products are exact.
  const auto big = splat<N>(magic<f64>);
  const auto shifted = fma(x, splat<N>(0x1.45f306dc9c883p-1), big);
  const auto n = shifted - big;
  const auto a = fma(n, splat<N>(-0x1.921fb544p+0), x);
  const auto b = n * splat<N>(-0x1.0b4611a6p-34);
  const auto r = a + b;
  const auto part = r - a;
  const auto lost = (a - (r - part)) + (b - part);
  return {r, fma(n, splat<N>(-0x1.3198a2e037073p-69), lost), shifted};
}

// sin(r + tail) and cos(r + tail) for |r| <= pi / 4. Relative errors of the polynomials: 5.4e-12
// and 1.3e-13 where an f32 is wanted, else 9.3e-20 and 6.1e-20.
template <class For, int N>
ATLED_INLINE vec<f64, N> sin_small(vec<f64, N> r, vec<f64, N> tail) noexcept {
  const auto z = r * r;
  if constexpr (std::same_as<For, f32>) {
    const auto p = polynomial(z, -0x1.5555554c14bfdp-3, 0x1.11110826ed658p-7,
                              -0x1.a00f48ec8cadcp-13, 0x1.6cc50704f15c6p-19);
    return fma(r * z, p, r);
  } else {
    const auto p = polynomial(z, -0x1.5555555555555p-3, 0x1.111111111106ap-7,
                              -0x1.a01a019ffea5fp-13, 0x1.71de3a343c5bfp-19, -0x1.ae642d45b771fp-26,
                              0x1.610a736b011e4p-33, -0x1.a0634ca335c2bp-41);
    const auto slope = fma(z, splat<N>(-0.5), splat<N>(1.0));
    return r + fma(r * z, p, tail * slope);
  }
}
template <class For, int N>
ATLED_INLINE vec<f64, N> cos_small(vec<f64, N> r, vec<f64, N> tail) noexcept {
  const auto one = splat<N>(1.0);
  const auto z = r * r;
  if constexpr (std::same_as<For, f32>) {
    const auto p = polynomial(z, -0.5, 0x1.5555554e94e97p-5, -0x1.6c16b7e12ea99p-10,
                              0x1.a010af3a68d48p-16, -0x1.2414dcd3333b0p-22);
    return fma(z, p, one);
  } else {
    const auto p =
        polynomial(z, 0x1.555555555554ap-5, -0x1.6c16c16c14e00p-10, 0x1.a01a019c5c5f5p-16,
                   -0x1.27e4f7cd6f23ap-22, 0x1.1ee9c37635bcbp-29, -0x1.8f99f80cff066p-37);
    const auto half = splat<N>(0.5) * z;
    const auto y = one - half;
    return y + (((one - y) - half) + fma(z * z, p, -(r * tail)));
  }
}

// sin(x + quarter_turns pi / 2) for |x| <= angle_max, as exact as the type `For` shows.
template <class For, int N>
ATLED_INLINE vec<f64, N> sin_turned(vec<f64, N> x, i64 quarter_turns) noexcept {
  const auto parts = reduce_angle(x);
  const auto quadrant = reinterpret<i64>(parts.shifted) + splat<N>(quarter_turns);
  const auto odd = (quadrant & splat<N>(i64{1})) != splat<N>(i64{0});
  const auto s = sin_small<For>(parts.r, parts.tail);
  const auto c = cos_small<For>(parts.r, parts.tail);
  const auto sign = (quadrant & splat<N>(i64{2})) << 62;
  return reinterpret<f64>(reinterpret<i64>(select(odd, c, s)) ^ sign);
}

// f of the lanes that `where` names, one by one and out of line, `y` in the others.
template <class T>
[[gnu::noinline, gnu::cold]] void replace_lanes(T (*f)(T), const T* x, T* y, int count,
                                                const bool* where) {
  for (int i = 0; i < count; ++i) {
    if (where[i]) y[i] = f(x[i]);
  }
}
template <class T, int N>
ATLED_INLINE vec<T, N> where_lanes(mask<N> where, T (*f)(T), vec<T, N> x, vec<T, N> y) noexcept {
  if (!any(where)) [[likely]]
    return y;
  constexpr std::size_t count = N;
  T in[count];
  T out[count];
  bool chosen[count];
  store(static_cast<T*>(in), x);
  store(static_cast<T*>(out), y);
  store(static_cast<bool*>(chosen), where);
  replace_lanes<T>(f, in, out, N, chosen);
  return load<N>(static_cast<const T*>(out));
}

template <class T, int N>
ATLED_INLINE vec<T, N> sin_or_cos(vec<T, N> x, i64 quarter_turns, T (*otherwise)(T)) noexcept {
  const auto y = convert<T>(sin_turned<T>(convert<f64>(x), quarter_turns));
  return where_lanes(!(abs(x) <= splat<N>(angle_max<T>)), otherwise, x, y);
}

}  // namespace detail

/// The sine, within 1 ulp (f32), 1.5 ulp (f64). Units: radians.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> sin(vec<T, N> x) noexcept {
  const auto y = detail::sin_or_cos<T, N>(x, 0, [](T a) { return std::sin(a); });
  return select(x == splat<N>(T{0}), x, y);  // keeps -0
}

/// The cosine, within 1 ulp (f32), 1.5 ulp (f64). Units: radians.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> cos(vec<T, N> x) noexcept {
  return detail::sin_or_cos<T, N>(x, 1, [](T a) { return std::cos(a); });
}

/// The tangent, within 1.5 ulp (f32), 3 ulp (f64). Units: radians.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> tan(vec<T, N> x) noexcept {
  const auto wide = convert<f64>(x);
  const auto y = detail::sin_turned<T>(wide, 0) / detail::sin_turned<T>(wide, 1);
  const auto far = !(abs(x) <= splat<N>(detail::angle_max<T>));
  const auto all = detail::where_lanes<T, N>(
      far, [](T a) { return std::tan(a); }, x, convert<T>(y));
  return select(x == splat<N>(T{0}), x, all);
}

}  // namespace atled::loops
