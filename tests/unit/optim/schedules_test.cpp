// SPDX-License-Identifier: MIT
#include "atled/optim/schedules.hpp"

#include "atled/transform/jit.hpp"

#include "support/catch.hpp"

namespace {

using namespace atled;

constexpr optim::warmup_cosine rate{.peak = 6e-4, .floor = 6e-5, .warmup = 2000, .decay = 600'000};

}  // namespace

TEST_CASE("warmup_cosine: nanoGPT's numbers", "[optim]") {
  CHECK(rate(0) == Approx(2.998500749625e-7).epsilon(1e-12));
  CHECK(rate(1999) == Approx(5.997001499250e-4).epsilon(1e-12));
  CHECK(rate(2000) == Approx(6e-4).epsilon(1e-14));
  CHECK(rate(301'000) == Approx(3.3e-4).epsilon(1e-14));
  CHECK(rate(600'000) == 6e-5);
  CHECK(rate(10'000'000) == 6e-5);
}

TEST_CASE("warmup_cosine: a program computes the same", "[optim]") {
  const auto traced = jit([](auto step) { return rate(step); });
  for (const i32 step : {0, 1, 1999, 2000, 2001, 301'000, 599'999, 600'000, 700'000}) {
    CHECK(static_cast<double>(traced(step).item()) == Approx(rate(step)).epsilon(1e-5));
  }
}
