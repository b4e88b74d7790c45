// 15_halo_exchange.cpp: a simulation on many ranks, differentiated through its communication.
//
// Heat flows and drifts around a ring that is cut into pieces, one a rank. In each step a rank
// needs the last cell of its left neighbour and the first of its right one: two `pshift`s. How far
// the end state is from a wanted one is differentiated by the two coefficients; the gradient goes
// back through all steps and all messages, and is compared with differences.
//
//   mpiexec -n 4 example.15_halo_exchange
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/mpi.hpp"

#include <cmath>
#include <cstdio>

using namespace atled;

namespace {

constexpr std::int64_t cells = 32;  // of each rank
constexpr std::int64_t steps = 40;
constexpr double pi = 3.141592653589793;
constexpr auto ring = axis<"ring">;

/// The state after all steps; law holds the strength of diffusion and of drift.
constexpr auto simulate = [](auto law, auto state) {
  const auto step = [&](auto, auto u) {
    const auto from_left = pshift(slice_in_dim(u, cells - 1, cells), ring, 1);
    const auto from_right = pshift(slice_in_dim(u, 0, 1), ring, -1);
    const auto wide = concatenate({from_left, u, from_right});
    const auto left = slice_in_dim(wide, 0, cells);
    const auto right = slice_in_dim(wide, 2, cells + 2);
    return u + law(0) * (left - 2.0 * u + right) + law(1) * (left - right);
  };
  return fori_loop(0, steps, step, state);
};

/// How far the end is from what is wanted, over all cells of all ranks.
constexpr auto misfit = [](auto law, auto state, auto wanted) {
  return psum(sum(square(simulate(law, state) - wanted)), ring);
};
constexpr auto misfit_and_gradient = [](auto law, auto state, auto wanted) {
  return value_and_grad(misfit)(law, state, wanted);
};

bool run() {
  const mesh<axis<"ring">> devices{MPI_COMM_WORLD};
  const int rank = axis_index(devices, ring);
  const int num_ranks = axis_size(devices, ring);
  tensor<f64, cells> state;
  tensor<f64, cells> wanted;
  for (int i = 0; i < cells; ++i) {
    const double at =
        2 * pi * static_cast<double>(rank * cells + i) / static_cast<double>(num_ranks * cells);
    state(i) = std::exp(-4 * (1 - std::cos(at - 1)));
    wanted(i) = std::exp(-3 * (1 - std::cos(at - 1.5)));
  }

  const auto specs = in_specs<P<>, P<"ring">, P<"ring">>;
  const auto of = shard_map(misfit, devices, specs, out_specs<P<>>);
  const auto with_gradient = shard_map(misfit_and_gradient, devices, specs, out_specs<P<>>);
  const tensor<f64, 2> law{0.2, 0.1};
  const auto [value, gradient] = with_gradient(law, state, wanted);
  if (rank == 0) std::printf("%d ranks: misfit %.9f\n", num_ranks, value.item());

  bool is_right = true;
  for (int i = 0; i < 2; ++i) {
    const double h = 1e-5;
    tensor<f64, 2> above = law;
    tensor<f64, 2> below = law;
    above(i) += h;
    below(i) -= h;
    const double slope =
        (of(above, state, wanted).item() - of(below, state, wanted).item()) / (2 * h);
    is_right &= std::abs(slope - gradient(i)) < 1e-7 * (1 + std::abs(slope));
    if (rank == 0) std::printf("by law(%d): gradient %.9f, slope %.9f\n", i, gradient(i), slope);
  }
  return is_right;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const bool is_right = run();
  MPI_Finalize();
  return is_right ? 0 : 1;
}
