// unit/transform/eager_collective_test.cpp: collectives on plain tensors, on one process; on more
// ranks: mpi/collective_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/transform/eager_collective.hpp"

#include "atled/ops/collective.hpp"

#include "support/catch.hpp"

using namespace atled;

TEST_CASE("collectives: on plain tensors, as ranks of one process", "[transform]") {
  const mesh<axis<"data">, axis<"model", 1>> devices;
  const tensor<f32, 2> x{1, 2};
  CHECK(psum(x, devices, axis<"data">)(1) == 2);
  CHECK(pmean(std::pair(x, tensor<f32>(3)), devices, axis<"data">).second.item() == 3);
  CHECK(pmax(tensor<i32>(4), devices, axis<"model">).item() == 4);
  CHECK(all_gather(x, devices, axis<"model">)(0, 1) == 2);
  CHECK(axis_index(devices, axis<"data">) == 0);
  CHECK(axis_size(devices, axis<"model">) == 1);
}
