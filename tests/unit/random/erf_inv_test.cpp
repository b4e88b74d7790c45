// SPDX-License-Identifier: MIT
#include "atled/random/erf_inv.hpp"

#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <limits>

namespace {

using namespace atled;

constexpr auto inverse = [](auto x) { return erf_inv(x); };

}  // namespace

TEST_CASE("erf_inv: it undoes erf", "[random]") {
  const tensor<f64, 7> x{-3, -1.5, -0.25, 0, 0.1, 1, 2};
  const auto there = jit([](auto y) { return erf_inv(erf(y)); });
  CHECK(near(there(x), x, {1e-11, 1e-15}));  // erf(3) has lost digits
}

TEST_CASE("erf_inv: infinite at the ends, NaN beyond them", "[random]") {
  const auto y = jit(inverse)(tensor<f32, 4>{-1, 1, 2, -3});
  constexpr auto infinity = std::numeric_limits<f32>::infinity();
  CHECK(y(0) == -infinity);
  CHECK(y(1) == infinity);
  CHECK(std::isnan(y(2)));
  CHECK(std::isnan(y(3)));
}

TEST_CASE("erf_inv: its gradient is sqrt(pi) / 2 exp(erf_inv(x)^2)", "[random]") {
  const auto slope = jit(grad(inverse));
  for (const f64 x : {-0.9, -0.5, 0.0, 0.3, 0.99}) {
    const f64 y = jit(inverse)(x);
    CHECK(near(slope(x).item(), 0.88622692545275801365 * std::exp(y * y), {1e-9, 0}));
  }
}
