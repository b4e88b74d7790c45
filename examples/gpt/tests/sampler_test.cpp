// What may be sampled, and with which probability.
// SPDX-License-Identifier: MIT
#include "gpt/sampler.hpp"

#include "atled/core/diagnostic.hpp"

#include "support/catch.hpp"
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

using namespace gpt;

namespace {

/// Scores whose softmax is .5, .15, .3, .05.
const std::vector<float> scores = {std::log(0.5F), std::log(0.15F), std::log(0.3F),
                                   std::log(0.05F)};

std::vector<int> tokens_of(const std::vector<candidate>& list) {
  std::vector<int> out;
  for (const candidate& c : list) out.push_back(c.token);
  return out;
}

}  // namespace

TEST_CASE("sampler: without limits each token has its probability, the likeliest first", "[gpt]") {
  const auto all = candidates(scores, {});
  CHECK(tokens_of(all) == std::vector<int>{0, 2, 1, 3});
  CHECK(all[0].probability == Approx(0.5).epsilon(1e-6));
  CHECK(all[3].probability == Approx(0.05).epsilon(1e-6));
}

TEST_CASE("sampler: temperature 0 takes the likeliest token, of equal ones the lowest", "[gpt]") {
  const auto only = candidates(scores, {.temperature = 0, .top_k = 3});
  CHECK(tokens_of(only) == std::vector<int>{0});
  CHECK(only[0].probability == 1);
  CHECK(tokens_of(candidates(std::array{1.F, 2.F, 2.F}, {.temperature = 0})) ==
        std::vector<int>{1});
}

TEST_CASE("sampler: a low temperature neither overflows nor divides by zero", "[gpt]") {
  const auto all = candidates(std::array{-3e38F, 0.F, 3e38F}, {.temperature = 1e-300});
  CHECK(all[0].token == 2);
  CHECK(all[0].probability == 1);
  CHECK(all[1].probability == 0);
}

TEST_CASE("sampler: top-p keeps the fewest tokens that reach it and scales them to 1", "[gpt]") {
  const auto two = candidates(scores, {.top_p = 0.7});
  CHECK(tokens_of(two) == std::vector<int>{0, 2});
  CHECK(two[0].probability == Approx(0.625).epsilon(1e-6));
  CHECK(two[1].probability == Approx(0.375).epsilon(1e-6));
  CHECK(candidates(scores, {.top_p = 1e-9}).size() == 1);
}

TEST_CASE("sampler: top-k keeps exactly k, also where scores are equal", "[gpt]") {
  CHECK(tokens_of(candidates(scores, {.top_k = 2})) == std::vector<int>{0, 2});
  CHECK(tokens_of(candidates(std::array{1.F, 1.F, 1.F, 1.F}, {.top_k = 3})) ==
        std::vector<int>{0, 1, 2});
  CHECK(candidates(scores, {.top_k = 1000}).size() == 4);
}

TEST_CASE("sampler: a score that is no number is refused", "[gpt]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK_THROWS_AS(candidates(std::array{0.F, nan}, {}), atled::error);
  CHECK(candidates(std::array{0.F, -std::numeric_limits<float>::infinity()}, {})[1].probability ==
        0);
}

TEST_CASE("sampler: the choice follows the probabilities", "[gpt]") {
  const std::array<candidate, 3> list{{{7, 0.5}, {8, 0.25}, {9, 0.25}}};
  CHECK(choose(list, 0) == 7);
  CHECK(choose(list, 0.4999) == 7);
  CHECK(choose(list, 0.5) == 8);
  CHECK(choose(list, 0.75) == 9);
  CHECK(choose(list, 0.9999999999999999) == 9);
}
