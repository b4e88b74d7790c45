// mpi/grid_test.cpp: a mesh on MPI ranks.
// Reads: support/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "support/ranks.hpp"

namespace {

TEST_CASE("ranks: each knows its number", "[mpi]") {
  CHECK(support::rank() < support::num_ranks());
}

}  // namespace
