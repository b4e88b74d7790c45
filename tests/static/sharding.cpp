// static/sharding.cpp: what programs split over a mesh send, as constants of the build.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

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

// A transformer block, its heads and its mlp split over model: two all_reduces of an activation
// f32[2,4,8] forward, and two backward.
template <class K>
struct block {
  nn::layer_norm<K, f32, 8> attention_norm;
  nn::causal_attention<K, f32, 8, 4, P<"model">> attention;
  nn::layer_norm<K, f32, 8> mlp_norm;
  nn::mlp<K, f32, 8, 32, P<"model">> mlp;
  ATLED_TREE(block, attention_norm, attention, mlp_norm, mlp)

  constexpr expr operator()(expr x) const {
    x += attention(attention_norm(x));
    x += mlp(mlp_norm(x));
    return x;
  }
};
static_assert(
    std::is_same_v<decltype(block<on<grid>>{}.attention.qkv.weight), tensor<f32, 8, 3 * 4>>);
static_assert(
    std::is_same_v<decltype(block<values>{}.attention.qkv.weight), tensor<f32, 8, 3 * 8>>);
static_assert(
    std::is_same_v<decltype(block<on<grid>>{}.attention.projection.weight), tensor<f32, 4, 8>>);
constexpr auto energy = [](auto model, auto x) { return sum(square(model(x))); };
constexpr auto both_ways = [](auto model, auto x) {
  return value_and_grad(energy, argnums<0, 1>)(model, x);
};
template <class F>
constexpr std::int64_t bytes_of_block = decltype(jit(
    F{}, std::declval<const grid&>()))::template program<block<on<grid>>,
                                                         tensor<f32, 2, 4, 8>>::comm_bytes("model");
constexpr std::int64_t all_reduce_bytes = 2 * (2 * 4 * 8) * 4;
static_assert(bytes_of_block<decltype(energy)> == 2 * all_reduce_bytes);
static_assert(bytes_of_block<decltype(both_ways)> == 4 * all_reduce_bytes);

// A table of 6 symbols split over model, which is the head as well: one all_reduce of the vectors
// f32[2,4,8], one of what the head reads backward; of each place the largest score, the sum of
// exponentials and the score of the label, each f32[2,4]. Scores stay where they are.
template <class K>
struct tied {
  nn::embedding<K, f32, 6, 8, P<"model", none>> tokens;
  ATLED_TREE(tied, tokens)
  constexpr expr operator()(const expr& text) const { return tokens.as_head(tanh(tokens(text))); }
};
constexpr auto slope_of_tied = [](auto model, auto text, auto next) {
  return value_and_grad([](auto net, auto in, auto out) {
    return nn::cross_entropy(net(in), out);
  })(model, text, next);
};
using tied_program = decltype(jit(
    slope_of_tied,
    std::declval<const grid&>()))::program<tied<on<grid>>, tensor<i32, 2, 4>, tensor<i32, 2, 4>>;
static_assert(tied_program::comm_bytes("model") == 2 * all_reduce_bytes + 3 * 2 * (2 * 4) * 4);

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
