// tests/unit/loops/simd_arithmetic_test.cpp: sums, products and bits of lanes are those of values.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_arithmetic.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_arithmetic: arithmetic on lanes is arithmetic on values", "[loops]", f32,
                   f64) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x + y, [](T a, T b) { return a + b; });
    check_lanes(in, x - y, [](T a, T b) { return a - b; });
    check_lanes(in, x * y, [](T a, T b) { return a * b; });
    check_lanes(in, x / y, [](T a, T b) { return a / b; });
    check_lanes(in, -x, [](T a, T) { return -a; });
  });
}

TEMPLATE_TEST_CASE("simd_arithmetic: integers wrap around, and no shift is undefined", "[loops]",
                   i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    constexpr std::uint64_t bits = 8 * sizeof(T);
    const auto inside = [](T n) { return !negative(n) && wide(n) < bits; };
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    check_lanes(in, x + y, [](T a, T b) { return wrap<T>(wide(a) + wide(b)); });
    check_lanes(in, x - y, [](T a, T b) { return wrap<T>(wide(a) - wide(b)); });
    check_lanes(in, x * y, [](T a, T b) { return wrap<T>(wide(a) * wide(b)); });
    check_lanes(in, -x, [](T a, T) { return wrap<T>(0 - wide(a)); });
    check_lanes(in, x & y, [](T a, T b) { return static_cast<T>(a & b); });
    check_lanes(in, x | y, [](T a, T b) { return static_cast<T>(a | b); });
    check_lanes(in, x ^ y, [](T a, T b) { return static_cast<T>(a ^ b); });
    check_lanes(in, ~x, [](T a, T) { return static_cast<T>(~a); });
    check_lanes(in, x << 3, [](T a, T) { return wrap<T>(wide(a) << 3); });
    check_lanes(in, x >> 3, [](T a, T) { return static_cast<T>(a >> 3); });
    check_lanes(in, shift_left(x, y),
                [=](T a, T n) { return inside(n) ? wrap<T>(wide(a) << n) : T(0); });
    check_lanes(in, shift_right_logical(x, y), [=](T a, T n) {
      return inside(n) ? static_cast<T>(static_cast<U>(a) >> n) : T(0);
    });
    check_lanes(in, shift_right_arithmetic(x, y), [=](T a, T n) {
      return static_cast<T>(static_cast<S>(a) >> (inside(n) ? wide(n) : bits - 1));
    });
  });
}

TEST_CASE("simd_arithmetic: fma rounds once where the machine can", "[loops]") {
#if defined(__FMA__)
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    const f32 e = std::numeric_limits<f32>::epsilon();
    const auto square = fma(loops::splat<N>(1 + e), loops::splat<N>(1 - e), loops::splat<N>(-1.0F));
    CHECK(all(square == loops::splat<N>(-e * e)));
    const f64 d = std::numeric_limits<f64>::epsilon();
    const auto wide = fma(loops::splat<N>(1 + d), loops::splat<N>(1 - d), loops::splat<N>(-1.0));
    CHECK(all(wide == loops::splat<N>(-d * d)));
  });
#else
  CHECK(all(fma(loops::splat<4>(2.0F), loops::splat<4>(3.0F), loops::splat<4>(1.0F)) ==
            loops::splat<4>(7.0F)));
#endif
}
