// The random numbers of the host.
// SPDX-License-Identifier: MIT
#include "gpt/draws.hpp"

#include "support/catch.hpp"
#include <array>
#include <cstddef>

using gpt::draws;

TEST_CASE("draws: seed and counter determine the sequence", "[gpt]") {
  draws first(1337, 5);
  draws same(1337, 5);
  draws other_step(1337, 6);
  draws other_seed(1338, 5);
  const auto bits = first.bits();
  CHECK(bits == same.bits());
  CHECK(bits != other_step.bits());
  CHECK(bits != other_seed.bits());
}

TEST_CASE("draws: numbers stay inside and reach all of it", "[gpt]") {
  draws random(0, 0);
  std::array<int, 7> hits{};
  double sum = 0;
  for (int i = 0; i < 7000; ++i) {
    ++hits[static_cast<std::size_t>(random.below(7))];
    const double unit = random.unit();
    CHECK((unit >= 0 && unit < 1));
    sum += unit;
  }
  for (const int count : hits) CHECK((count > 850 && count < 1150));
  CHECK(sum / 7000 == Approx(0.5).margin(0.02));
}
