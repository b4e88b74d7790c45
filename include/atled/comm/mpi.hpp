// atled/comm/mpi.hpp: collectives of MPI.
// Reads: comm/communicator.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#ifndef OMPI_SKIP_MPICXX
#  define OMPI_SKIP_MPICXX 1
#endif

#include "atled/comm/grid.hpp"

#include <mpi.h>
