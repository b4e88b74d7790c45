// mpi/tensor_parallel_test.cpp: the GPT of examples/gpt on a mesh of data and model ranks takes the
// steps of one process, and its blocks are put together to the same weights.
// Reads: gpt/model.hpp, support/ranks.hpp, transform/device_put.hpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

#include "gpt/model.hpp"
#include "support/ranks.hpp"
#include "support/tree_distance.hpp"
#include <cstdint>
#include <cstring>
#include <tuple>
#include <utility>

namespace {

using namespace atled;

constexpr std::int64_t rows = 2;  // of each rank
constexpr gpt::config tiny{
    .layers = 2, .heads = 4, .width = 16, .context = 8, .batch = rows, .vocabulary = 12};

using grid = mesh<axis<"data">, axis<"model", 2>>;
using blocks = gpt::state<on<grid>, tiny>;

constexpr auto specs = in_specs<none, P<"data">, P<"data">, P<>>;
constexpr auto results = out_specs<none, P<>>;
using step = decltype(jit(gpt::train_step, std::declval<const grid&>(), specs, results));
using step_program = step::program<blocks, tensor<i32, rows, 8>, tensor<i32, rows, 8>, tensor<f32>>;

// All_reduces of an activation: two a layer forward and two backward, one behind the table and one
// before the head; three of a number for each place in the cross-entropy; and five of a number in
// the norm of the gradient, one for each run of split leaves among the whole ones.
constexpr std::int64_t activation = 2 * rows * 8 * 16 * 4;
constexpr std::int64_t places = 2 * rows * 8 * 4;
static_assert(step_program::comm_bytes("model") ==
              (4 * tiny.layers + 2) * activation + 3 * places + 5 * 2 * 4);

/// Row `row` of all: a text, and from place 1 on what follows.
i32 token(std::int64_t row, std::int64_t place) {
  return static_cast<i32>((row * 7 + place * place + place / 3) % 12);
}
template <std::int64_t B>
tensor<i32, B, 8> text_from(std::int64_t first_row, std::int64_t first_place) {
  tensor<i32, B, 8> out;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    out.data()[i] = token(first_row + i / 8, first_place + i % 8);
  }
  return out;
}

constexpr int num_steps = 3;
constexpr float rate = 1e-2F;

template <std::int64_t Ranks>
auto one_process() {
  auto state = gpt::initial_state<tiny>(3);
  const auto run = jit(gpt::train_step);
  gpt::metrics<values> metrics;
  for (int i = 0; i < num_steps; ++i) {
    std::tie(state, metrics) =
        run(std::move(state), text_from<rows * Ranks>(i, 0), text_from<rows * Ranks>(i, 1), rate);
  }
  return std::pair(std::move(state), metrics);
}

}  // namespace

TEST_CASE("tensor parallel: steps of the gpt on data x model ranks are those of one process",
          "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const grid devices{MPI_COMM_WORLD};
  const std::int64_t first = devices.ranks().along(0).rank() * rows;
  blocks state = device_put(gpt::initial_state<tiny>(3), devices);
  const auto run = jit(gpt::train_step, devices, specs, results);
  gpt::metrics<on<grid>> metrics;
  for (int i = 0; i < num_steps; ++i) {
    std::tie(state, metrics) =
        run(std::move(state), text_from<rows>(first + i, 0), text_from<rows>(first + i, 1), rate);
  }
  const auto check = [&](const auto& expected) {
    const auto whole = device_get(state, devices);
    CHECK(support::tree_distance(metrics, expected.second) < 2e-6);
    CHECK(support::tree_distance(whole.optimizer, expected.first.optimizer) < 2e-6);
    // Adam divides a gradient by its own size: where it is all but 0 its rounding shows.
    CHECK(support::tree_distance(whole.model, expected.first.model) <
          static_cast<double>(rate) / 100);
  };
  if (support::num_ranks() == 2) check(one_process<1>());
  if (support::num_ranks() == 4) check(one_process<2>());
}

TEST_CASE("device_get: blocks are put together to the bits that were taken apart", "[mpi]") {
  if (support::num_ranks() % 2 != 0) return;
  const grid devices{MPI_COMM_WORLD};
  const auto whole = gpt::initial_state<tiny>(5).model;
  const auto again = device_get(device_put(whole, devices), devices);
  for_each_leaf(
      [](const auto& x, const auto& y) {
        CHECK(std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.type.bytes())) == 0);
      },
      whole, again);
}
