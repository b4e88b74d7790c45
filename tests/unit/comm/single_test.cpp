// unit/comm/single_test.cpp: one process as a mesh.
// Reads: comm/single.hpp.
// SPDX-License-Identifier: MIT
#include "atled/comm/single.hpp"

#include "support/catch.hpp"

namespace {

using namespace atled;

constexpr comm::place here() {
  return {call_site::here(), {dtype::f32, shape::of({3})}};
}

TEST_CASE("single: every collective of one rank is a copy", "[comm]") {
  comm::single_communicator ranks("data");
  const float in[3] = {1, 2, 3};
  float out[3] = {};
  ranks.all_reduce(in, out, 3, dtype::f32, comm::reduction::sum, here());
  CHECK(out[2] == 3);
  float gathered[3] = {};
  ranks.all_gather(in, gathered, 3, dtype::f32, here());
  CHECK(gathered[1] == 2);
  float moved[3] = {};
  ranks.permute(in, moved, 3, dtype::f32, 0, 0, here());
  CHECK(moved[0] == 1);
  ranks.permute(in, moved, 3, dtype::f32, -1, -1, here());
  CHECK(moved[0] == 0);
  ranks.barrier(here());
  CHECK(ranks.done().calls == 5);
  CHECK(ranks.done().bytes == 4 * 2 * 12);
}

TEST_CASE("single: a message to itself is received in the order of sending", "[comm]") {
  comm::single_communicator ranks("pipe");
  const float first[1] = {1};
  const float second[1] = {2};
  ranks.send(first, 1, dtype::f32, 0, here());
  ranks.send(second, 1, dtype::f32, 0, here());
  float got[1] = {};
  ranks.receive(got, 1, dtype::f32, 0, here());
  CHECK(got[0] == 1);
  ranks.receive(got, 1, dtype::f32, 0, here());
  CHECK(got[0] == 2);
  CHECK_THROWS_AS(ranks.receive(got, 1, dtype::f32, 0, here()), error);
}

TEST_CASE("grid: open axes take the ranks that the others leave", "[comm]") {
  const comm::axis_size axes[] = {{"data", 0}, {"model", 2}};
  CHECK(comm::describe_mesh(axes).view() == "mesh{data:?,model:2}");
  CHECK(comm::resolve_sizes(axes, 8) == std::vector<int>{4, 2});
  CHECK_THROWS_WITH(comm::resolve_sizes(axes, 3),
                    "mesh{data:?,model:2}: 3 ranks are not a multiple of 2");
  const comm::axis_size fixed[] = {{"data", 2}, {"model", 2}};
  CHECK_THROWS_WITH(comm::resolve_sizes(fixed, 3), "mesh{data:2,model:2}: 3 ranks are not 4");
  CHECK_THROWS_AS(comm::single_grid(axes), error);
}

TEST_CASE("communicator: a call with a rank outside the group is refused", "[comm]") {
  comm::single_communicator ranks("data");
  const float in[3] = {};
  float out[3] = {};
  CHECK_THROWS_WITH(ranks.broadcast(in, out, 3, dtype::f32, 1, {{"a/train.cpp", 7, ""}, {}}),
                    "train.cpp:7: broadcast over data: source 1: must be a rank of 0 to 0");
  CHECK_THROWS_AS(ranks.send(nullptr, 3, dtype::f32, 0, here()), error);
}

}  // namespace
