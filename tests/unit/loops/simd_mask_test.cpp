// tests/unit/loops/simd_mask_test.cpp: comparing lanes and choosing by masks, NaN included.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_mask.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <cstddef>
#include <cstdint>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_mask: comparisons choose lanes, and a NaN is unequal to all", "[loops]",
                   f32, f64, i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x == y, [](T a, T b) { return a == b; });
    check_lanes(in, x != y, [](T a, T b) { return a != b; });
    check_lanes(in, x < y, [](T a, T b) { return a < b; });
    check_lanes(in, x <= y, [](T a, T b) { return a <= b; });
    check_lanes(in, x > y, [](T a, T b) { return a > b; });
    check_lanes(in, x >= y, [](T a, T b) { return a >= b; });
    check_lanes(in, !(x < y), [](T a, T b) { return !(a < b); });
    check_lanes(in, (x < y) & (x != y), [](T a, T b) { return a < b; });
    check_lanes(in, (x < y) | (x > y), [](T a, T b) { return a < b || a > b; });
    check_lanes(in, (x <= y) ^ (x == y), [](T a, T b) { return a < b; });
    check_lanes(in, select(x < y, x, y), [](T a, T b) { return a < b ? a : b; });
    check_lanes(in, select(x < y, x == x, x == y), [](T a, T b) { return a < b || a == b; });
    check_lanes(in, convert<f64>(x < y), [](T a, T b) { return a < b ? 1.0 : 0.0; });
    check_lanes(in, convert<u8>(x < y), [](T a, T b) { return static_cast<u8>(a < b); });
    bool some = false;
    bool every = true;
    for (std::size_t i = 0; i < in.a.size(); ++i) {
      some = some || in.a[i] < in.b[i];
      every = every && in.a[i] < in.b[i];
    }
    CHECK(any(x < y) == some);
    CHECK(all(x < y) == every);
  });
}
