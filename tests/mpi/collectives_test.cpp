// mpi/collectives_test.cpp: each collective against what its definition says, by MPI and by memory.
// Reads: support/ranks.hpp, comm/mpi_grid.hpp.
// SPDX-License-Identifier: MIT
#include "support/ranks.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace atled;

constexpr comm::axis_size one_axis[] = {{"data", 0}};

comm::place here(call_site at = call_site::here()) {
  return {at, {dtype::f32, shape::of({1})}};
}

/// The ways a call may go; the last sends in pieces of 7 elements.
std::vector<comm::mpi_options> ways() {
  return {{.time_limit = 20},
          {.time_limit = 20, .shared_memory = false},
          {.time_limit = 20, .shared_memory = false, .compare_calls = true, .piece_limit = 7}};
}

/// Small, one chunk, many chunks with a rest.
constexpr std::int64_t counts[] = {0, 1, 5, 4096, 70001, 400003};

double value_of(int rank, std::int64_t i) {
  return static_cast<double>((i * 7 + rank * 13) % 101 - 50);
}

template <class T>
std::vector<T> operand(int rank, std::int64_t count) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<T, bf16>) {
      out.push_back(bf16(static_cast<float>(value_of(rank, i))));
    } else {
      out.push_back(static_cast<T>(value_of(rank, i)));
    }
  }
  return out;
}

template <class T>
double number(T value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

template <class T>
void check_reductions(comm::communicator& ranks, std::int64_t count) {
  const int me = ranks.rank();
  const int n = ranks.size();
  const auto in = operand<T>(me, count);
  std::vector<T> out(in.size());
  for (const auto how : {comm::reduction::sum, comm::reduction::max, comm::reduction::min}) {
    const auto want = [&](std::int64_t i) {
      double sum = value_of(0, i);
      for (int r = 1; r < n; ++r) {
        const double x = value_of(r, i);
        sum = how == comm::reduction::sum   ? sum + x
              : how == comm::reduction::max ? std::max(sum, x)
                                            : std::min(sum, x);
      }
      return number(static_cast<T>(sum));
    };
    ranks.all_reduce(in.data(), out.data(), count, dtype_of<T>(), how, here());
    int mistakes = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      mistakes += number(out[static_cast<std::size_t>(i)]) != want(i);
    }
    CHECK(mistakes == 0);
    auto both = in;
    ranks.all_reduce(both.data(), both.data(), count, dtype_of<T>(), how, here());
    mistakes = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      mistakes += number(both[static_cast<std::size_t>(i)]) != want(i);
    }
    CHECK(mistakes == 0);

    // Row r of the operand of rank q is shifted by r, so row `me` combines those.
    std::vector<T> rows;
    for (int r = 0; r < n; ++r) {
      const auto row = operand<T>(me + r, count);
      rows.insert(rows.end(), row.begin(), row.end());
    }
    ranks.reduce_scatter(rows.data(), out.data(), count, dtype_of<T>(), how, here());
    mistakes = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      double sum = value_of(me, i);
      for (int r = 1; r < n; ++r) {
        const double x = value_of(r + me, i);
        sum = how == comm::reduction::sum   ? sum + x
              : how == comm::reduction::max ? std::max(sum, x)
                                            : std::min(sum, x);
      }
      mistakes += number(out[static_cast<std::size_t>(i)]) != number(static_cast<T>(sum));
    }
    CHECK(mistakes == 0);
  }
}

void check_moves(comm::communicator& ranks, std::int64_t count) {
  const int me = ranks.rank();
  const int n = ranks.size();
  const auto in = operand<i32>(me, count);
  const auto size = in.size();
  std::vector<i32> all(size * static_cast<std::size_t>(n));
  const auto row_is = [&](const std::vector<i32>& out, int r, int want) {
    const auto row = operand<i32>(want, count);
    return std::equal(row.begin(), row.end(), out.begin() + static_cast<std::ptrdiff_t>(size) * r);
  };

  ranks.all_gather(in.data(), all.data(), count, dtype::i32, here());
  for (int r = 0; r < n; ++r) CHECK(row_is(all, r, r));

  std::vector<i32> rows;
  for (int r = 0; r < n; ++r) {
    const auto row = operand<i32>(10 * me + r, count);
    rows.insert(rows.end(), row.begin(), row.end());
  }
  ranks.all_to_all(rows.data(), all.data(), count, dtype::i32, here());
  for (int r = 0; r < n; ++r) CHECK(row_is(all, r, 10 * r + me));

  auto ring = in;
  ranks.permute(ring.data(), ring.data(), count, dtype::i32, (me + n - 1) % n, (me + 1) % n,
                here());
  CHECK(row_is(ring, 0, (me + n - 1) % n));
  auto chain = in;  // nothing comes to rank 0
  ranks.permute(in.data(), chain.data(), count, dtype::i32, me - 1, me + 1 < n ? me + 1 : -1,
                here());
  CHECK((me == 0 ? chain == std::vector<i32>(size) : row_is(chain, 0, me - 1)));

  auto same = in;
  ranks.broadcast(same.data(), same.data(), count, dtype::i32, n - 1, here());
  CHECK(row_is(same, 0, n - 1));
  std::vector<i32> other(size);
  ranks.broadcast(in.data(), other.data(), count, dtype::i32, 0, here());
  CHECK(row_is(other, 0, 0));
  ranks.barrier(here());

  if (n == 1) return;
  if (me == 0) ranks.send(in.data(), count, dtype::i32, 1, here());
  if (me == 1) {
    ranks.receive(other.data(), count, dtype::i32, 0, here());
    CHECK(row_is(other, 0, 0));
  }
}

TEST_CASE("collectives: each gives what its definition says, by memory and by MPI", "[mpi]") {
  for (const auto& way : ways()) {
    comm::mpi_grid grid({MPI_COMM_WORLD, way}, one_axis);
    for (const std::int64_t count : counts) {
      if (way.piece_limit == 7 && count > 100) continue;
      check_reductions<f32>(grid.all(), count);
      check_moves(grid.along(0), count);
    }
    const std::int64_t many = way.piece_limit == 7 ? 30 : 30000;
    check_reductions<i64>(grid.all(), many);
    check_reductions<i32>(grid.all(), many);
    check_reductions<f64>(grid.all(), 9);
  }
}

TEST_CASE("collectives: sums of bf16 are those of f32, rounded", "[mpi]") {
  for (const auto& way : ways()) {
    comm::mpi_grid grid({MPI_COMM_WORLD, way}, one_axis);
    const bf16 in[3] = {bf16(1.5F), bf16(-256.0F), bf16(0.125F)};
    bf16 out[3];
    grid.all().all_reduce(in, out, 3, dtype::bf16, comm::reduction::sum, here());
    const auto n = static_cast<float>(support::num_ranks());
    CHECK(static_cast<float>(out[0]) == 1.5F * n);
    CHECK(static_cast<float>(out[1]) == -256.0F * n);
    CHECK(static_cast<float>(out[2]) == 0.125F * n);
  }
}

TEST_CASE("collectives: a NaN of any rank is the maximum", "[mpi]") {
  for (const auto& way : ways()) {
    comm::mpi_grid grid({MPI_COMM_WORLD, way}, one_axis);
    const bool is_last = support::rank() == support::num_ranks() - 1;
    const float in[1] = {is_last ? std::numeric_limits<float>::quiet_NaN() : 1.0F};
    float out[1];
    grid.all().all_reduce(in, out, 1, dtype::f32, comm::reduction::max, here());
    CHECK(std::isnan(out[0]));
    grid.all().all_reduce(in, out, 1, dtype::f32, comm::reduction::min, here());
    CHECK(std::isnan(out[0]));
  }
}

TEST_CASE("collectives: a sum has the same bits on all ranks and on every way", "[mpi]") {
  for (const std::int64_t count : {3, 100000}) {
    std::vector<float> first;
    comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20}}, one_axis);
    auto& ranks = grid.all();
    const auto size = static_cast<std::size_t>(count);
    std::vector<float> in;
    for (std::size_t i = 0; i < size; ++i) {
      in.push_back(1.0F / static_cast<float>(3 + ranks.rank() + static_cast<int>(i) % 1000));
    }
    std::vector<float> out(size);
    ranks.all_reduce(in.data(), out.data(), count, dtype::f32, comm::reduction::sum, here());
    std::vector<float> of_all(size * static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(out.data(), of_all.data(), count, dtype::f32, here());
    for (std::size_t i = 0; i < of_all.size(); i += size) {
      CHECK(std::memcmp(&of_all[i], out.data(), size * 4) == 0);
    }
    // In buffers that all see, and with parts of another size: still in the order of the ranks.
    auto* shared = static_cast<float*>(grid.shared_buffer(2 * count * 4));
    REQUIRE(shared != nullptr);
    std::copy(in.begin(), in.end(), shared);
    ranks.all_reduce(shared, shared + count, count, dtype::f32, comm::reduction::sum, here());
    CHECK(std::memcmp(shared + count, out.data(), size * 4) == 0);
    ranks.all_reduce(shared, shared, count, dtype::f32, comm::reduction::sum, here());
    CHECK(std::memcmp(shared, out.data(), size * 4) == 0);
  }
}

TEST_CASE("collectives: operands in shared buffers need no copy", "[mpi]") {
  comm::mpi_grid grid({MPI_COMM_WORLD, {.time_limit = 20}}, one_axis);
  auto& ranks = grid.all();
  const int me = ranks.rank();
  const int n = ranks.size();
  constexpr std::int64_t count = 50000;
  auto* in = static_cast<i32*>(grid.shared_buffer(4 * count * n));
  const auto fill = [&] {
    for (int r = 0; r < n; ++r) {
      const auto row = operand<i32>(10 * me + r, count);
      std::copy(row.begin(), row.end(), in + r * count);
    }
  };
  const auto is = [](const i32* out, int want) {
    const auto row = operand<i32>(want, count);
    return std::equal(row.begin(), row.end(), out);
  };
  std::vector<i32> out(static_cast<std::size_t>(count * n));
  fill();
  ranks.all_to_all(in, out.data(), count, dtype::i32, here());
  for (int r = 0; r < n; ++r) CHECK(is(out.data() + r * count, 10 * r + me));
  fill();
  ranks.all_gather(in, out.data(), count, dtype::i32, here());
  for (int r = 0; r < n; ++r) CHECK(is(out.data() + r * count, 10 * r));
  ranks.broadcast(in, out.data(), count, dtype::i32, n - 1, here());
  CHECK(is(out.data(), 10 * (n - 1)));
  ranks.permute(in, out.data(), count, dtype::i32, (me + 1) % n, (me + n - 1) % n, here());
  CHECK(is(out.data(), 10 * ((me + 1) % n)));
  ranks.permute(in, in, count, dtype::i32, (me + 1) % n, (me + n - 1) % n, here());
  CHECK(is(in, 10 * ((me + 1) % n)));
  fill();
  ranks.reduce_scatter(in, out.data(), count, dtype::i32, comm::reduction::max, here());
  int mistakes = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    i32 want = -1000;
    for (int r = 0; r < n; ++r) want = std::max(want, static_cast<i32>(value_of(10 * r + me, i)));
    mistakes += out[static_cast<std::size_t>(i)] != want;
  }
  CHECK(mistakes == 0);
}

TEST_CASE("collectives: started calls are waited for in any order", "[mpi]") {
  for (const auto& way : ways()) {
    if (way.piece_limit == 7) continue;
    comm::mpi_grid grid({MPI_COMM_WORLD, way}, one_axis);
    auto& ranks = grid.all();
    const std::int64_t sizes[] = {3, 90000, 1, 200000, 2, 17, 40000, 5, 6, 7, 8, 9};
    std::vector<std::vector<i32>> in;
    std::vector<std::vector<i32>> out;
    std::vector<comm::request> open;
    for (const std::int64_t count : sizes) {
      in.push_back(operand<i32>(ranks.rank(), count));
      out.emplace_back(in.back().size());
    }
    for (std::size_t i = 0; i < in.size(); ++i) {
      open.push_back(ranks.start({.what = comm::collective::all_reduce,
                                  .element = dtype::i32,
                                  .count = sizes[i],
                                  .in = in[i].data(),
                                  .out = out[i].data(),
                                  .where = here()}));
      (void)ranks.test(open.front());
    }
    for (std::size_t i = in.size(); i-- > 0;) ranks.wait(open[i]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      i32 want = 0;
      const auto last = static_cast<std::int64_t>(in[i].size()) - 1;
      for (int r = 0; r < ranks.size(); ++r) want += static_cast<i32>(value_of(r, last));
      CHECK(out[i].back() == want);
      CHECK(open[i].is_done());
    }
  }
}

}  // namespace
