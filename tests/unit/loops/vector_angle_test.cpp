// tests/unit/loops/vector_angle_test.cpp: atan2 and its kin against the standard library.
// SPDX-License-Identifier: MIT
#include "atled/loops/vector_angle.hpp"

#include "unit/loops/samples.hpp"

using namespace samples_of_floats;

TEMPLATE_TEST_CASE("vector_angle: atan, asin and acos are within 2.5 ulp", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>([](auto x) { return loops::atan(x); }, [](W x) { return std::atan(x); },
                           2);
  check_function<TestType>([](auto x) { return loops::asin(x); }, [](W x) { return std::asin(x); },
                           2.5);
  check_function<TestType>([](auto x) { return loops::acos(x); }, [](W x) { return std::acos(x); },
                           2.5);
}

TEMPLATE_TEST_CASE("vector_angle: atan2 is right in all octants and at all signs of 0", "[loops]",
                   f32, f64) {
  using T = TestType;
  using limits = std::numeric_limits<T>;
  std::vector<T> values{T(0),
                        T(-0.0),
                        T(1),
                        T(-1),
                        T(1e-30),
                        T(-1e30),
                        limits::max(),
                        limits::lowest(),
                        limits::min(),
                        -limits::min(),
                        static_cast<T>(inf),
                        -static_cast<T>(inf),
                        limits::denorm_min(),
                        limits::quiet_NaN()};
  for (int i = 0; i < 80; ++i) values.push_back(static_cast<T>(i) * T(0.173) - T(7));
  f64 worst = 0;
  for (const T y : values) {
    for (const T x : values) {
      const T got = loops::reduce_max(loops::atan2(loops::splat<8>(y), loops::splat<8>(x)));
      const f64 error =
          error_in_ulp(got, std::atan2(static_cast<wider<T>>(y), static_cast<wider<T>>(x)));
      INFO("y " << y << ", x " << x << ", got " << got << ", error " << error);
      if (error > 2) CHECK(error <= 2);
      if (!(error <= worst)) worst = error;  // NaN too
    }
  }
  CHECK(worst <= 2);
}
