// Which name was meant.
// SPDX-License-Identifier: MIT
#include "gpt/nearest.hpp"

#include "support/catch.hpp"
#include <array>
#include <string>
#include <string_view>

TEST_CASE("nearest: letters inserted, deleted, replaced and swapped count one each", "[gpt]") {
  using gpt::spelling_distance;
  CHECK(spelling_distance("train", "train") == 0);
  CHECK(spelling_distance("train", "trian") == 1);
  CHECK(spelling_distance("", "abc") == 3);
  CHECK(spelling_distance("kitten", "sitting") == 3);
}

TEST_CASE("nearest: a name is offered only where one is near", "[gpt]") {
  constexpr std::array<std::string_view, 2> names = {"--learning-rate", "--top-k"};
  CHECK(gpt::did_you_mean("--leanring-rate", names) == "; did you mean --learning-rate");
  CHECK(gpt::did_you_mean("--topk", names) == "; did you mean --top-k");
  CHECK(gpt::did_you_mean("--mesh", names).empty());
  CHECK(gpt::did_you_mean(std::string(100000, 'x'), names).empty());
}
