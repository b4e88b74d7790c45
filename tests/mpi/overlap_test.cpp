// mpi/overlap_test.cpp: collectives under way while kernels run: the memory that they read and
// write is left alone. Reads: support/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/collective.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/shard_map.hpp"

#include "support/ranks.hpp"
#include <array>
#include <tuple>

using namespace atled;

namespace {

using line = mesh<axis<"data">>;
constexpr auto data = axis<"data">;
using matrix = tensor<f32, 128, 128>;

/// A chain of layers: the gradient of each weight is summed while those before it are computed.
constexpr auto gradients = [](auto weights, auto x) {
  const auto loss = [](auto w, auto y) {
    for (const auto& layer : w) y = tanh(matmul(y, layer));
    return pmean(mean(y * y), data);
  };
  return value_and_grad(loss)(weights, x);
};

/// Sums that begin early and are read late, in a loop too, beside work that takes memory.
constexpr auto sums = [](auto x) {
  std::array<expr, 12> early{};
  auto y = x;
  for (std::size_t i = 0; i < early.size(); ++i) {
    early[i] = psum(y + static_cast<double>(i), data);
    y = matmul(y, x) * 0.25f;
  }
  const auto looped = fori_loop(
      0, 3, [&](auto, auto v) { return v * 0.5f + pmean(v, data); }, pvary(y, data));
  auto total = pmean(looped, data);
  for (const expr& e : early) total = total * 0.5f + e;
  return total;
};

matrix block_of(int rank) {
  matrix out;
  for (int i = 0; i < 128; ++i) {
    for (int k = 0; k < 128; ++k) {
      out(i, k) = static_cast<float>((i * 7 + k * 3 + rank * 5) % 11 - 5) / 64;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("collectives: under way beside kernels they give what they give alone", "[mpi]") {
  const line devices{MPI_COMM_WORLD};
  const auto run = shard_map(sums, devices, in_specs<P<"data">>, out_specs<P<>>);
  const auto mine = run(block_of(support::rank()));
  const auto again = run(block_of(support::rank()));
  const line alone;
  const auto one = shard_map(sums, alone, in_specs<P<"data">>, out_specs<P<>>);
  const auto equal = run(block_of(3));
  const auto of_one = one(block_of(3));
  for (std::size_t i = 0; i < mine.span().size(); ++i) {
    REQUIRE(mine.span()[i] == again.span()[i]);
    if (support::num_ranks() == 1) REQUIRE(equal.span()[i] == of_one.span()[i]);
  }
}

TEST_CASE("collectives: gradients of equal blocks are those of one block", "[mpi]") {
  const line devices{MPI_COMM_WORLD};
  const std::array<matrix, 6> weights{block_of(0), block_of(1), block_of(2),
                                      block_of(3), block_of(4), block_of(5)};
  const auto specs = in_specs<P<>, P<"data">>;
  const auto run = shard_map(gradients, devices, specs, out_specs<P<>>);
  const line alone;
  const auto once = shard_map(gradients, alone, specs, out_specs<P<>>);
  const auto [value, together] = run(weights, block_of(9));
  const auto [one_value, one] = once(weights, block_of(9));
  CHECK(value.item() == one_value.item());
  for (std::size_t w = 0; w < weights.size(); ++w) {
    // the mean of 2 or 4 equal numbers is that number
    for (std::size_t i = 0; i < one[w].span().size(); ++i) {
      REQUIRE(together[w].span()[i] == one[w].span()[i]);
    }
  }
}
