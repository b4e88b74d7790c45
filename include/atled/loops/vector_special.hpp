// atled/loops/vector_special.hpp: cbrt, erfc, erf_inv, and the gamma function's logarithm and its
// derivatives. Reads: loops/vector_math.hpp. Lane by lane where a test says so.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/vector_math.hpp"

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>

namespace atled::loops {

/// The cube root, within 2 ulp, also of negative numbers.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> cbrt(vec<T, N> x) noexcept {
  const auto size = abs(x);
  const auto third = splat<N>(T(1.0 / 3.0));
  const auto guess = exp(log(size) * third);
  const auto root = fma(size / (guess * guess) - guess, third, guess);  // Newton
  const auto has_guess = is_finite(x) & (size != splat<N>(T{0}));
  return select(has_guess, copysign(root, x), x);
}

/// 1 - erf(x), within 4 ulp (f64) and 1 ulp (f32), also where it is tiny.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> erfc(vec<T, N> x) noexcept {
  if constexpr (std::same_as<T, f32>) {
    return convert<f32>(erfc(convert<f64>(x)));
  } else {
    // Above 1/2 e^(-x^2) g(x) / (1 + 2 x) with g in powers of t = (x - k) / (x + k): interpolated
    // at Chebyshev's points in 200-bit arithmetic, relative error 6e-17.
    // Source: Shepherd and Laframboise, Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x, 1981.
    constexpr f64 k = 0x1.deeea11683f49p+1;
    const auto one = splat<N>(1.0);
    const auto far = detail::clamp(x, 0.5, 28.0);
    const auto t = (far - splat<N>(k)) / (far + splat<N>(k));
    const auto g = detail::polynomial(
        t, 0x1.3cd7dce206090p+0, -0x1.1f3a65c8c0d31p-3, 0x1.9d579cf77fdc0p-9, 0x1.53060851a6576p-4,
        -0x1.bea2bebebc12dp-4, 0x1.79b1876ce0401p-4, -0x1.de68dca9bba97p-5, 0x1.cbafad7b9dbaep-6,
        -0x1.38bb70434cbe7p-7, 0x1.b4d071aa585f2p-10, 0x1.49aba2f3a4396p-12, -0x1.2d650c7495b5bp-12,
        0x1.90ce2b6a78b8ep-15, 0x1.85afd0e21ebb6p-16, -0x1.7426a673144d7p-17,
        -0x1.3e98b8029e1cap-20, 0x1.ce71c9bfd005cp-20, -0x1.94b24b19b0d59p-27,
        -0x1.05174b4449611p-22, 0x1.513dd5125ec76p-27, 0x1.b68c3334b9c40p-26);
    // The square in two parts, by Dekker's splitting: the same with and without an fma.
    const auto spread = far * splat<N>(134217729.0);
    const auto head = spread - (spread - far);
    const auto tail = far - head;
    const auto square = far * far;
    const auto lost = ((head * head - square) + (head + head) * tail) + tail * tail;
    const auto factor = g / (one + far + far);
    const auto upper = exp(-square) * (factor - factor * lost);
    return select(x < splat<N>(0.5), one - erf(x), select(x == x, upper, x));
  }
}

namespace detail {

// erf_inv(x) = x p(t) with w = -log(1 - x^2), and t = w or sqrt(w) less a shift in each range of w.
// Few numbers lie outside of the first range (0.3 % of uniform ones in f32, 0.1 % in f64), so most
// packets of lanes need one polynomial only.
// Source: Giles, Approximating the Erfinv Function, GPU Computing Gems Jade Edition, 2011.
template <int N>
ATLED_INLINE vec<f32, N> erf_inv_factor(vec<f32, N> w) noexcept {
  const auto is_centre = w < splat<N>(5.0F);
  const auto centre = polynomial(w - splat<N>(2.5F), 1.50140941F, 0.246640727F, -0.00417768164F,
                                 -0.00125372503F, 0.00021858087F, -4.39150654e-06F, -3.5233877e-06F,
                                 3.43273939e-07F, 2.81022636e-08F);
  if (all(is_centre)) [[likely]]
    return centre;
  const auto tail = polynomial(sqrt(w) - splat<N>(3.0F), 2.83297682F, 1.00167406F, 0.00943887047F,
                               -0.0076224613F, 0.00573950773F, -0.00367342844F, 0.00134934322F,
                               0.000100950558F, -0.000200214257F);
  return select(is_centre, centre, tail);
}
template <int N>
ATLED_INLINE vec<f64, N> erf_inv_factor(vec<f64, N> w) noexcept {
  const auto is_centre = w < splat<N>(6.25);
  const auto centre =
      polynomial(w - splat<N>(3.125), 1.6536545626831027356, 0.24015818242558961693,
                 -0.0060336708714301490533, -0.00074070253416626697512, 0.0001867342080340571352,
                 -1.3882523362786468719e-05, -1.3654692000834678645e-06, 4.2347877827932403518e-07,
                 -2.9070369957882005086e-08, -4.1126339803469836976e-09, 1.051212273321532285e-09,
                 -5.4154120542946279317e-11, -1.2975133253453532498e-11, 2.6335093153082322977e-12,
                 -8.1519341976054721522e-14, -4.0545662729752068639e-14, 6.6376381343583238325e-15,
                 2.0972767875968561637e-17, -1.333171662854620906e-16, 1.115787767802518096e-17,
                 1.2858480715256400167e-18, -1.685059138182016589e-19, -3.6444120640178196996e-21);
  if (all(is_centre)) [[likely]]
    return centre;
  const auto root = sqrt(w);
  const auto tail =
      polynomial(root - splat<N>(3.25), 3.0838856104922207635, 1.0052589676941592334,
                 0.005370914553590063617, -0.0037512085075692412107, 0.0024914420961078508066,
                 -0.0016882755560235047313, 0.00095328937973738049703, -0.0003550375203628474796,
                 2.4031110387097893999e-05, 6.8284851459573175448e-05, -4.7318229009055733981e-05,
                 1.2475304481671778723e-05, 2.9234449089955446044e-06, -4.013867526981545969e-06,
                 1.5027403968909827627e-06, 1.8239629214389227755e-08, -2.7517406297064545428e-07,
                 9.0756561938885390979e-08, 2.2137376921775787049e-09);
  const auto end =
      polynomial(root - splat<N>(5.0), 4.8499064014085844221, 1.0103004648645343977,
                 -0.00013871931833623122026, -0.00021503011930044477347, 7.5995277030017761139e-05,
                 -1.9681778105531670567e-05, 4.5260625972231537039e-06, -9.9298272942317002539e-07,
                 2.2900482228026654717e-07, -6.7711997758452339498e-08, 2.9147953450901080826e-08,
                 -1.4960026627149240478e-08, 7.6157012080783393804e-09, -3.7894654401267369937e-09,
                 1.5076572693500548083e-09, -2.5556418169965252055e-10, -2.7109920616438573243e-11);
  return select(is_centre, centre, select(w < splat<N>(16.0), tail, end));
}

}  // namespace detail

/// The inverse of the error function, within 8 ulp; infinite at -1 and 1, NaN
/// outside.
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> erf_inv(vec<T, N> x) noexcept {
  // In f32 the square, as JAX has it: normal numbers are then the same. In f64 no digit is lost.
  const auto w = [x] {
    if constexpr (std::same_as<T, f32>) {
      return -log1p(-(x * x));
    } else {
      return -(log1p(x) + log1p(-x));
    }
  }();
  const auto y = x * detail::erf_inv_factor(w);
  const auto infinity = splat<N>(std::numeric_limits<T>::infinity());
  return select(abs(x) == splat<N>(T{1}), copysign(infinity, x), y);
}

namespace detail {

inline f64 log_gamma(f64 x) noexcept {
#if defined(__GLIBC__)
  int sign = 0;  // std::lgamma writes a global variable
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

constexpr f64 factorial(int n) {
  f64 out = 1;
  for (int i = 2; i <= n; ++i) out *= i;
  return out;
}

// The derivative of this order of pi cot(pi x), a polynomial in c = cot(pi x).
template <int Order>
f64 cotangent_derivative(f64 c) noexcept {
  constexpr std::size_t size = Order + 2;
  constexpr f64 pi = 3.141592653589793;
  f64 p[size] = {0, 1};
  for (int n = 0; n < Order; ++n) {  // dc/dx = -pi (1 + c^2)
    f64 q[size + 2] = {};
    for (int i = 1; i <= n + 1; ++i) {
      q[i - 1] -= pi * i * p[i];
      q[i + 1] -= pi * i * p[i];
    }
    for (int i = 0; i < Order + 2; ++i) p[i] = q[i];
  }
  f64 sum = 0;
  for (int i = Order + 1; i >= 0; --i) sum = sum * c + p[i];
  return pi * sum;
}

// The derivative of order Order + 1 of log(gamma(x)): by recurrence to where the asymptotic series
// is exact, by reflection from below 0. NaN at its poles, but infinite where both sides agree.
template <int Order>
f64 polygamma(f64 x) noexcept {
  constexpr f64 sign = Order % 2 == 0 ? -1 : 1;
  constexpr f64 nan = std::numeric_limits<f64>::quiet_NaN();
  constexpr f64 infinity = std::numeric_limits<f64>::infinity();
  if (x <= 0) {
    const f64 nearest = std::nearbyint(x);
    if (x == nearest) return Order % 2 == 0 ? nan : infinity;
    const f64 angle = 3.141592653589793 * (x - nearest);
    const f64 c = std::cos(angle) / std::sin(angle);
    return -sign * polygamma<Order>(1 - x) - cotangent_derivative<Order>(c);
  }
  // Bernoulli's numbers B_2, B_4 ...
  constexpr f64 bernoulli[10] = {1.0 / 6,       -1.0 / 30,      1.0 / 42, -1.0 / 30,
                                 5.0 / 66,      -691.0 / 2730,  7.0 / 6,  -3617.0 / 510,
                                 43867.0 / 798, -174611.0 / 330};
  f64 near = 0;  // Order! sum of 1 / (x + i)^(Order + 1)
  for (; x < 10 + 2 * Order; x += 1) {
    f64 power = x;
    for (int i = 0; i < Order; ++i) power *= x;
    near += factorial(Order) / power;
  }
  if (x == infinity) return Order == 0 ? infinity : 0;
  f64 scale = 1;  // x^Order
  for (int i = 0; i < Order; ++i) scale *= x;
  const f64 step = 1 / (x * x);
  f64 tail = 0;
  for (int k = 10; k >= 1; --k) {
    f64 factor = bernoulli[k - 1];  // B_2k (2k + Order - 1)! / (2k)!
    if (Order == 0) factor /= 2 * k;
    for (int i = 2 * k + 1; i <= 2 * k + Order - 1; ++i) factor *= i;
    tail = (tail + factor) * step;
  }
  if constexpr (Order == 0) {
    return std::log(x) - 0.5 / x - tail - near;
  } else {
    const f64 first = factorial(Order - 1) + factorial(Order) * 0.5 / x;
    return sign * ((first + tail) / scale + near);
  }
}

}  // namespace detail

/// The logarithm of |gamma(x)|, lane by lane; infinite at 0, -1, -2 ...
template <std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> lgamma(vec<T, N> x) noexcept {
  return per_lane([](T a) { return static_cast<T>(detail::log_gamma(static_cast<f64>(a))); }, x);
}
/// The derivative of order Order + 1 of lgamma, lane by lane; digamma for Order 0.
template <int Order, std::floating_point T, int N>
[[nodiscard]] ATLED_INLINE vec<T, N> polygamma(vec<T, N> x) noexcept {
  return per_lane([](T a) { return static_cast<T>(detail::polygamma<Order>(static_cast<f64>(a))); },
                  x);
}

}  // namespace atled::loops
