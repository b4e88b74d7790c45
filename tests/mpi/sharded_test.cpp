// mpi/sharded_test.cpp: a training step split over ranks is the step of one process: data parallel
// on any number of ranks, tensor parallel and fully sharded on an even one.
// Reads: support/ranks.hpp, transform/sharded.hpp.
// SPDX-License-Identifier: MIT
#include "atled/transform/sharded.hpp"

#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"

#include "support/ranks.hpp"
#include "support/tree_distance.hpp"
#include <cmath>
#include <tuple>

using namespace atled;

namespace {

template <class K>
struct plain_mlp {
  nn::linear<K, f32, 16, 32> hidden;
  nn::linear<K, f32, 32, 4> out;
  ATLED_TREE(plain_mlp, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};
template <class K>
struct split_mlp {  // two annotations more
  nn::linear<K, f32, 16, 32, P<none, "model">> hidden;
  nn::linear<K, f32, 32, 4, P<"model", none>> out;
  ATLED_TREE(split_mlp, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};
template <class K>
struct stored_mlp {  // fully sharded
  nn::linear<K, f32, 16, 32, P<gathered<"model">>> hidden;
  nn::linear<K, f32, 32, 4, P<gathered<"model">>> out;
  ATLED_TREE(stored_mlp, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};

constexpr auto loss = [](auto model, auto x, auto y) { return mean(square(model(x) - y)); };
constexpr auto train = [](auto model, auto x, auto y) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, y);
  return std::tuple(
      tree_map([](const auto& w, const auto& d) { return expr(w - 0.5f * d); }, model, gradient),
      value);
};

template <class Tensor>
Tensor numbers_from(std::int64_t seed) {
  Tensor out;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.data()[i] = static_cast<f32>(((i + seed) * 37 + 11) % 101 - 50) / 100;
  }
  return out;
}
template <class Model>
Model model_of_numbers() {
  Model out;
  std::int64_t seed = 0;
  for_each_leaf(
      [&](auto& leaf) { leaf = numbers_from<std::remove_cvref_t<decltype(leaf)>>(seed += 1000); },
      out);
  return out;
}

constexpr std::int64_t rows = 8;  // of each rank
template <std::int64_t Ranks>
auto one_process(int steps) {
  auto model = model_of_numbers<plain_mlp<values>>();
  const auto step = jit(train);
  tensor<f32> value;
  for (int i = 0; i < steps; ++i) {
    std::tie(model, value) = step(std::move(model), numbers_from<tensor<f32, rows * Ranks, 16>>(5),
                                  numbers_from<tensor<f32, rows * Ranks, 4>>(7));
  }
  return std::tuple(model, value);
}
/// Rows of this rank along a data axis.
template <class Block, class Mesh>
Block rows_of(const Mesh& devices, std::int64_t seed) {
  Block out;
  const std::int64_t first = devices.ranks().along(0).rank() * out.size();
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.data()[i] = static_cast<f32>(((i + first + seed) * 37 + 11) % 101 - 50) / 100;
  }
  return out;
}

template <class Model, class Mesh>
auto steps_on(const Mesh& devices, Model model, int steps) {
  const auto step = jit(train, devices, in_specs<none, P<"data">, P<"data">>, out_specs<none, P<>>);
  tensor<f32> value;
  for (int i = 0; i < steps; ++i) {
    std::tie(model, value) = step(std::move(model), rows_of<tensor<f32, rows, 16>>(devices, 5),
                                  rows_of<tensor<f32, rows, 4>>(devices, 7));
  }
  return std::tuple(model, value);
}

template <template <class> class Model, class Mesh>
auto on_ranks(const Mesh& devices, int steps) {
  return steps_on(devices, device_put(model_of_numbers<Model<values>>(), devices), steps);
}

}  // namespace

TEST_CASE("jit over a mesh: data parallel steps are those of one process on all rows", "[mpi]") {
  const mesh<axis<"data">> devices{MPI_COMM_WORLD};
  const auto actual = on_ranks<plain_mlp>(devices, 3);
  const auto near = [&](const auto& expected) {
    CHECK(support::tree_distance(actual, expected) < 1e-6);
  };
  if (support::num_ranks() == 1) near(one_process<1>(3));
  if (support::num_ranks() == 2) near(one_process<2>(3));
  if (support::num_ranks() == 4) near(one_process<4>(3));
}

TEST_CASE("jit over a mesh: tensor parallel and fully sharded steps give blocks of the same model",
          "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const mesh<axis<"data">, axis<"model", 2>> devices{MPI_COMM_WORLD};
  const auto check = [&](const auto& actual, auto expected, auto whole) {
    for_each_leaf([](auto& to, const auto& from) { to = from; }, whole, std::get<0>(expected));
    CHECK(support::tree_distance(std::get<0>(actual), device_put(whole, devices)) < 1e-6);
    CHECK(support::tree_distance(std::get<1>(actual), std::get<1>(expected)) < 1e-6);
  };
  const auto split = on_ranks<split_mlp>(devices, 3);
  const auto stored = on_ranks<stored_mlp>(devices, 3);
  if (support::num_ranks() == 2) {
    check(split, one_process<1>(3), split_mlp<values>());
    check(stored, one_process<1>(3), stored_mlp<values>());
  } else {
    check(split, one_process<2>(3), split_mlp<values>());
    check(stored, one_process<2>(3), stored_mlp<values>());
  }
}

TEST_CASE(
    "jit over a mesh: a model of the policy values is whole on each rank, whatever its layers "
    "say",
    "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const mesh<axis<"data">, axis<"model", 2>> devices{MPI_COMM_WORLD};
  const auto [model, value] = steps_on(devices, model_of_numbers<split_mlp<values>>(), 3);
  const auto check = [&](const auto& expected) {
    for_each_leaf(
        [](const auto& x, const auto& y) {
          REQUIRE(x.size() == y.size());
          for (std::int64_t i = 0; i < x.size(); ++i) {
            REQUIRE(std::abs(x.data()[i] - y.data()[i]) < 1e-6F);
          }
        },
        model, std::get<0>(expected));
    CHECK(support::tree_distance(value, std::get<1>(expected)) < 1e-6);
  };
  if (support::num_ranks() == 2) check(one_process<1>(3));
  if (support::num_ranks() == 4) check(one_process<2>(3));
}
