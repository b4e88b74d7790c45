// SPDX-License-Identifier: MIT
#include "atled/nn/summary.hpp"

#include "atled/nn/linear.hpp"

#include "support/catch.hpp"

TEST_CASE("num_parameters: all elements of all leaves", "[nn]") {
  using namespace atled;
  STATIC_REQUIRE(nn::num_parameters<nn::linear<values, f32, 784, 128>>() == 784 * 128 + 128);
}

TEST_CASE("summary: one line a leaf, then the sum", "[nn]") {
  using namespace atled;
  const std::string table = nn::summary(nn::linear<values, f32, 3, 2>{});
  CHECK(table.find("weight ") == 0);
  CHECK(table.find("f32[3,2] ") != std::string::npos);
  CHECK(table.substr(table.rfind(' ')) == " 8\n");
}
