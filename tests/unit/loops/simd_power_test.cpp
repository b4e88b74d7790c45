// tests/unit/loops/simd_power_test.cpp: scaling by powers of two, and splitting them off.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_power.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <cmath>
#include <limits>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_power: powers of two scale with one rounding and split exactly", "[loops]",
                   f32, f64) {
  using T = TestType;
  using limits = std::numeric_limits<T>;
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    for (int e = limits::min_exponent - 60; e <= limits::max_exponent + 3; ++e) {
      const T m = T(1.4142135623730951);
      INFO("exponent " << e);
      const auto scaled = scale_pow2(loops::splat<N>(m), loops::splat<N>(static_cast<T>(e)));
      CHECK(loops::low(loops::join(scaled, scaled)).lanes == N);
      CHECK(loops::reduce_max(scaled) == std::ldexp(m, e));
      const T whole = std::ldexp(m, e);
      if (whole == 0 || std::isinf(whole)) continue;
      const auto parts = split_pow2(loops::splat<N>(whole));
      const T mantissa = loops::reduce_max(parts.m);
      CHECK(mantissa >= T(0.75));
      CHECK(mantissa < T(1.5));
      CHECK(std::ldexp(mantissa, static_cast<int>(loops::reduce_max(parts.e))) == whole);
    }
    const T inf = limits::infinity();
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(T(0))).e) == -inf);
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(inf)).e) == inf);
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(inf)).m) == T(1));
    CHECK(std::isnan(loops::reduce_max(split_pow2(loops::splat<N>(T(-2))).m)));
    CHECK(std::isnan(loops::reduce_max(split_pow2(loops::splat<N>(limits::quiet_NaN())).m)));
  });
}
