// static/sharding.cpp: what programs split over a mesh send, as constants of the build.
// SPDX-License-Identifier: MIT
#include "atled/transform/sharded.hpp"

#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"

#include <tuple>
#include <type_traits>

using namespace atled;

namespace {

using grid = mesh<axis<"data">, axis<"model", 2>>;

template <class K>
struct mlp {
  nn::linear<K, f32, 784, 128, P<none, "model">> hidden;
  nn::linear<K, f32, 128, 10, P<"model", none>> out;
  ATLED_TREE(mlp, hidden, out)
  constexpr auto operator()(auto x) const { return out(tanh(hidden(x))); }
};
constexpr auto loss = [](auto model, auto x, auto y) { return mean(square(model(x) - y)); };
constexpr auto train = [](auto model, auto x, auto y) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, y);
  return std::tuple(
      tree_map([](const auto& w, const auto& d) { return expr(w - 0.1f * d); }, model, gradient),
      value);
};
constexpr auto specs = in_specs<none, P<"data">, P<"data">>;
constexpr auto results = out_specs<none, P<>>;
using step = decltype(jit(train, std::declval<const grid&>(), specs, results));
using program_of_blocks = step::program<mlp<on<grid>>, tensor<f32, 32, 784>, tensor<f32, 32, 10>>;

// One all_reduce of the result [32,10] over model, in and out; over data one of the loss and of the
// gradients that this rank holds.
static_assert(program_of_blocks::comm_bytes("model") == 2 * 32 * 10 * 4);
static_assert(program_of_blocks::comm_bytes("data") == 2 * 4 * (1 + 784 * 64 + 64 + 64 * 10 + 10));
static_assert(std::is_same_v<program_of_blocks::result, std::tuple<mlp<on<grid>>, tensor<f32>>>);
static_assert(std::is_same_v<decltype(mlp<on<grid>>::hidden.weight), tensor<f32, 784, 64>>);

// Parameters that are fully sharded over n ranks: the bytes of each fall as 1 / n.
template <class K>
struct stored {
  leaf_of<K, P<gathered<"data">>, f32, 4096, 1024> table;
  leaf_of<K, P<gathered<"data">>, f32, 1024, 4096> matrix;
  ATLED_TREE(stored, table, matrix)
};
template <int N>
constexpr std::int64_t bytes_on = bytes_per_rank<stored<values>, mesh<axis<"data", N>>>;
static_assert(bytes_on<1> == 2 * 4 * 4096 * 1024);
static_assert(bytes_on<2> == bytes_on<1> / 2 && bytes_on<4> == bytes_on<1> / 4);
static_assert(bytes_on<8> == bytes_on<1> / 8 && bytes_on<64> == bytes_on<1> / 64);
static_assert(bytes_on<1024> == bytes_on<1> / 1024);

}  // namespace

int main() {}
