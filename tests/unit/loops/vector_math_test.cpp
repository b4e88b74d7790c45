// tests/unit/loops/vector_math_test.cpp: each function of loops/vector_math.hpp against the
// standard library in the next wider type, over dense samples of all floats, and at its special
// values.
// SPDX-License-Identifier: MIT
#include "atled/loops/vector_math.hpp"

#include "support/catch.hpp"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace loops = atled::loops;
using atled::f32;
using atled::f64;

namespace {

template <class T>
using wider = std::conditional_t<sizeof(T) == 4, f64, long double>;

constexpr f64 wrong = 1e30;

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
constexpr auto erfc_of = [](auto x) { return loops::erfc(x); };
constexpr auto sin_of = [](auto x) { return loops::sin(x); };
constexpr auto cos_of = [](auto x) { return loops::cos(x); };
constexpr auto tan_of = [](auto x) { return loops::tan(x); };

constexpr f64 inf = std::numeric_limits<f64>::infinity();

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
TEMPLATE_TEST_CASE("vector_math: erf and erfc are within 1.5 ulp", "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      erf_of, [](W x) { return std::erf(x); }, 1.5);
  check_function<TestType>(
      erfc_of, [](W x) { return std::erfc(x); }, sizeof(W) == 8 ? 4 : 6);
}
TEMPLATE_TEST_CASE("vector_math: sin, cos and tan are exact for small and for huge angles",
                   "[loops]", f32, f64) {
  using W = wider<TestType>;
  check_function<TestType>(
      sin_of, [](W x) { return std::sin(x); }, 1.5);
  check_function<TestType>(
      cos_of, [](W x) { return std::cos(x); }, 1.5);
  check_function<TestType>(
      tan_of, [](W x) { return std::tan(x); }, 3);
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
  for (const auto odd :
       {at<T>(expm1_of, -0.0), at<T>(log1p_of, -0.0), at<T>(tanh_of, -0.0), at<T>(sinh_of, -0.0),
        at<T>(erf_of, -0.0), at<T>(sin_of, -0.0), at<T>(tan_of, -0.0)}) {
    CHECK(odd == 0);
    CHECK(std::signbit(odd));
  }
}

TEMPLATE_TEST_CASE("vector_math: a lane does not depend on its neighbours", "[loops]", f32, f64) {
  // One huge angle sends its lane to the standard library, and no other lane.
  using T = TestType;
  std::array<T, 16> in;
  for (std::size_t i = 0; i < 16; ++i) in[i] = static_cast<T>(i) * T(0.37) - T(2);
  std::array<T, 16> alone;
  loops::store(alone.data(), loops::sin(loops::load<16>(in.data())));
  for (std::size_t huge = 0; huge < 16; ++huge) {
    auto mixed = in;
    mixed[huge] = T(1e20);
    std::array<T, 16> out;
    loops::store(out.data(), loops::sin(loops::load<16>(mixed.data())));
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(out[i] == (i == huge ? std::sin(T(1e20)) : alone[i]));
    }
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

TEST_CASE("vector_math: functions of no vector form are those of the standard library", "[loops]") {
  const std::array<f64, 4> in{0.1, 0.5, 0.9, -0.3};
  const auto v = loops::load<4>(in.data());
  std::array<f64, 4> out;
  const auto check = [&](auto y, auto f) {
    loops::store(out.data(), y);
    for (std::size_t i = 0; i < 4; ++i) CHECK(out[i] == f(in[i]));
  };
  check(loops::asin(v), [](f64 x) { return std::asin(x); });
  check(loops::acos(v), [](f64 x) { return std::acos(x); });
  check(loops::atan(v), [](f64 x) { return std::atan(x); });
  check(loops::atan2(v, -v), [](f64 x) { return std::atan2(x, -x); });
}
