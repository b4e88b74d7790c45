// unit/core/visualize_sharding_test.cpp: pictures of split tensors.
// SPDX-License-Identifier: MIT
#include "atled/core/visualize_sharding.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {
mesh_shape grid() {
  mesh_shape out{};
  out.push("data", 2);
  out.push("model", 2);
  return out;
}
std::string picture(const named_spec& spec) {
  const std::string all = visualize_sharding({dtype::f32, shape::of({8, 16})}, spec, grid());
  return all.substr(all.find('\n') + 1);
}
}  // namespace

TEST_CASE("visualize_sharding: draws the ranks of each block", "[core]") {
  CHECK(visualize_sharding({dtype::f32, shape::of({8, 16})}, P<"data", "model">, grid()) ==
        "f32[8,16] as P(data,model) on mesh{data:2,model:2}: f32[4,8] on each rank\n"
        "+---+---+\n| 0 | 1 |\n+---+---+\n| 2 | 3 |\n+---+---+\n");
  CHECK(picture(P<"data">) == "+-----+\n| 0,1 |\n+-----+\n| 2,3 |\n+-----+\n");
  CHECK(picture(P<none, "model">) == "+-----+-----+\n| 0,2 | 1,3 |\n+-----+-----+\n");
  CHECK(picture(P<>) == "+---------+\n| 0,1,2,3 |\n+---------+\n");
  CHECK(picture(P<none, over<"data", "model">>) ==
        "+---+---+---+---+\n| 0 | 1 | 2 | 3 |\n+---+---+---+---+\n");
  CHECK_THROWS_WITH(picture(P<"batch">),
                    "P(batch) on mesh{data:2,model:2}: no mesh axis batch; it has data, model");
}
