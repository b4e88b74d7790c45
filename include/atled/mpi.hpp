// atled/mpi.hpp: a mesh on MPI ranks, for programs that include it beside atled/atled.hpp.
// Reads: comm/mpi_grid.hpp, comm/mpi_guard.hpp. The program itself calls MPI_Init and MPI_Finalize.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/mpi_grid.hpp"
#include "atled/comm/mpi_guard.hpp"
