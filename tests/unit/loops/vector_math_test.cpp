// tests/unit/loops/vector_math_test.cpp: each function of loops/vector_math.hpp against the
// standard library in the next wider type, over dense samples of all floats, and at its special
// values.
// SPDX-License-Identifier: MIT
#include "atled/loops/vector_math.hpp"

#include "unit/loops/samples.hpp"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

using namespace samples_of_floats;

namespace {

constexpr auto exp_of = [](auto x) { return loops::exp(x); };
constexpr auto expm1_of = [](auto x) { return loops::expm1(x); };
constexpr auto log_of = [](auto x) { return loops::log(x); };
constexpr auto log1p_of = [](auto x) { return loops::log1p(x); };
constexpr auto tanh_of = [](auto x) { return loops::tanh(x); };
constexpr auto logistic_of = [](auto x) { return loops::logistic(x); };
constexpr auto softplus_of = [](auto x) { return loops::softplus(x); };
constexpr auto sinh_of = [](auto x) { return loops::sinh(x); };
constexpr auto cosh_of = [](auto x) { return loops::cosh(x); };
constexpr auto erf_of = [](auto x) { return loops::erf(x); };

}  // namespace

TEMPLATE_TEST_CASE("vector_math: exp is within 1 ulp, from 0 to infinity", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      exp_of, [](W x) { return std::exp(x); }, 1);
}
TEMPLATE_TEST_CASE("vector_math: expm1 is within 2 ulp, also near 0", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      expm1_of, [](W x) { return std::expm1(x); }, 2);
}
TEMPLATE_TEST_CASE("vector_math: log is within 1 ulp, denormals included", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      log_of, [](W x) { return std::log(x); }, 1);
}
TEMPLATE_TEST_CASE("vector_math: log1p is within 1 ulp, also near 0", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      log1p_of, [](W x) { return std::log1p(x); }, 1);
}
TEMPLATE_TEST_CASE("vector_math: tanh is within 1.5 ulp", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      tanh_of, [](W x) { return std::tanh(x); }, 1.5);
}
TEMPLATE_TEST_CASE("vector_math: logistic is within 2 ulp, also where it is tiny", "[loops]", f32,
                   f64) {
  using W = wider<TestType>;
  const auto exact = [](W x) {
    const W e = std::exp(-std::abs(x));
    return x < 0 ? e / (1 + e) : 1 / (1 + e);
  };
  check_function<TestType>(logistic_of, exact, 2);
}
TEMPLATE_TEST_CASE("vector_math: softplus is within 2 ulp and does not overflow", "[loops]", f32,
                   f64) {
  using W = wider<TestType>;
  const auto exact = [](W x) {
    return std::isnan(x) ? x : (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x)));
  };
  check_function<TestType>(softplus_of, exact, 2);
}
TEMPLATE_TEST_CASE("vector_math: sinh and cosh are within 2 ulp", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      sinh_of, [](W x) { return std::sinh(x); }, 2);
  check_function<TestType>(
      cosh_of, [](W x) { return std::cosh(x); }, 2);
}
TEMPLATE_TEST_CASE("vector_math: erf is within 1.5 ulp", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      erf_of, [](W x) { return std::erf(x); }, 1.5);
}
TEST_CASE("vector_math: exp ends where f32 and f64 end", "[loops]") {
  CHECK(std::isfinite(at<f32>(exp_of, 88.72)));
  CHECK(at<f32>(exp_of, 88.73) == std::numeric_limits<f32>::infinity());
  CHECK(at<f32>(exp_of, -103.9) > 0);
  CHECK(at<f32>(exp_of, -104.0) == 0);
  CHECK(std::isfinite(at<f64>(exp_of, 709.78)));
  CHECK(at<f64>(exp_of, 709.79) == inf);
  CHECK(at<f64>(exp_of, -745.1) > 0);
  CHECK(at<f64>(exp_of, -745.2) == 0);
  CHECK(at<f64>(exp_of, -inf) == 0);
  CHECK(at<f64>(exp_of, 0) == 1);
  CHECK(at<f32>(softplus_of, 88.8) == 88.8F);
}

TEST_CASE("vector_math: small arguments keep their digits", "[loops]") {
  CHECK(at<f64>(expm1_of, 1e-10) == 1.00000000005e-10);
  CHECK(at<f64>(log1p_of, 1e-20) == 1e-20);
  CHECK(at<f32>(log1p_of, 1e-20) == 1e-20F);
  CHECK(at<f32>(tanh_of, 1e-20) == 1e-20F);
  CHECK(at<f64>(tanh_of, 5e-324) == 5e-324);
  CHECK(at<f32>(expm1_of, 1e-45) == 1e-45F);
}

TEMPLATE_TEST_CASE("vector_math: special values are those of IEEE", "[loops]", f32, f64) {
  using T = TestType;
  CHECK(at<T>(log_of, 0) == -std::numeric_limits<T>::infinity());
  CHECK(at<T>(log_of, -0.0) == -std::numeric_limits<T>::infinity());
  CHECK(std::isnan(at<T>(log_of, -1)));
  CHECK(at<T>(log_of, inf) == std::numeric_limits<T>::infinity());
  CHECK(at<T>(log_of, 1) == 0);
  CHECK(at<T>(log1p_of, -1) == -std::numeric_limits<T>::infinity());
  CHECK(at<T>(tanh_of, inf) == 1);
  CHECK(at<T>(tanh_of, -inf) == -1);
  CHECK(at<T>(erf_of, inf) == 1);
  CHECK(at<T>(expm1_of, -inf) == -1);
  CHECK(at<T>(logistic_of, -inf) == 0);
  CHECK(at<T>(logistic_of, inf) == 1);
  CHECK(at<T>(softplus_of, -inf) == 0);
  for (const auto odd : {at<T>(expm1_of, -0.0), at<T>(log1p_of, -0.0), at<T>(tanh_of, -0.0),
                         at<T>(sinh_of, -0.0), at<T>(erf_of, -0.0)}) {
    CHECK(odd == 0);
    CHECK(std::signbit(odd));
  }
}

TEMPLATE_TEST_CASE("vector_math: pow has the special values of IEEE, and 1 ulp elsewhere",
                   "[loops]", f32, f64) {
  using T = TestType;
  using limits = std::numeric_limits<T>;
  std::vector<T> values{T(0),
                        T(-0.0),
                        T(1),
                        T(-1),
                        T(2),
                        T(-2),
                        T(0.5),
                        T(-0.5),
                        T(3),
                        T(-3),
                        T(1.5),
                        T(-1.5),
                        T(33),
                        T(1e9),
                        T(40),
                        T(0.3),
                        T(-8),
                        T(1) / T(3),
                        T(1e-9),
                        T(-200),
                        T(7),
                        limits::max(),
                        limits::min(),
                        limits::denorm_min(),
                        limits::infinity(),
                        -limits::infinity(),
                        limits::quiet_NaN()};
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<T>(i) * T(0.731) - T(20));
  for (const T x : values) {
    for (const T y : values) {
      const T got = loops::reduce_max(loops::pow(loops::splat<8>(x), loops::splat<8>(y)));
      INFO("x " << x << ", y " << y << ", got " << got);
      CHECK(error_in_ulp(got, std::pow(static_cast<wider<T>>(x), static_cast<wider<T>>(y))) <= 1);
    }
  }
}

TEST_CASE("vector_math: powers of integers wrap around, and fractions are cut", "[loops]") {
  const auto power = [](std::int32_t x, std::int32_t y) {
    return loops::reduce_max(loops::integer_power(loops::splat<4>(x), loops::splat<4>(y)));
  };
  CHECK(power(3, 4) == 81);
  CHECK(power(-3, 3) == -27);
  CHECK(power(0, 0) == 1);
  CHECK(power(2, 32) == 0);
  CHECK(power(7, 20) == -1199696159);  // 7^20 modulo 2^32
  CHECK(power(2, -1) == 0);
  CHECK(power(1, -5) == 1);
  CHECK(power(-1, -5) == -1);
  CHECK(power(-1, -4) == 1);
}
