// atled/loops/vector_angle.hpp: the angles of points: atan2, and atan, asin, acos from it.
// Reads: loops/vector_math.hpp. f32 is computed in f64 and so within 0.51 ulp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/vector_math.hpp"

#include <concepts>

namespace atled::loops {

namespace detail {

// atan(s) for |s| <= tan(pi / 8). Relative error of the polynomial: 3e-18.
template <int N>
ATLED_INLINE vec<f64, N> atan_small(vec<f64, N> s) noexcept {
  const auto z = s * s;
  const auto p = polynomial(z, -0x1.5555555555555p-2, 0x1.9999999999953p-3, -0x1.249249248d7eep-3,
                            0x1.c71c71c304b68p-4, -0x1.745d165df3f95p-4, 0x1.3b1392d9e785cp-4,
                            -0x1.110e880a7a521p-4, 0x1.e19a13b9fc6dfp-5, -0x1.ac7a938b69c93p-5,
                            0x1.74ddd408bb4c1p-5, -0x1.1b33b923aa954p-5, 0x1.0ad36a455cafbp-6);
  return fma(s * z, p, s);
}

// The angle of (x, y) in f64. The quotient of the sides, at most 1, is measured from 0 or from
// pi / 4; the octant then adds a multiple of pi / 2, all in two parts.
template <int N>
ATLED_INLINE vec<f64, N> angle_of(vec<f64, N> y, vec<f64, N> x) noexcept {
  const auto zero = splat<N>(0.0);
  const auto one = splat<N>(1.0);
  const auto width = abs(x);
  const auto height = abs(y);
  const auto is_steep = height > width;
  auto low = select(is_steep, width, height);
  auto high = select(is_steep, height, width);
  // Sides that are infinite both, or zero both, are those of a square and of a line.
  const auto both = is_inf(low) & is_inf(high);
  low = select(both, one, low);
  high = select(both | (high == zero), one, high);
  const auto scale = select(high > splat<N>(0x1p+1000), splat<N>(0x1p-8), one);  // for the sum
  low = low * scale;
  high = high * scale;
  const auto is_far = low > splat<N>(0x1.a827999fcef32p-2) * high;  // tan(pi / 8)
  const auto upper = select(is_far, low - high, low);
  const auto lower = select(is_far, low + high, high);
  const auto angle = atan_small(upper / lower);

  // In multiples of pi / 4: +angle, 1 + angle; 2 - angle, 1 - angle where it is steep; then 4 - all
  // of that to the left.
  const auto is_left = (reinterpret<i64>(x) >> 63) != splat<N>(i64{0});
  const auto turns =
      select(is_steep, select(is_far, one, splat<N>(2.0)), select(is_far, one, zero));
  const auto turned = select(is_steep, -angle, angle);
  const auto quarters = select(is_left, splat<N>(4.0) - turns, turns);
  const auto rest = select(is_left, -turned, turned);
  const auto total = fma(quarters, splat<N>(0x1.921fb54442d18p-1),
                         fma(quarters, splat<N>(0x1.1a62633145c07p-55), rest));
  const auto is_number = (x == x) & (y == y);
  return select(is_number, copysign(total, y), x + y);
}

}  // namespace detail

/// The angle of the point (x, y), within 2 ulp; the sign of zeros counts. Units: radians.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> atan2(vec<T, N> y, vec<T, N> x) noexcept {
  return convert<T>(detail::angle_of(convert<f64>(y), convert<f64>(x)));
}
/// The inverse tangent, within 2 ulp. Units: radians, from -pi / 2 to pi / 2.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> atan(vec<T, N> x) noexcept {
  return atan2(x, splat<N>(T{1}));
}
/// The inverse sine, within 2.5 ulp; NaN outside [-1, 1]. Units: radians, from -pi / 2 to pi / 2.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> asin(vec<T, N> x) noexcept {
  const auto wide = convert<f64>(x);
  const auto one = splat<N>(1.0);
  return convert<T>(detail::angle_of(wide, sqrt((one - wide) * (one + wide))));
}
/// The inverse cosine, within 2.5 ulp; NaN outside [-1, 1]. Units: radians, from 0 to pi.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> acos(vec<T, N> x) noexcept {
  const auto wide = convert<f64>(x);
  const auto one = splat<N>(1.0);
  return convert<T>(detail::angle_of(sqrt((one - wide) * (one + wide)), wide));
}

}  // namespace atled::loops
