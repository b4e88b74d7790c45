// tests/unit/loops/simd_convert_test.cpp: conversions saturate as in JAX, and integer quotients
// never trap.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_convert.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace lanes;  // NOLINT: the vocabulary of these tests

namespace {

// Towards zero, the nearest end outside, 0 for a NaN.
template <class U, class T>
U saturated(T a) {
  using limits = std::numeric_limits<U>;
  if (std::isnan(a)) return 0;
  const long double whole = std::trunc(static_cast<long double>(a));
  if (whole >= static_cast<long double>(limits::max())) return limits::max();
  if (whole <= static_cast<long double>(limits::min())) return limits::min();
  return static_cast<U>(whole);
}

template <class U, class T>
U converted(T a) {
  if constexpr (std::is_floating_point_v<T> && std::is_integral_v<U>) {
    return saturated<U>(a);
  } else {
    return static_cast<U>(a);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("simd_convert: a float becomes the nearest end of an integer's range, a NaN 0",
                   "[loops]", f32, f64, i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    check_lanes(in, loops::convert<f32>(x), [](T a, T) { return converted<f32>(a); });
    check_lanes(in, loops::convert<f64>(x), [](T a, T) { return converted<f64>(a); });
    check_lanes(in, loops::convert<i32>(x), [](T a, T) { return converted<i32>(a); });
    check_lanes(in, loops::convert<u32>(x), [](T a, T) { return converted<u32>(a); });
    check_lanes(in, loops::convert<i64>(x), [](T a, T) { return converted<i64>(a); });
    check_lanes(in, loops::convert<u8>(x), [](T a, T) { return converted<u8>(a); });
    check_lanes(in, loops::convert<bool>(x), [](T a, T) { return a != T(0); });
    check_lanes(in, loops::convert<bf16>(x),
                [](T a, T) { return static_cast<f32>(bf16(static_cast<f32>(a))); });
    check_lanes(in, loops::convert<f16>(x),
                [](T a, T) { return static_cast<f32>(f16(static_cast<f32>(a))); });
  });
  if constexpr (std::is_floating_point_v<T>) {
    for (const T edge : {T(2147483520), T(2147483648.0), T(-2147483648.0), T(4294967040.0),
                         T(9.2233720368547758e18), T(-9.2233720368547758e18), T(255.5), T(256),
                         T(-0.9), T(1e30), T(-1e30)}) {
      INFO("edge " << edge);
      CHECK(all(loops::convert<i32>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<i32>(edge))));
      CHECK(all(loops::convert<u32>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<u32>(edge))));
      CHECK(all(loops::convert<i64>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<i64>(edge))));
      CHECK(
          all(loops::convert<u8>(loops::splat<16>(edge)) == loops::splat<16>(saturated<u8>(edge))));
    }
  }
}

TEMPLATE_TEST_CASE("simd_convert: quotients of integers never trap", "[loops]", i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x / y, [](T a, T b) { return int_quotient(a, b); });
    check_lanes(in, x % y, [](T a, T b) {
      return b == 0 ? a : wrap<T>(wide(a) - wide(int_quotient(a, b)) * wide(b));
    });
  });
}

TEMPLATE_TEST_CASE("simd_convert: the remainder of floats is that of fmod", "[loops]", f32, f64) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x % y, [](T a, T b) { return std::fmod(a, b); });
  });
}

TEST_CASE("simd_convert: the smallest integer by -1 is itself, and x by 0 is -1", "[loops]") {
  const auto least = loops::splat<16>(std::numeric_limits<i32>::min());
  CHECK(all(least / loops::splat<16>(-1) == least));
  CHECK(all(least % loops::splat<16>(-1) == loops::splat<16>(0)));
  CHECK(all(loops::splat<16>(5) / loops::splat<16>(0) == loops::splat<16>(-1)));
  CHECK(all(loops::splat<16>(5) % loops::splat<16>(0) == loops::splat<16>(5)));
}
