// unit/loops/eager_special_test.cpp: rarer functions of tensors outside a trace.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_special.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

using namespace atled;

TEST_CASE("eager: rarer functions are those of the standard library", "[loops]") {
  const tensor<f64, 3> x{0.3, -0.25, 0.9};
  const auto check = [&](const tensor<f64, 3>& y, double (*f)(double)) {
    CHECK(near(y, tensor<f64, 3>{f(x(0)), f(x(1)), f(x(2))}, {1e-15, 0}));
  };
  check(tan(x), std::tan);
  check(asin(x), std::asin);
  check(acos(x), std::acos);
  check(atan(x), std::atan);
  check(sinh(x), std::sinh);
  check(cosh(x), std::cosh);
  check(cbrt(x), std::cbrt);
  check(erfc(x), std::erfc);
  check(lgamma(x), std::lgamma);
  check(erf_inv(erf(x)), [](double at) { return at; });
  const tensor<f32, 2> y = digamma(tensor<f32, 2>{1, 0.5F}) + 1.0F;
  CHECK(near(y, tensor<f32, 2>{0.42278433F, -0.96351F}, {1e-6, 0}));
}
