// support/ranks.hpp: what tests under mpiexec share: the number of this rank, and of all.
// Reads: atled/mpi.hpp. A test file in tests/mpi runs on 1, 2 and 4 ranks, and must pass on each.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/mpi.hpp"

#include "support/catch.hpp"

namespace support {

[[nodiscard]] inline int rank() {
  int out = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &out);
  return out;
}

[[nodiscard]] inline int num_ranks() {
  int out = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &out);
  return out;
}

}  // namespace support
