// support/ranks_main.cpp: the main function of tests under mpiexec: MPI begins and ends here.
// Reads: Catch2, mpi.h. Rank 0 reports; the others speak only of their failures.
// SPDX-License-Identifier: MIT
#include "atled/mpi.hpp"

#if __has_include(<catch2/catch_all.hpp>)
#  include <catch2/catch_all.hpp>
#else
#  define CATCH_CONFIG_RUNNER
#  include <catch2/catch.hpp>
#endif

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <unistd.h>

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  Catch::Session session;
  if (session.applyCommandLine(argc, argv) != 0) return 2;
  session.configData().abortAfter = 1;  // a rank that goes on alone would wait for the others
  const std::string report =
      std::string(argv[0]) + '.' + std::to_string(getpid()) + '.' + std::to_string(rank);
  if (rank != 0) session.configData().outputFilename = report;
  const int failures = session.run();
  if (rank != 0) {
    std::ifstream text(report);
    if (failures != 0) std::cerr << text.rdbuf() << std::flush;
    std::remove(report.c_str());
  }
  if (failures != 0) {
    std::fprintf(stderr, "rank %d: a test failed\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
