// bench/run_time/all_reduce.cpp: sums over the ranks of one host, beside MPI_Allreduce.
// Reads: comm/mpi_shared.hpp. Run: mpiexec -n 2 bench.all_reduce [elements of the largest]
//
// Columns: bytes of the operand; MPI_Allreduce; ours from any memory; ours in shared buffers; how
// many times faster; whether all ranks have the same bits. Both in place, the best of several runs.
// SPDX-License-Identifier: MIT
#include "atled/mpi.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace atled;

comm::place here(std::int64_t count) {
  return {call_site::here(), {dtype::f32, shape::of({count})}};
}

/// Units: seconds a call, of the slowest rank.
template <class Call>
double seconds_of(int repetitions, int trials, Call&& call) {
  double best = 1e30;
  for (int t = 0; t < trials; ++t) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < repetitions; ++i) call();
    best = std::min(best, (MPI_Wtime() - begin) / repetitions);
  }
  double slowest = 0;
  MPI_Allreduce(&best, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

void fill(float* x, std::int64_t count, int rank) {
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = 1.0F / static_cast<float>(i % 997 + 3 + rank);
  }
}

/// FNV over words: equal on all ranks if all bits are.
bool is_same_on_all(const float* x, std::int64_t count) {
  std::uint64_t hash = 14695981039346656037U;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, x + i, sizeof(bits));
    hash = (hash ^ bits) * 1099511628211U;
  }
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  MPI_Allreduce(&hash, &low, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&hash, &high, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return low == high;
}

void measure(comm::grid& grid, float* shared, std::int64_t count) {
  comm::communicator& ranks = grid.all();
  std::vector<float> x(static_cast<std::size_t>(count));
  const int repetitions = count > 1000000 ? 1 : count > 10000 ? 100 : 5000;
  const int trials = count > 1000000 ? 3 : 7;
  const int size = static_cast<int>(count);

  const double by_mpi = seconds_of(repetitions, trials, [&] {
    MPI_Allreduce(MPI_IN_PLACE, x.data(), size, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  });
  const comm::place place = here(count);
  const double by_memory = seconds_of(repetitions, trials, [&] {
    ranks.all_reduce(x.data(), x.data(), count, dtype::f32, comm::reduction::sum, place);
  });
  std::fill(shared, shared + count, 0.0F);
  const double in_buffers = seconds_of(repetitions, trials, [&] {
    ranks.all_reduce(shared, shared, count, dtype::f32, comm::reduction::sum, place);
  });

  fill(x.data(), count, ranks.rank());
  ranks.all_reduce(x.data(), x.data(), count, dtype::f32, comm::reduction::sum, place);
  const bool is_same = is_same_on_all(x.data(), count);
  if (ranks.rank() != 0) return;
  std::printf("%12lld %12.2f %12.2f %12.2f %8.2f %8.2f  %s\n", static_cast<long long>(count * 4),
              by_mpi * 1e6, by_memory * 1e6, in_buffers * 1e6, by_mpi / by_memory,
              by_mpi / in_buffers, is_same ? "same bits" : "other bits");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const comm::abort_guard guard;
    const std::int64_t largest = argc > 1 ? std::atoll(argv[1]) : 124'000'000;
    const comm::axis_size axes[] = {{"data", 0}};
    comm::mpi_grid grid({}, axes);
    auto* shared = static_cast<float*>(grid.shared_buffer(largest * 4));
    if (shared == nullptr) throw error("all_reduce: the ranks must be on one host");
    if (grid.all().rank() == 0) {
      std::printf("%12s %12s %12s %12s %8s %8s  (us, %d ranks)\n", "bytes", "MPI", "memory",
                  "buffers", "x", "x", grid.all().size());
    }
    for (const std::int64_t count : {1, 16, 256, 1024, 2048, 4096, 16384, 262144, 4194304}) {
      if (count < largest) measure(grid, shared, count);
    }
    measure(grid, shared, largest);
  }
  MPI_Finalize();
  return 0;
}
