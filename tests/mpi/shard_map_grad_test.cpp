// mpi/shard_map_grad_test.cpp: a function of a mesh differentiated and mapped from outside: as from
// inside, and as on one process.
// Reads: support/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/collective.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/scan.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/shard_map.hpp"
#include "atled/transform/vmap.hpp"

#include "support/ranks.hpp"
#include <cmath>
#include <tuple>
#include <vector>

using namespace atled;

namespace {

using pairs = mesh<axis<"copy">, axis<"pair", 2>>;
using one = tensor<f64, 1>;
using two = tensor<f64, 2>;
using scalar = tensor<f64>;
using numbers = std::vector<double>;
constexpr auto pair = axis<"pair">;

template <class T>
numbers numbers_of(const T& x) {
  return {x.data(), x.data() + x.size()};
}

constexpr auto weight = [](auto x) { return convert(axis_index(x, pair) + 1, dtype::f64); };

constexpr auto squares = [](auto w, auto d) { return psum(sum((w * w + 1.0) * d), pair); };
constexpr auto means = [](auto w, auto d) { return pmean(sum((w + 1.0) * d), pair); };
constexpr auto gathers = [](auto x) {
  const auto all = all_gather(sum(x), pair);
  return psum(weight(x) * sum(all * (iota_like(all) + 1)), pair);
};
constexpr auto scatters = [](auto x) {
  return psum((axis_index(x, pair) * -9 + 10) * psum_scatter(x, pair), pair);
};
constexpr auto moves = [](auto x) {
  return psum(weight(x) * ppermute(sum(x), pair, {{0, 1}, {1, 0}}), pair);
};
constexpr auto leaves = [](auto x) {
  return psum(weight(x) * ppermute(sum(x), pair, {{0, 1}}), pair);
};
constexpr auto largest = [](auto x) { return pmax(sum(x), pair); };
/// w^3 s0 + w^2 s1 + w s2, where s_i is the sum of the squares of row i over the ranks.
constexpr auto trips = [](auto w, auto rows) {
  const auto trip = [&](auto carry, auto row) {
    return std::pair((carry + psum(row * row, pair)) * w, carry);
  };
  return sum(scan(trip, zeros_like(w), rows).first);
};

/// w x where x is above 0, else w + x.
constexpr auto branches = [](auto w, auto x) {
  const auto above = [](auto v, auto y) { return v * y; };
  const auto below = [](auto v, auto y) { return v + y; };
  return psum(cond(sum(x) > 0.0, above, below, w, sum(x)), pair);
};

comm::grid* all_ranks = nullptr;
template <class F, class In, class Out>
constexpr shard_map_function<std::remove_const_t<F>, pairs, In, Out> on_pairs(const F&, In, Out) {
  return {};
}
/// Blocks leave the mesh and come back: the sum of (w x)^2 over all ranks.
constexpr auto scaled = [](auto w, auto x) { return w * x; };
constexpr auto total = [](auto x) { return psum(sum(x * x), pair); };
constexpr auto weighted = [](auto x) { return psum(weight(x) * sum(x), pair); };
struct through_blocks {
  [[nodiscard]] static comm::grid* ranks() { return all_ranks; }
  constexpr auto operator()(auto w, auto x) const {
    const auto y = on_pairs(scaled, each<P<>, P<"pair">>, each<P<"pair">>)(w, x);
    return on_pairs(total, each<P<"pair">>, each<P<>>)(y);
  }
};
/// What ranks share leaves as a block of each, and is used in each in its own way.
constexpr auto doubled = [](auto w) { return w * 2.0; };
struct through_copies {
  [[nodiscard]] static comm::grid* ranks() { return all_ranks; }
  constexpr auto operator()(auto w) const {
    const auto y = on_pairs(doubled, each<P<>>, each<P<"pair">>)(w);
    return on_pairs(weighted, each<P<"pair">>, each<P<>>)(y);
  }
};
/// A sum over lanes, each of which runs on the mesh.
struct sum_of_lanes {
  [[nodiscard]] static comm::grid* ranks() { return all_ranks; }
  constexpr auto operator()(auto w, auto x) const {
    return sum(vmap(on_pairs(squares, each<P<>, P<"pair">>, each<P<>>), in_axes<0, none>)(w, x));
  }
};

}  // namespace

TEST_CASE("grad: of a function of a mesh, from outside, known beforehand", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  const bool second = support::rank() % 2 != 0;
  const auto of_rank = [&](double a, double b) { return numbers{second ? b : a}; };
  const one d{second ? 1.0 : 0.0};
  constexpr auto shared_and_split = in_specs<P<>, P<"pair">>;
  constexpr auto split = in_specs<P<"pair">>;
  constexpr auto shared = out_specs<P<>>;

  const auto [l1, d1] = value_and_grad(shard_map(squares, devices, shared_and_split, shared),
                                       argnums<0, 1>)(scalar(1), d);
  CHECK(l1.item() == 2);
  CHECK(std::get<0>(d1).item() == 2);
  CHECK(numbers_of(std::get<1>(d1)) == numbers{2});
  const auto f2 = shard_map(means, devices, shared_and_split, shared);
  CHECK(value_and_grad(f2)(scalar(2), second ? one{5} : one{1}).second.item() == 3);
  CHECK(numbers_of(grad(shard_map(gathers, devices, split, shared))(second ? one{7} : one{5})) ==
        of_rank(3, 6));
  CHECK(numbers_of(grad(shard_map(scatters, devices, split, shared))(
            second ? two{3, 4} : two{1, 2})) == numbers{10, 1});
  CHECK(numbers_of(grad(shard_map(moves, devices, split, shared))(d)) == of_rank(2, 1));
  CHECK(numbers_of(grad(shard_map(leaves, devices, split, shared))(d)) == of_rank(2, 0));
  CHECK(numbers_of(grad(shard_map(largest, devices, split, shared))(one{2})) == numbers{0.5});
}

TEST_CASE("grad: of blocks that leave a mesh and come back", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  all_ranks = &devices.ranks();
  const double mine = support::rank() % 2 != 0 ? 4 : 3;
  const auto [value, slopes] =
      jit(value_and_grad(through_blocks(), argnums<0, 1>))(scalar(2), one{mine});
  CHECK(value.item() == 4 * 25);
  CHECK(std::get<0>(slopes).item() == 2 * 2 * 25);
  CHECK(numbers_of(std::get<1>(slopes)) == numbers{2 * 4 * mine});
  const auto [sum_of_both, slope] = jit(value_and_grad(through_copies()))(one{5});
  CHECK(sum_of_both.item() == 30);
  CHECK(numbers_of(slope) == numbers{6});
}

TEST_CASE("grad: ranks take a branch each, and their gradients are summed after it", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  const auto f = shard_map(branches, devices, in_specs<P<>, P<"pair">>, out_specs<P<>>);
  const double mine = support::rank() % 2 != 0 ? -4 : 3;
  const auto [by_w, by_x] = grad(f, argnums<0, 1>)(scalar(2), one{mine});
  CHECK(by_w.item() == 3 + 1);
  CHECK(numbers_of(by_x) == numbers{mine > 0 ? 2.0 : 1.0});
}

TEST_CASE("grad: twice, through loops and through lanes of a function of a mesh", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  const double mine = support::rank() % 2 != 0 ? 4 : 3;
  const auto f = shard_map(squares, devices, in_specs<P<>, P<"pair">>, out_specs<P<>>);
  CHECK(grad(grad(f))(scalar(3), one{mine}).item() == 2 * 7);

  using rows = tensor<f64, 3, 1>;
  const rows x{{mine}, {1}, {0}};  // sums of squares 25, 2, 0
  const auto loop = shard_map(trips, devices, in_specs<P<>, P<none, "pair">>, out_specs<P<>>);
  const auto [by_w, by_x] = grad(loop, argnums<0, 1>)(one{2}, x);
  CHECK(numbers_of(by_w) == numbers{3 * 4 * 25 + 2 * 2 * 2});
  CHECK(numbers_of(by_x) == numbers{8 * 2 * mine, 4 * 2, 0});

  const auto lanes = vmap(f, in_axes<0, none>);
  CHECK(numbers_of(lanes(two{1, 2}, one{mine})) == numbers{14, 35});
  CHECK(numbers_of(vmap(grad(f), in_axes<0, none>)(two{1, 2}, one{mine})) == numbers{14, 28});
  all_ranks = &devices.ranks();
  const auto [of_w, of_x] = grad(sum_of_lanes(), argnums<0, 1>)(two{1, 2}, one{mine});
  CHECK(numbers_of(of_w) == numbers{14, 28});
  CHECK(numbers_of(of_x) == numbers{7});
}
