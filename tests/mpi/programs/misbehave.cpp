// mpi/programs/misbehave.cpp: one rank does what it should not; the job must end, and say why.
// Reads: atled/mpi.hpp. What is done and what must be said is listed in misbehave.cases.
// SPDX-License-Identifier: MIT
#include "atled/mpi.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <signal.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace {

using namespace atled;

constexpr comm::axis_size axes[] = {{"data", 0}};

/// Calls stand where a model would have them.
comm::place line(int number, dtype type, std::initializer_list<std::int64_t> dims) {
  return {{"src/model.hpp", number, ""}, {type, shape::of(dims)}};
}

int my_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// What rank 1 does in the place of the third call; true if it shall make that call after all.
bool misbehave(std::string_view what, std::unique_ptr<comm::mpi_grid>& grid) {
  static std::vector<float> x(1000000);
  auto& ranks = grid->all();
  if (what.starts_with("stops") && what != "stops_inside") raise(SIGSTOP);
  if (what == "killed") raise(SIGKILL);
  if (what == "exits") _exit(0);
  if (what == "returns") std::exit(0);
  if (what == "aborts") MPI_Abort(MPI_COMM_WORLD, 7);
  if (what.starts_with("slow")) sleep(20);
  if (what == "finalizes") MPI_Finalize();
  if (what == "leaves") grid.reset();
  if (what == "receives_nothing") sleep(20);
  if (what.starts_with("throws")) throw std::runtime_error("the solver did not converge");
  if (what == "stops_inside") {
    (void)ranks.start({.what = comm::collective::all_reduce,
                       .element = dtype::f32,
                       .count = 1000000,
                       .in = x.data(),
                       .out = x.data(),
                       .where = line(41, dtype::f32, {1000, 1000})});
    raise(SIGSTOP);
  }
  if (what.starts_with("shorter")) {
    ranks.all_reduce(x.data(), x.data(), 1000, dtype::f32, comm::reduction::sum,
                     line(42, dtype::f32, {1000}));
  }
  if (what.starts_with("doubles")) {
    ranks.all_reduce(x.data(), x.data(), 1000, dtype::f64, comm::reduction::sum,
                     line(42, dtype::f64, {1000}));
  }
  if (what.starts_with("broadcasts")) {
    ranks.broadcast(x.data(), x.data(), 1000000, dtype::f32, 0, line(43, dtype::f32, {1000, 1000}));
  }
  return !what.starts_with("finalizes") && what != "leaves";
}

void run(std::string_view what) {
  if (what == "makes_no_mesh" && my_rank() == 1) sleep(20);
  const bool is_by_mpi = what.ends_with("by_mpi") || what == "broadcasts_unseen";
  auto grid = std::make_unique<comm::mpi_grid>(
      comm::mpi_ranks{MPI_COMM_WORLD,
                      {.time_limit = 1.5,
                       .shared_memory = !is_by_mpi,
                       .compare_calls = is_by_mpi && what != "broadcasts_unseen"}},
      axes);
  grid->require_same({{"program", what == "other_program" && my_rank() == 1 ? 18U : 17U}},
                     comm::describe_mesh(axes).view());
  grid->note_step(120);

  auto& ranks = grid->all();
  std::vector<float> x(1000000, 1.0F);
  std::vector<float> all(8U * static_cast<unsigned>(ranks.size()));
  ranks.all_gather(x.data(), all.data(), 8, dtype::f32, line(40, dtype::f32, {8}));
  if (my_rank() == 1 && !misbehave(what, grid)) {
    if (what == "finalizes") {
      (void)grid.release();
      std::exit(1);
    }
    sleep(20);
  }
  if (what.starts_with("doubles")) {
    ranks.all_reduce(x.data(), x.data(), 1000, dtype::f32, comm::reduction::sum,
                     line(41, dtype::f32, {1000}));
  }
  if (what == "receives_nothing" && my_rank() > 1) sleep(20);
  if (what == "receives_nothing" && my_rank() == 0) {
    ranks.receive(x.data(), 8, dtype::f32, 1, line(44, dtype::f32, {8}));
  }
  ranks.all_reduce(x.data(), x.data(), 1000000, dtype::f32, comm::reduction::sum,
                   line(41, dtype::f32, {1000, 1000}));
  if (what == "finalized_early") {
    MPI_Finalize();
    ranks.all_reduce(x.data(), x.data(), 8, dtype::f32, comm::reduction::sum, {});
  }
}

/// The sentence of what MPI is not ready for; status 3.
int refused(std::string_view what) {
  try {
    if (what == "null_communicator") {
      comm::mpi_grid grid({MPI_COMM_NULL, {}}, axes);
    } else if (what == "not_initialized") {
      comm::mpi_grid grid({}, axes);
    } else {
      run(what);
    }
  } catch (const error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 3;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "not_initialized") return refused(what);
  MPI_Init(&argc, &argv);  // MPI_THREAD_SINGLE is enough
  if (what == "null_communicator" || what == "finalized_early") {
    const int status = refused(what);
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized == 0) MPI_Finalize();
    return status;
  }
  if (what == "throws_through") {
    comm::guarded([&] { run(what); });
  } else if (what == "throws_past_guard") {
    try {
      const comm::abort_guard guard;
      run(what);
    } catch (const std::exception&) {
      sleep(20);
    }
  } else {
    const comm::abort_guard guard;
    run(what);
    std::puts("fine");
  }
  MPI_Finalize();
  return 0;
}
