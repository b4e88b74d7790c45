// mpi/grid_test.cpp: a mesh on MPI ranks: its groups, its errors, and the user's communicator.
// Reads: support/ranks.hpp, comm/mpi_grid.hpp.
// SPDX-License-Identifier: MIT
#include "support/ranks.hpp"
#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace atled;

comm::place here(call_site at = call_site::here()) {
  return {at, {dtype::i32, shape::of({1})}};
}

/// The sum of the numbers of the ranks of a group.
i32 sum_of_ranks(comm::communicator& ranks) {
  const i32 mine = support::rank();
  i32 out = 0;
  ranks.all_reduce(&mine, &out, 1, dtype::i32, comm::reduction::sum, here());
  return out;
}

TEST_CASE("grid: the last axis counts fastest", "[mpi]") {
  if (support::num_ranks() != 4) return;
  for (const bool is_shared : {true, false}) {
    const comm::axis_size axes[] = {{"data", 0}, {"model", 2}};
    comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20, .shared_memory = is_shared}}, axes);
    const int me = support::rank();
    CHECK(grid.num_axes() == 2);
    CHECK(grid.all().size() == 4);
    CHECK(grid.along(0).rank() == me / 2);
    CHECK(grid.along(1).rank() == me % 2);
    CHECK(grid.along(1).axis() == "model");
    CHECK(sum_of_ranks(grid.all()) == 6);
    CHECK(sum_of_ranks(grid.along(0)) == (me % 2 == 0 ? 2 : 4));
    CHECK(sum_of_ranks(grid.along(1)) == (me / 2 == 0 ? 1 : 5));
    CHECK(&grid.over(1) == &grid.along(0));
    CHECK(&grid.over(3) == &grid.all());
  }
}

TEST_CASE("grid: a set of axes has a group of its own", "[mpi]") {
  if (support::num_ranks() != 4) return;
  const comm::axis_size axes[] = {{"data", 2}, {"pipe", 1}, {"model", 2}};
  comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20}}, axes);
  CHECK(grid.over(0b101).size() == 4);
  CHECK(grid.over(0b101).axis() == "data,model");
  CHECK(&grid.over(0b101) == &grid.over(0b101));
  CHECK(sum_of_ranks(grid.over(0b011)) == (support::rank() % 2 == 0 ? 2 : 4));
}

TEST_CASE("grid: ranks that do not fit the mesh are refused on all of them", "[mpi]") {
  const comm::axis_size axes[] = {{"data", 0}, {"model", 3}};
  const std::string n = std::to_string(support::num_ranks());
  CHECK_THROWS_WITH(comm::mpi_grid({MPI_COMM_WORLD, {}}, axes),
                    "mesh{data:?,model:3}: " + n + (n == "1" ? " rank is" : " ranks are") +
                        " not a multiple of 3");
}

TEST_CASE("grid: the user's communicator may be freed, and may be a part of the world", "[mpi]") {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, support::rank() % 2, 0, &half);
  const comm::axis_size axes[] = {{"data", 0}};
  const auto grid = comm::grid_from<MPI_Comm>::make(half, axes);
  int size = 0;
  MPI_Comm_size(half, &size);
  MPI_Comm_free(&half);
  CHECK(grid->all().size() == size);
  CHECK(grid->along(0).size() == size);
  (void)sum_of_ranks(grid->all());
  CHECK_THROWS_WITH(comm::grid_from<MPI_Comm>::make(half, axes),
                    "mesh{data:?}: the communicator is null: it must be one that is not freed");
}

TEST_CASE("grid: facts of the start are compared, and the ranks that differ named", "[mpi]") {
  const comm::axis_size axes[] = {{"data", 0}};
  comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20}}, axes);
  grid.require_same({{"program", 17}, {"seed", 3}}, "mesh{data:?}");
  if (support::num_ranks() == 1) return;
  const std::uint64_t seed = support::rank() == 1 ? 4 : 3;
  CHECK_THROWS_WITH(grid.require_same({{"program", 17}, {"seed", seed}}, "mesh{data:?}"),
                    "mesh{data:?}: the seed of rank 1 is not that of rank 0: all ranks must begin "
                    "with the same seed");
}

TEST_CASE("grid: another call on one rank is found before data moves", "[mpi]") {
  if (support::num_ranks() != 2) return;
  for (const bool is_shared : {true, false}) {
    const comm::axis_size axes[] = {{"data", 0}};
    comm::mpi_grid grid(
        {MPI_COMM_WORLD, {.time_limit = 20, .shared_memory = is_shared, .compare_calls = true}},
        axes);
    std::vector<float> x(100000, 1);
    const comm::place place{{"train.cpp", 61, ""}, {dtype::f32, shape::of({100})}};
    const bool is_first = support::rank() == 0;
    const std::string start = "train.cpp:61: all_reduce #1 over data, f32[100]: rank 1 is in ";
    const std::string end = ": every rank must enter the same";
    auto& ranks = grid.along(0);
    if (is_first) {
      CHECK_THROWS_WITH(
          ranks.all_reduce(x.data(), x.data(), 100, dtype::f32, comm::reduction::sum, place),
          start + "all_reduce (sum) of 50000 f32, this rank of 100 f32" + end);
    } else {
      CHECK_THROWS_AS(
          ranks.all_reduce(x.data(), x.data(), 50000, dtype::f32, comm::reduction::sum, place),
          error);
    }
    comm::mpi_grid next(
        {MPI_COMM_WORLD, {.time_limit = 20, .shared_memory = is_shared, .compare_calls = true}},
        axes);
    if (is_first) {
      CHECK_THROWS_WITH(next.along(0).all_reduce(x.data(), x.data(), 100, dtype::f32,
                                                 comm::reduction::sum, place),
                        start + "broadcast from rank 0 of 100 f64, this rank of 100 f32" + end);
    } else {
      CHECK_THROWS_AS(next.along(0).broadcast(x.data(), x.data(), 100, dtype::f64, 0, place),
                      error);
    }
  }
}

TEST_CASE("grid: what a rank sends and gets is counted", "[mpi]") {
  const comm::axis_size axes[] = {{"data", 0}};
  comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20}}, axes);
  std::vector<float> x(400);
  std::vector<float> y(400 * 4);
  auto& ranks = grid.along(0);
  ranks.all_reduce(x.data(), x.data(), 400, dtype::f32, comm::reduction::sum, here());
  CHECK(ranks.done().bytes == 2 * 1600);
  ranks.all_gather(x.data(), y.data(), 400, dtype::f32, here());
  CHECK(ranks.done().bytes == 3 * 1600 + 1600 * support::num_ranks());
  CHECK(ranks.done().calls == 2);
}

}  // namespace
