// mpi/fully_sharded_test.cpp: the GPT of examples/gpt, of whose state each rank keeps a part, takes
// the steps of one process; and what a rank keeps falls as 1 / n.
// Reads: gpt/model.hpp, support/ranks.hpp, transform/device_put.hpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

#include "gpt/model.hpp"
#include "support/ranks.hpp"
#include "support/tree_distance.hpp"
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace {

using namespace atled;

constexpr std::int64_t rows = 2;  // of each rank along data
constexpr gpt::config tiny{
    .layers = 2, .heads = 4, .width = 16, .context = 8, .batch = rows, .vocabulary = 12};

// What a rank keeps of parameters, gradients and both moments, for a model of 64 million.
constexpr gpt::config large{
    .layers = 4, .heads = 16, .width = 1024, .context = 1024, .batch = 4, .vocabulary = 12288};
using large_model = gpt::model<values, large>;
template <int N>
constexpr std::int64_t bytes_on =
    4 * bytes_per_rank<large_model, mesh<axis<"data", N>, axis<"model", 1>>, "data">;
static_assert(bytes_on<1> == 4 * 4 * nn::num_parameters<large_model>());
static_assert(bytes_on<2> == bytes_on<1> / 2 && bytes_on<4> == bytes_on<1> / 4);
static_assert(bytes_on<8> == bytes_on<1> / 8 && bytes_on<64> == bytes_on<1> / 64);
static_assert(bytes_on<1024> == bytes_on<1> / 1024);

constexpr auto specs = in_specs<none, P<"data">, P<"data">, P<>>;
constexpr auto results = out_specs<none, P<>>;
template <class Mesh>
using kept_on = gpt::state<on<Mesh, "data">, tiny>;
template <class Mesh>
using step_on =
    typename decltype(jit(gpt::train_step, std::declval<const Mesh&>(), specs,
                          results))::template program<kept_on<Mesh>, tensor<i32, rows, 8>,
                                                      tensor<i32, rows, 8>, tensor<f32>>;
using two = mesh<axis<"data", 2>, axis<"model", 1>>;
using two_by_two = mesh<axis<"data", 2>, axis<"model", 2>>;

// Each weight is gathered once, and its gradient scattered once: half goes in or comes out, the
// whole on the other side. Beside them the loss, and the squares of the gradient.
constexpr std::int64_t weight_bytes = 4 * nn::num_parameters<gpt::model<values, tiny>>();
static_assert(step_on<two>::comm_bytes("data") == 2 * (weight_bytes / 2 * 3) + 2 * 2 * 4);
static_assert(std::is_same_v<std::tuple_element_t<0, step_on<two>::result>, kept_on<two>>);

template <std::int64_t B>
tensor<i32, B, 8> text_from(std::int64_t first_row, std::int64_t first_place) {
  tensor<i32, B, 8> out;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t place = first_place + i % 8;
    out.data()[i] = static_cast<i32>(((first_row + i / 8) * 7 + place * place + place / 3) % 12);
  }
  return out;
}
constexpr int num_steps = 3;
constexpr float rate = 1e-2F;

template <class Mesh>
void compare_with_one_process() {
  const Mesh devices{MPI_COMM_WORLD};
  auto expected = gpt::initial_state<tiny>(3);
  auto state = device_put<on<Mesh, "data">>(expected, devices);
  const std::int64_t first = devices.ranks().along(0).rank() * rows;
  const auto alone = jit(gpt::train_step);
  const auto together = jit(gpt::train_step, devices, specs, results);
  gpt::metrics<values> wanted;
  gpt::metrics<on<Mesh, "data">> metrics;
  for (int i = 0; i < num_steps; ++i) {
    std::tie(expected, wanted) =
        alone(std::move(expected), text_from<2 * rows>(i, 0), text_from<2 * rows>(i, 1), rate);
    std::tie(state, metrics) = together(std::move(state), text_from<rows>(first + i, 0),
                                        text_from<rows>(first + i, 1), rate);
  }
  const auto whole = device_get(state, devices);
  CHECK(support::tree_distance(metrics, wanted) < 2e-6);
  CHECK(support::tree_distance(whole.optimizer, expected.optimizer) < 2e-6);
  // Adam divides a gradient by its own size: where it is all but 0 its rounding shows.
  CHECK(support::tree_distance(whole.model, expected.model) < static_cast<double>(rate) / 100);
}

}  // namespace

TEST_CASE("fully sharded: steps of the gpt on parts of its state are those of one process",
          "[mpi]") {
  if (support::num_ranks() == 2) compare_with_one_process<two>();
  if (support::num_ranks() == 4) compare_with_one_process<two_by_two>();
}
