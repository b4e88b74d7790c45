// mpi/collective_test.cpp: collectives of ranks and what is differentiated through them: values
// known beforehand, and equal to those of lanes of a vmap on one process.
// Reads: support/ranks.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/collective.hpp"

#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/optim/clip.hpp"
#include "atled/transform/grad.hpp"
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

template <class Tree>
std::vector<numbers> leaves_of(const Tree& tree) {
  std::vector<numbers> out;
  for_each_leaf([&](const auto& leaf) { out.emplace_back(leaf.data(), leaf.data() + leaf.size()); },
                tree);
  return out;
}

bool are_near(const std::vector<numbers>& x, const std::vector<numbers>& y) {
  bool out = x.size() == y.size();
  for (std::size_t i = 0; out && i < x.size(); ++i) {
    out = x[i].size() == y[i].size();
    for (std::size_t k = 0; out && k < x[i].size(); ++k) {
      out = std::abs(x[i][k] - y[i][k]) <= 1e-14 * std::abs(y[i][k]);
    }
  }
  return out;
}

/// 1 on the first rank, 2 on the second.
constexpr auto weight = [](auto x) { return convert(axis_index(x, pair) + 1, dtype::f64); };

/// What ranks share, and what differs between them, of the cases with a known answer.
constexpr auto sums = [](auto w, auto d, auto x, auto rows) {
  const auto squares = [](auto v, auto y) { return psum(sum((v * v + 1.0) * y), pair); };
  const auto means = [](auto v, auto y) { return pmean(sum((v + 1.0) * y), pair); };
  const auto gathers = [](auto y) {
    const auto all = all_gather(sum(y), pair);
    return psum(weight(y) * sum(all * (iota_like(all) + 1)), pair);
  };
  const auto scatters = [](auto y) {
    const auto out = psum_scatter(y, pair);
    return std::pair(psum((axis_index(y, pair) * -9 + 10) * out, pair), reshape(out, {1}));
  };
  const auto moves = [](auto y) {
    const auto moved = ppermute(sum(y), pair, {{0, 1}, {1, 0}});
    return psum(weight(y) * moved, pair);
  };
  const auto leaves = [](auto y) {
    return psum(weight(y) * ppermute(sum(y), pair, {{0, 1}}), pair);
  };
  const auto [l1, dw1] = value_and_grad(squares)(w, d);
  const auto [l2, dw2] = value_and_grad(means)(w, d);
  const auto l3 = gathers(x);
  const auto [l4, d_rows] = value_and_grad(scatters, has_aux)(rows);
  return std::tuple(std::tuple(l1, dw1, l2, dw2, l3, l4.first, psum(w, pair)),
                    std::tuple(grad(gathers)(x), l4.second, d_rows, grad(moves)(x), grad(leaves)(x),
                               all_to_all(rows, pair)));
};
constexpr auto sums_in = in_specs<P<>, P<"pair">, P<"pair">, P<"pair">>;

/// The largest of all ranks: no exponential overflows.
constexpr auto log_of_sum = [](auto x) {
  const auto most = stop_gradient(pmax(max(x), pair));
  return most + log(psum(sum(exp(x - most)), pair));
};
constexpr auto extremes = [](auto same, auto big, auto logits, auto part) {
  const auto largest = [](auto y) { return pmax(sum(y), pair); };
  const auto entropy = [](auto y) {  // of label 2 among 4, of which each rank has 2
    const auto place = iota_like(y) + axis_index(y, pair) * 2;
    return log_of_sum(y) - psum(sum(where(place == 2, y, 0.0)), pair);
  };
  const auto [l9, d9] = value_and_grad(log_of_sum)(big);
  const auto [l10, d10] = value_and_grad(entropy)(logits);
  const auto kept = psum(sum(same), pair) * 0.0 + 3.0;
  const auto clipped = optim::clip_by_global_norm(std::tuple(kept, part), 1.0);
  return std::tuple(
      std::tuple(l9, l10, optim::global_norm(std::tuple(kept, part)), std::get<0>(clipped)),
      std::tuple(grad(largest)(same), d9, d10, std::get<1>(clipped)));
};

}  // namespace

TEST_CASE("collectives of two ranks: values and gradients known beforehand", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  const bool second = support::rank() % 2 != 0;
  const auto of_rank = [&](double a, double b) { return numbers{second ? b : a}; };
  const auto pair_of_rank = [&](numbers a, numbers b) { return second ? b : a; };

  const auto f = shard_map(sums, devices, sums_in, out_specs<P<>, P<"pair">>);
  const auto out = f(scalar(1), second ? one{1} : one{0}, second ? one{7} : one{5},
                     second ? two{3, 4} : two{1, 2});
  CHECK(leaves_of(std::get<0>(out)) == std::vector<numbers>{{2}, {2}, {1}, {0.5}, {57}, {46}, {2}});
  CHECK(leaves_of(std::get<1>(out)) == std::vector<numbers>{of_rank(3, 6),
                                                            of_rank(4, 6),
                                                            {10, 1},
                                                            of_rank(2, 1),
                                                            of_rank(2, 0),
                                                            pair_of_rank({1, 3}, {2, 4})});

  const auto g = shard_map(extremes, devices, in_specs<P<"pair">>, out_specs<P<>, P<"pair">>);
  const auto safe =
      g(one{2}, one{1000}, second ? two{-1000, 0} : two{1000, 0}, second ? one{4} : one{0});
  CHECK(are_near(leaves_of(std::get<0>(safe)), {{1000.6931471805599}, {2000}, {5}, {0.6}}));
  CHECK(are_near(leaves_of(std::get<1>(safe)),
                 {{0.5}, {0.5}, pair_of_rank({1, 0}, {-1, 0}), of_rank(0, 0.8)}));
}

TEST_CASE("collectives of two ranks: equal to those of two lanes on one process", "[mpi]") {
  const auto lanes = vmap(sums, in_axes<none, 0, 0, 0>, out_axes<none, 0>, axis_name<"pair">);
  const tensor<f64, 2, 1> d{{0.25}, {3}};
  const tensor<f64, 2, 1> x{{2}, {-1}};
  const tensor<f64, 2, 2> rows{{1, -2}, {0.5, 8}};
  const auto expected = lanes(scalar(0.75), d, x, rows);
  if (support::num_ranks() % 2 != 0) return;
  const pairs devices{MPI_COMM_WORLD};
  const int lane = support::rank() % 2;
  const auto f = shard_map(sums, devices, sums_in, out_specs<P<>, P<"pair">>);
  const auto out =
      f(scalar(0.75), one{d(lane, 0)}, one{x(lane, 0)}, two{rows(lane, 0), rows(lane, 1)});
  CHECK(leaves_of(std::get<0>(out)) == leaves_of(std::get<0>(expected)));
  const auto mine = leaves_of(std::get<1>(out));
  const auto all = leaves_of(std::get<1>(expected));
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto size = static_cast<std::ptrdiff_t>(mine[i].size());
    CHECK(mine[i] == numbers(all[i].begin() + lane * size, all[i].begin() + (lane + 1) * size));
  }
}
