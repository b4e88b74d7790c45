// gpt/ranks.cpp: MPI, where the program was built with it and mpiexec has started it.
// Reads: gpt/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/ranks.hpp"

#include "atled/comm/single.hpp"
#include "atled/io/file.hpp"
#ifdef ATLED_WITH_MPI
#  include "atled/mpi.hpp"
#endif

#include <cstdlib>
#include <optional>
#include <string>

namespace gpt {
namespace {

std::optional<ranks>& current() {
  static std::optional<ranks> made;
  return made;
}

/// Started by a launcher of Open MPI, MPICH or Slurm.
[[maybe_unused]] bool has_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;  // NOLINT: before there are threads
  }
  return false;
}

}  // namespace

const ranks& devices() {
  if (!current()) current().emplace();
  return *current();
}
int rank() {
  return devices().ranks().all().rank();
}
int num_ranks() {
  return devices().ranks().all().size();
}

mesh_sizes mesh_of_all(const options& given) {
  const std::int64_t count = num_ranks();
  const auto counted = [&] { return std::to_string(count) + (count == 1 ? " rank" : " ranks"); };
  mesh_sizes out = given.mesh.value_or(mesh_sizes{});
  const std::string model = "model=" + std::to_string(out.model);
  if (out.data == 0) {
    if (count % out.model != 0) {
      atled::io::refuse("--mesh", "train", model + " on " + counted(),
                        counted() + (count == 1 ? " is" : " are") + " not a multiple of " +
                            std::to_string(out.model));
    }
    out.data = count / out.model;
  }
  if (out.data * out.model != count) {
    const std::string needed = std::to_string(out.data * out.model);
    atled::io::refuse("--mesh", "train",
                      "data=" + std::to_string(out.data) + ',' + model + " on " + counted(),
                      "it must be " + std::to_string(out.data) + " * " + std::to_string(out.model) +
                          " = " + needed + " ranks; start it with mpiexec -n " + needed);
  }
  return out;
}

int largest_of_ranks(int mine) {
  int out = mine;
  devices().ranks().all().all_reduce(&mine, &out, 1, atled::dtype::i32, atled::comm::reduction::max,
                                     {atled::call_site::here(), {atled::dtype::i32, {}}});
  return out;
}

session::session([[maybe_unused]] int& argc, [[maybe_unused]] char**& argv) {
#ifdef ATLED_WITH_MPI
  if (!has_launcher()) return;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  is_joined_ = true;
  current().emplace(MPI_COMM_WORLD);
#endif
}

session::~session() {
#ifdef ATLED_WITH_MPI
  current().reset();
  if (is_joined_) MPI_Finalize();
#endif
}

void session::fail([[maybe_unused]] int status) const noexcept {
#ifdef ATLED_WITH_MPI
  if (is_joined_ && num_ranks() > 1) MPI_Abort(MPI_COMM_WORLD, status);
#endif
}

}  // namespace gpt
