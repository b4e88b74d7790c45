// SPDX-License-Identifier: MIT
#include "atled/ops/reassociate.hpp"

#include "property/modes.hpp"

using namespace atled;
using namespace atled::test;

TEST_CASE("reassociate: terms that cancel are left out, in value and derivatives", "[ops]") {
  const auto stretch = [](auto x) {
    const auto t = 100.0 * x;
    return reassociate(t * exp(t) + (t - t * exp(t)));
  };
  check_points("SA9", stretch, tensor<f64, 2>{0.5, 10}, {{50, 1000}, {100, 100}, {0, 0}});
  check_points("SA10 on demand", [](auto x) { return reassociate((x + 1e20) - 1e20); },
               tensor<f64, 2>{1, 3}, {{1, 3}, {1, 1}, {0, 0}});
  check_points("signs and multiples",
               [](auto x) { return reassociate(-(x - sin(x)) + (x + x) - (-x)); },
               tensor<f64, 1>{0.5}, {{1 + std::sin(0.5)}, {2 + std::cos(0.5)}, {-std::sin(0.5)}});
  check_points("nothing is left", [](auto x) { return reassociate(x - x) + 1.0; },
               tensor<f64, 1>{infinity}, {{1}, {0}, {0}});
}
