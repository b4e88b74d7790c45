// mpi/comm_bytes_test.cpp: what the build says is sent is what MPI is given, counted below it; and
// a mean over all ranks. Reads: support/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/collective.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/shard_map.hpp"

#include "support/ranks.hpp"
#include <cmath>
#include <tuple>

namespace {
std::int64_t counted = 0;  // bytes in and out of this rank

void count(int elements, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  counted += std::int64_t{elements} * size;
}
int size_of_group(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}
}  // namespace

// MPI's functions under their own names come before those of the library.
extern "C" {
int MPI_Iallreduce(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* r) {
  count(2 * n, type);
  return PMPI_Iallreduce(in, out, n, type, op, comm, r);
}
int MPI_Iallgather(const void* in, int n, MPI_Datatype type, void* out, int m, MPI_Datatype to,
                   MPI_Comm comm, MPI_Request* r) {
  count(n, type);
  count(m * size_of_group(comm), to);
  return PMPI_Iallgather(in, n, type, out, m, to, comm, r);
}
int MPI_Ireduce_scatter_block(const void* in, void* out, int n, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* r) {
  count(n * (1 + size_of_group(comm)), type);
  return PMPI_Ireduce_scatter_block(in, out, n, type, op, comm, r);
}
int MPI_Ialltoall(const void* in, int n, MPI_Datatype type, void* out, int m, MPI_Datatype to,
                  MPI_Comm comm, MPI_Request* r) {
  count(n * size_of_group(comm), type);
  count(m * size_of_group(comm), to);
  return PMPI_Ialltoall(in, n, type, out, m, to, comm, r);
}
int MPI_Isend(const void* in, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* r) {
  count(n, type);
  return PMPI_Isend(in, n, type, to, tag, comm, r);
}
int MPI_Irecv(void* out, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* r) {
  count(n, type);
  return PMPI_Irecv(out, n, type, from, tag, comm, r);
}
}

using namespace atled;

namespace {
constexpr auto pair = axis<"pair">;
using pairs = mesh<axis<"copy">, axis<"pair", 2>>;
using block = tensor<f32, 2, 24>;

/// Each collective once, the sum also in each trip of a loop.
constexpr auto all_of_them = [](auto x) {
  const auto once = psum(x, pair) + pmax(x, pair);
  const auto moved =
      all_to_all(x, pair) + pshift(x, pair) + all_gather(psum_scatter(x, pair), pair);
  const auto looped = fori_loop(
      0, 5, [](auto, auto v) { return v * 0.5f + psum(v, pair) * 0.1f; }, x);
  return once + moved + looped;
};

constexpr auto data = axis<"data">;
constexpr auto mean_loss = [](auto w, auto rows) { return pmean(mean(square(rows * w)), data); };
constexpr auto gradient_of_mean = [](auto w, auto rows) {
  return value_and_grad(mean_loss)(w, rows);
};
}  // namespace

TEST_CASE("comm_bytes: equal to what MPI is given", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{comm::mpi_ranks{MPI_COMM_WORLD, {.shared_memory = false}}};
  const auto f =
      shard_map(all_of_them, devices, in_specs<P<none, "pair">>, out_specs<P<none, "pair">>);
  using program = decltype(f)::program<block>;
  constexpr std::int64_t whole = 2 * 24 * 4;
  static_assert(program::comm_bytes("pair") == (2 + 2 + 2 + 2 + 5 * 2) * whole + 2 * 3 * whole / 2);
  static_assert(program::comm_bytes("copy") == 0);
  static_cast<void>(f(block()));  // ranks compare their programs at the first call
  counted = 0;
  static_cast<void>(f(block()));
  CHECK(counted == program::comm_bytes("pair"));
}

TEST_CASE("pmean: over an open axis, by as many rows as there are", "[mpi]") {
  const mesh<axis<"data">> devices{MPI_COMM_WORLD};
  const auto f = shard_map(gradient_of_mean, devices, in_specs<P<>, P<"data">>, out_specs<P<>>);
  using program = decltype(f)::program<tensor<f64>, tensor<f64, 12>>;
  static_assert(program::num_collectives == 2);  // the loss, and the gradient: none for its size
  tensor<f64, 12> rows;
  double sum = 0;
  for (int i = 0; i < 12 * support::num_ranks(); ++i) {
    const double at = std::sin(i * 0.7);
    sum += at * at;
    if (i / 12 == support::rank()) rows(i % 12) = at;
  }
  const double mean_square = sum / (12 * support::num_ranks());
  const auto [value, gradient] = f(tensor<f64>(3), rows);
  CHECK(std::abs(value.item() - 9 * mean_square) < 1e-14 * 9);
  CHECK(std::abs(gradient.item() - 6 * mean_square) < 1e-14 * 9);
}
