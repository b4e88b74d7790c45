// tests/unit/loops/samples.hpp: a function of lanes against the standard library in the next wider
// type, over dense samples of all floats. Reads: loops/simd.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd.hpp"

#include "support/catch.hpp"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace samples_of_floats {

namespace loops = atled::loops;
using atled::f32;
using atled::f64;

template <class T>
using wider = std::conditional_t<sizeof(T) == 4, f64, long double>;

inline constexpr f64 wrong = 1e30;

// The distance in units of the last place that T has at `want`; `wrong` for another kind or sign.
template <class T>
f64 error_in_ulp(T got, wider<T> want) {
  using limits = std::numeric_limits<T>;
  if (std::isnan(want) || std::isnan(got)) {
    return std::isnan(want) && std::isnan(got) ? 0 : wrong;
  }
  if (std::signbit(got) != std::signbit(want)) return wrong;
  const T rounded = static_cast<T>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : wrong;
  if (want == 0) return got == 0 ? 0 : wrong;
  const int exponent = std::max(std::ilogb(want), limits::min_exponent - 1);
  const wider<T> ulp = std::ldexp(wider<T>{1}, exponent + 1 - limits::digits);
  return static_cast<f64>(std::abs(static_cast<wider<T>>(got) - want) / ulp);
}

// Floats of every exponent and sign, more of them where functions bend, and the special ones. A
// multiple of 32.
template <class T>
const std::vector<T>& samples() {
  static const std::vector<T> values = [] {
    using limits = std::numeric_limits<T>;
    std::vector<T> v{T(0),
                     T(-0.0),
                     limits::infinity(),
                     -limits::infinity(),
                     T(1),
                     T(-1),
                     limits::quiet_NaN(),
                     limits::min(),
                     limits::max(),
                     limits::lowest(),
                     limits::denorm_min(),
                     -limits::denorm_min()};
    if constexpr (sizeof(T) == 4) {
      for (std::uint64_t word = 0; word < 0x100000000U; word += 50021) {
        v.push_back(std::bit_cast<f32>(static_cast<std::uint32_t>(word)));
      }
    }
    std::uint64_t state = 88172645463325252U;  // Source: Marsaglia, Xorshift RNGs, 2003
    for (int i = 0; i < 60000; ++i) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      const T unit = static_cast<T>(state >> 11) * T(0x1p-52) - T(1);
      const int exponent = i % 3 == 0 ? i / 3 % 1100 - 1050 : i / 3 % 12 - 6;
      v.push_back(std::ldexp(unit, exponent));
    }
    while (v.size() % 32 != 0) v.push_back(T(0.75));
    return v;
  }();
  return values;
}

template <int N, class T, class F>
std::vector<T> map(const std::vector<T>& in, F f) {
  std::vector<T> out(in.size());
  for (std::size_t i = 0; i < in.size(); i += N) {
    loops::store(out.data() + i, f(loops::load<N>(in.data() + i)));
  }
  return out;
}

template <class T, class F, class Exact>
void check_function(F f, Exact exact, f64 limit) {
  const auto& in = samples<T>();
  const auto out = map<16>(in, f);
  f64 worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const f64 error = error_in_ulp(out[i], exact(static_cast<wider<T>>(in[i])));
    if (error > worst) {
      worst = error;
      at = i;
    }
  }
  INFO("worst error " << worst << " ulp at " << in[at] << ", got " << out[at] << ", want "
                      << exact(static_cast<wider<T>>(in[at])));
#if defined(__FMA__)
  CHECK(worst <= limit);
#else
  CHECK(worst <= limit + 1);  // each fma rounds twice
#endif
  // The same bits whatever the lanes.
  const auto same_as = [&](const std::vector<T>& other) {
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (std::isnan(out[i])
              ? !std::isnan(other[i])
              : out[i] != other[i] || std::signbit(out[i]) != std::signbit(other[i])) {
        return false;
      }
    }
    return true;
  };
  CHECK(same_as(map<1>(in, f)));
  CHECK(same_as(map<2>(in, f)));
  CHECK(same_as(map<4>(in, f)));
  CHECK(same_as(map<8>(in, f)));
  CHECK(same_as(map<32>(in, f)));
}

template <class T, class F>
T at(F f, f64 x) {
  return loops::reduce_max(f(loops::splat<16>(static_cast<T>(x))));
}

inline constexpr f64 inf = std::numeric_limits<f64>::infinity();

}  // namespace samples_of_floats
