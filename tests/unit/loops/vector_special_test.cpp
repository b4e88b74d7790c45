// tests/unit/loops/vector_special_test.cpp: cbrt, erfc, erf_inv and lgamma against the standard
// library, polygamma against its recurrence.
// SPDX-License-Identifier: MIT
#include "atled/loops/vector_special.hpp"

#include "unit/loops/samples.hpp"

using namespace samples_of_floats;

namespace {
template <int Order>
f64 polygamma_at(f64 x) {
  return at<f64>([](auto v) { return loops::polygamma<Order>(v); }, x);
}
bool are_near(f64 actual, f64 expected, f64 relative = 2e-15) {
  return std::abs(actual - expected) <= relative * std::abs(expected);
}
}  // namespace

TEMPLATE_TEST_CASE("vector_special: cbrt is within 2 ulp, denormals included", "[loops]", f32,
                   f64) {
  using W = wider<TestType>;
  check_function<TestType>([](auto x) { return loops::cbrt(x); }, [](W x) { return std::cbrt(x); },
                           2);
}
TEMPLATE_TEST_CASE("vector_special: erfc is within 4 ulp, to where it ends", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>([](auto x) { return loops::erfc(x); }, [](W x) { return std::erfc(x); },
                           sizeof(W) == 8 ? 1 : 4);
}
TEST_CASE("vector_special: erf_inv undoes erf and erfc", "[loops]") {
  const auto inverse = [](auto v) { return loops::erf_inv(v); };
  for (const f64 x : {1e-300, 1e-9, 0.1, 0.4769362762044699, 0.9, 1.5, 2.0, 2.5}) {
    CHECK(are_near(at<f64>(inverse, std::erf(x)), x, x > 1 ? 1e-13 : 5e-15));
    CHECK(at<f64>(inverse, -std::erf(x)) == -at<f64>(inverse, std::erf(x)));
  }
  // 1 - 2^-n is exact, so that all digits are there.
  CHECK(are_near(at<f64>(inverse, 1 - 0x1p-30), 4.3280282758009465, 1e-14));
  CHECK(are_near(at<f64>(inverse, 1 - 3e-11), 4.699835337556753, 1e-14));
  CHECK(at<f64>(inverse, 1) == inf);
  CHECK(at<f64>(inverse, -1) == -inf);
  CHECK(std::isnan(at<f64>(inverse, 1.5)));
  CHECK(are_near(static_cast<f64>(at<f32>(inverse, 0.5)), 0.4769362762044699, 2e-7));
}
TEST_CASE("vector_special: lgamma is that of the standard library", "[loops]") {
  const auto f = [](auto v) { return loops::lgamma(v); };
  for (const f64 x : {1e-300, 0.1, 1.0, 1.5, 2.0, 10.0, 1e10, -0.5, -7.25}) {
    CHECK(are_near(at<f64>(f, x), std::lgamma(x), 1e-15));
  }
  CHECK(at<f64>(f, 0) == inf);
  CHECK(at<f64>(f, -3) == inf);
}
TEST_CASE("vector_special: polygamma has its known values", "[loops]") {
  const f64 pi = 3.141592653589793;
  CHECK(are_near(polygamma_at<0>(1), -0.5772156649015329));
  CHECK(are_near(polygamma_at<0>(0.5), -1.9635100260214235));
  CHECK(are_near(polygamma_at<0>(-0.5), 0.03648997397857652, 1e-14));
  CHECK(are_near(polygamma_at<0>(1e-3), -1000.5755719318103));
  CHECK(are_near(polygamma_at<0>(1e6), 13.815510057964191));
  CHECK(are_near(polygamma_at<1>(1), pi * pi / 6));
  CHECK(are_near(polygamma_at<1>(-0.5), pi * pi / 2 + 4, 1e-14));
  CHECK(are_near(polygamma_at<2>(1), -2.404113806319188));
  CHECK(are_near(polygamma_at<3>(1), pi * pi * pi * pi / 15));
  CHECK(are_near(polygamma_at<2>(-1.25) - 2 / (1.25 * 1.25 * 1.25), polygamma_at<2>(-0.25), 1e-13));
  CHECK(std::isnan(polygamma_at<0>(0)));
  CHECK(std::isnan(polygamma_at<0>(-2)));
  CHECK(polygamma_at<1>(-2) == inf);
  CHECK(polygamma_at<0>(inf) == inf);
  CHECK(polygamma_at<1>(inf) == 0);
  CHECK(std::isnan(polygamma_at<0>(-inf)));
}
