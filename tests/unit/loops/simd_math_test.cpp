// tests/unit/loops/simd_math_test.cpp: elementwise functions against the standard library, and
// reductions.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_math.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_math: elementwise functions are those of values", "[loops]", f32, f64) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, abs(x), [](T a, T) { return std::abs(a); });
    check_lanes(in, sqrt(x), [](T a, T) { return std::sqrt(a); });
    check_lanes(in, rsqrt(x), [](T a, T) { return T(1) / std::sqrt(a); });
    check_lanes(in, floor(x), [](T a, T) { return std::floor(a); });
    check_lanes(in, ceil(x), [](T a, T) { return std::ceil(a); });
    check_lanes(in, trunc(x), [](T a, T) { return std::trunc(a); });
    check_lanes(in, round_even(x), [](T a, T) { return std::nearbyint(a); });
    check_lanes(in, copysign(x, y), [](T a, T b) { return std::copysign(a, b); });
    check_lanes(in, sign(x), [](T a, T) { return a > 0 ? T(1) : a < 0 ? T(-1) : a; });
    check_lanes(in, is_nan(x), [](T a, T) { return std::isnan(a); });
    check_lanes(in, is_inf(x), [](T a, T) { return std::isinf(a); });
    check_lanes(in, is_finite(x), [](T a, T) { return std::isfinite(a); });
  });
}

TEMPLATE_TEST_CASE("simd_math: abs and sign of integers wrap around", "[loops]", i32, u32, i64,
                   u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    check_lanes(in, abs(x), [](T a, T) { return negative(a) ? wrap<T>(0 - wide(a)) : a; });
    check_lanes(in, sign(x), [](T a, T) { return static_cast<T>((a > 0) - negative(a)); });
  });
}

TEMPLATE_TEST_CASE("simd_math: max and min of a NaN are NaN, on either side", "[loops]", f32, f64,
                   i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    check_lanes(in, max(in.x(), in.y()), [](T a, T b) {
      if (not_a_number(a)) return a;
      if (not_a_number(b)) return b;
      return a > b ? a : b;
    });
    check_lanes(in, min(in.x(), in.y()), [](T a, T b) {
      if (not_a_number(a)) return a;
      if (not_a_number(b)) return b;
      return a < b ? a : b;
    });
  });
}

TEMPLATE_TEST_CASE("simd_math: reductions join halves, in one order on every machine", "[loops]",
                   f32, f64, i32, u32, i64, u8) {
  using T = TestType;
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    std::array<T, std::size_t{N}> values;
    for (int i = 0; i < N; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<T>(T(1) + static_cast<T>(i * 7 % 5) / T(3));
    }
    auto sum = values;
    auto product = values;
    for (std::size_t half = N / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) {
        sum[i] = static_cast<T>(sum[i] + sum[i + half]);
        product[i] = static_cast<T>(product[i] * product[i + half]);
      }
    }
    const auto v = loops::load<N>(values.data());
    CHECK(same(loops::reduce_add(v), sum[0]));
    CHECK(same(loops::reduce_mul(v), product[0]));
    T greatest = values[0];
    T least = values[0];
    for (const T x : values) {
      greatest = x > greatest ? x : greatest;
      least = x < least ? x : least;
    }
    CHECK(same(loops::reduce_max(v), greatest));
    CHECK(same(loops::reduce_min(v), least));
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t at = 0; at < N; ++at) {
        auto with_nan = values;
        with_nan[at] = std::numeric_limits<T>::quiet_NaN();
        CHECK(std::isnan(loops::reduce_max(loops::load<N>(with_nan.data()))));
        CHECK(std::isnan(loops::reduce_min(loops::load<N>(with_nan.data()))));
      }
    }
  });
}
