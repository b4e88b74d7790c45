// unit/kernels/cumulative_test.cpp: running results of each type, from either end.
// SPDX-License-Identifier: MIT
#include "atled/kernels/cumulative.hpp"

#include "support/catch.hpp"
#include <array>
#include <cmath>
#include <limits>

using namespace atled;
using namespace atled::kernels;

namespace {
template <class Combine, class T, std::size_t N>
std::array<T, N> run(const std::array<T, N>& in, std::int64_t size, std::int64_t inner,
                     bool backwards = false) {
  std::array<T, N> out{};
  cumulative<Combine>(static_cast<std::int64_t>(N) / (size * inner), size, inner, backwards,
                      in.data(), out.data());
  return out;
}
}  // namespace

TEST_CASE("cumulative: along the middle of three axes", "[kernels][sanitize]") {
  const std::array<i32, 8> x{1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(run<combine_sum>(x, 4, 1) == std::array<i32, 8>{1, 3, 6, 10, 5, 11, 18, 26});
  CHECK(run<combine_product>(x, 2, 2) == std::array<i32, 8>{1, 2, 3, 8, 5, 6, 35, 48});
  CHECK(run<combine_sum>(x, 2, 2, true) == std::array<i32, 8>{4, 6, 3, 4, 12, 14, 7, 8});
  const std::array<i32, 2> large{2147483647, 2147483647};
  CHECK(run<combine_sum>(large, 2, 1) == std::array<i32, 2>{2147483647, -2});
}

TEST_CASE("cumulative: an extreme is NaN from the first NaN on", "[kernels]") {
  const f32 nan = std::numeric_limits<f32>::quiet_NaN();
  const auto most = run<combine_max>(std::array<f32, 4>{1, 3, nan, 5}, 4, 1);
  CHECK((most[0] == 1 && most[1] == 3 && std::isnan(most[2]) && std::isnan(most[3])));
  const auto least =
      run<combine_min>(std::array<bf16, 3>{bf16(2.0F), bf16(3.0F), bf16(1.0F)}, 3, 1);
  CHECK((static_cast<f32>(least[1]) == 2 && static_cast<f32>(least[2]) == 1));
}

TEST_CASE("cumulative_logsumexp: against the plain formula, and beyond its range", "[kernels]") {
  const std::array<f64, 4> x{0.5, -2, 3, 1};
  std::array<f64, 4> out{};
  cumulative_logsumexp<f64>(1, 4, 1, false, x.data(), out.data());
  f64 sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sum += std::exp(x[i]);
    CHECK(std::abs(out[i] - std::log(sum)) < 1e-15);
  }
  const f64 infinity = std::numeric_limits<f64>::infinity();
  const std::array<f64, 4> extreme{-infinity, 1000, infinity, 0};
  cumulative_logsumexp<f64>(1, 4, 1, false, extreme.data(), out.data());
  CHECK(out == std::array<f64, 4>{-infinity, 1000, infinity, infinity});
}
