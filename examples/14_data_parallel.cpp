// 14_data_parallel.cpp: an MPI program that holds its data, and trains where they are.
//
// The program owns MPI, a communicator and Eigen matrices. All ranks fit one small network to the
// rows that each of them holds: the mean over the ranks, differentiated, becomes sums of gradients
// between them, and the build says how many bytes a step sends.
//
//   mpiexec -n 4 example.14_data_parallel
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/core/eigen_map.hpp"
#include "atled/mpi.hpp"

#include <Eigen/Core>

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

constexpr std::int64_t rows = 64;  // of each rank
using ranks = mesh<axis<"data">>;
using matrix = Eigen::Matrix<f32, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class K>
struct network {
  nn::linear<K, f32, 2, 16> hidden;
  nn::linear<K, f32, 16, 1> out;
  ATLED_TREE(network, hidden, out)
  constexpr expr operator()(const expr& x) const { return out(tanh(hidden(x))); }
};

/// The mean over the rows of all ranks; so is its gradient.
constexpr auto loss = [](auto model, auto x, auto y) {
  return pmean(mean(square(model(x) - y)), axis<"data">);
};

constexpr optim::adamw optimizer{.learning_rate = 0.02, .decay = 0};
constexpr auto train_step = [](auto model, auto moments, auto x, auto y) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, y);
  const auto [next, next_moments] = optimizer.update(model, gradient, moments);
  return std::tuple(next, next_moments, value);
};

/// What this rank has measured: a product of two numbers, at places that no other rank has.
void measure(int rank, int num_ranks, matrix& places, matrix& values) {
  for (int i = 0; i < rows; ++i) {
    const auto at = static_cast<f32>(i * num_ranks + rank) * 0.37F;
    places(i, 0) = std::sin(at);
    places(i, 1) = std::cos(at * 1.7F);
    values(i, 0) = places(i, 0) * places(i, 1);
  }
}

bool train(MPI_Comm mine) {
  const ranks devices{mine};
  const int rank = axis_index(devices, axis<"data">);
  const int num_ranks = axis_size(devices, axis<"data">);
  matrix places(rows, 2);
  matrix values(rows, 1);
  measure(rank, num_ranks, places, values);
  const auto x = from_eigen<rows, 2>(places);  // no copy
  const auto y = from_eigen<rows, 1>(values);

  const auto step =
      shard_map(train_step, devices, in_specs<P<>, P<>, P<"data">, P<"data">>, out_specs<P<>>);
  auto model = nn::init<network>(random::key(0));  // the same on all ranks
  auto moments = optimizer.init(model);
  tensor<f32> value;
  using program =
      decltype(step)::program<decltype(model)&&, decltype(moments)&&, decltype(x), decltype(y)>;
  constexpr std::int64_t weights = nn::num_parameters<network<atled::values>>();
  static_assert(program::comm_bytes("data") == 2 * 4 * (weights + 1));  // the gradient, the loss
  if (rank == 0) std::printf("%s", program::comm_report().c_str());

  for (int i = 0; i < 500; ++i) {
    std::tie(model, moments, value) = step(std::move(model), std::move(moments), x, y);
    if (rank == 0 && i % 100 == 0) std::printf("step %d: %.5f\n", i, static_cast<double>(value));
  }
  if (rank == 0) {
    std::printf("%lld rows on %d ranks: %.5f\n", static_cast<long long>(rows * num_ranks),
                num_ranks, static_cast<double>(value));
  }
  // All ranks have made the same steps, to the last bit.
  const f32 weight = model.hidden.weight(1, 3);
  const bool are_equal = pmax(tensor<f32>(weight), devices, axis<"data">).item() == weight;
  return are_equal && value.item() < 0.01F;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &mine);  // in an order of the program's own
  const bool is_right = train(mine);
  MPI_Comm_free(&mine);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
