// mpi/reproducible_test.cpp: with `reproducible` the losses of a GPT have the same bits on each
// mesh that has the same axes: one rank, ranks of data, ranks of the model, and both. Reads:
// gpt/model.hpp, support/ranks.hpp, transform/sharded.hpp. SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

#include "gpt/model.hpp"
#include "support/ranks.hpp"
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <utility>

namespace {

using namespace atled;

constexpr std::int64_t rows = 4;  // of all ranks together
constexpr gpt::config tiny{
    .layers = 2, .heads = 4, .width = 16, .context = 8, .batch = rows, .vocabulary = 16};

template <int Data, int Model>
using grid = mesh<axis<"data", Data>, axis<"model", Model>>;

constexpr auto loss = [](auto model, auto text, auto next, auto key) {
  expr x = model.tokens(text) + slice_in_dim(model.positions.weight, 0, text.dim(1));
  x = nn::dropout(x, key, 0.1);
  for (const auto& block : model.blocks) x = nn::dropout(block(x), key, 0.1);
  return nn::cross_entropy(model.tokens.as_head(model.norm(x)), next);
};
constexpr auto train = [](auto state, auto text, auto next, auto key) {
  const auto [value, gradient] = value_and_grad(loss)(state.model, text, next, key);
  const auto clipped = optim::clip_by_global_norm(gradient, 1.0);
  std::tie(state.model, state.optimizer) =
      gpt::optimizer.update(state.model, clipped, state.optimizer, 1e-2F);
  return std::pair(state, value);
};

template <std::int64_t B>
tensor<i32, B, 8> text_from(std::int64_t first_row, std::int64_t first_place) {
  tensor<i32, B, 8> out;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    const std::int64_t row = first_row + i / 8;
    const std::int64_t place = first_place + i % 8;
    out.data()[i] = static_cast<i32>((row * 7 + place * place + place / 3) % 16);
  }
  return out;
}

constexpr int num_steps = 20;

/// The losses of a run as hex floats, one after the other.
template <class Mesh>
std::string losses_on(const Mesh& devices) {
  constexpr std::int64_t own = rows / Mesh::shape_value.sizes[0];
  const auto step = jit(train, devices, in_specs<none, P<"data">, P<"data">, P<>>,
                        out_specs<none, P<>>, reproducible<4>);
  auto state = device_put(gpt::initial_state<tiny>(3), devices);
  tensor<f32> value;
  std::string out;
  const std::int64_t first = devices.ranks().along(0).rank() * own;
  for (int i = 0; i < num_steps; ++i) {
    const auto row = rows * i + first;
    std::tie(state, value) =
        step(std::move(state), text_from<own>(row, 0), text_from<own>(row, 1), random::key(i));
    char text[40];
    std::snprintf(text, sizeof text, "%a ", static_cast<double>(value.item()));
    out += text;
  }
  return out;
}

}  // namespace

TEST_CASE("reproducible: 20 steps of a GPT have the same losses, bit for bit, on each mesh",
          "[mpi]") {
  const std::string alone = losses_on(grid<1, 1>());  // each rank by itself
  INFO(alone);
  if (support::num_ranks() == 2) {
    CHECK(losses_on(grid<2, 1>{MPI_COMM_WORLD}) == alone);
    CHECK(losses_on(grid<1, 2>{MPI_COMM_WORLD}) == alone);
  }
  if (support::num_ranks() == 4) {
    CHECK(losses_on(grid<4, 1>{MPI_COMM_WORLD}) == alone);
    CHECK(losses_on(grid<2, 2>{MPI_COMM_WORLD}) == alone);
  }
}

TEST_CASE("reproducible: a sum of numbers that cancel is the same on each mesh", "[mpi]") {
  constexpr auto total = [](auto x) { return sum(x); };
  const tensor<f32, 4> x{16777216, 1, 1, -16777216};
  const auto on = [&](const auto& devices) {
    using devices_type = std::remove_cvref_t<decltype(devices)>;
    constexpr std::int64_t own = 4 / devices_type::shape_value.sizes[0];
    tensor<f32, own> mine;
    const std::int64_t first = devices.ranks().along(0).rank() * own;
    for (std::int64_t i = 0; i < own; ++i) mine.data()[i] = x.data()[first + i];
    return jit(total, devices, in_specs<P<"data">>, out_specs<P<>>, reproducible<4>)(mine).item();
  };
  const float alone = on(mesh<axis<"data", 1>>());
  CHECK(alone == (16777216.0F + 1.0F) + (1.0F - 16777216.0F));
  if (support::num_ranks() == 2) CHECK(on(mesh<axis<"data", 2>>{MPI_COMM_WORLD}) == alone);
  if (support::num_ranks() == 4) CHECK(on(mesh<axis<"data", 4>>{MPI_COMM_WORLD}) == alone);
}
