// mpi/pipeline_test.cpp: layers on 1, 2 and 4 ranks give the loss and the gradients of one process,
// in each order of work, whether they divide or not.
// Reads: support/ranks.hpp, atled/transform/pipeline.hpp.
// SPDX-License-Identifier: MIT
#include "atled/transform/pipeline.hpp"

#include "atled/atled.hpp"

#include "support/ranks.hpp"
#include "support/tree_distance.hpp"
#include <array>
#include <cmath>

using namespace atled;

namespace {

constexpr std::size_t num_layers = 4;
constexpr int microbatches = 6;

template <class K>
struct table_of_words {  // embedding and head alike
  nn::embedding<K, f32, 7, 8> words;
  ATLED_TREE(table_of_words, words)
};
template <class K, std::size_t N>
struct layers {
  std::array<nn::linear<K, f32, 8, 8>, N> of;
  ATLED_TREE(layers, of)
};

constexpr auto embed = [](auto ends, auto text) { return ends.words(text); };  // f32[B, T, 8]
constexpr auto apply = [](auto blocks, auto x) {
  expr y = x;
  for (const auto& layer : blocks.of) y = y + tanh(layer(y));
  return y;
};
constexpr auto loss = [](auto ends, auto x, auto next) {
  return nn::cross_entropy(ends.words.as_head(x), next);
};
constexpr auto whole_loss = [](auto ends, auto blocks, auto text, auto next) {
  return loss(ends, apply(blocks, embed(ends, text)), next);
};

using ends_type = table_of_words<values>;
template <std::size_t N>
using layers_type = layers<values, N>;
using batch = tensor<i32, microbatches, 2, 3>;

template <class Tree>
void fill(Tree& tree, int seed) {
  for_each_leaf(
      [&](auto& leaf) {
        for (auto& x : leaf.span()) x = static_cast<f32>((seed = (seed * 37 + 11) % 101) - 50) / 90;
      },
      tree);
}
batch words(int seed) {
  batch out;
  for (auto& x : out.span()) x = (seed = (seed * 5 + 3) % 97) % 7;
  return out;
}

struct expected {
  tensor<f32> value;
  ends_type ends;
  layers_type<num_layers> blocks;
};
/// One process: the mean over a batch of all microbatches is the mean of their means.
expected one_process(const ends_type& ends, const layers_type<num_layers>& blocks) {
  const auto text = words(1);
  const auto next = words(2);
  using joined = tensor_view<const i32, 2 * microbatches, 3>;
  auto [value, slopes] = jit(value_and_grad(whole_loss, argnums<0, 1>))(
      ends, blocks, joined(text.data()), joined(next.data()));
  return {std::move(value), std::move(std::get<0>(slopes)), std::move(std::get<1>(slopes))};
}

template <int Ranks, pipeline_order Order>
void check() {
  constexpr std::size_t mine = num_layers / Ranks;
  const mesh<axis<"pipe", Ranks>> devices{MPI_COMM_WORLD};
  const auto step = pipeline<microbatches, Order>(embed, apply, loss, devices, axis<"pipe">);
  STATIC_REQUIRE(std::remove_const_t<decltype(step)>::bubble < 0.4);
  ends_type ends;
  layers_type<num_layers> all;
  fill(ends, 5);
  fill(all, 7);
  const auto right = one_process(ends, all);
  const auto first = static_cast<std::size_t>(support::rank()) * mine;
  layers_type<mine> blocks;
  layers_type<mine> right_blocks;
  for (std::size_t i = 0; i < mine; ++i) {
    blocks.of[i] = all.of[first + i];
    right_blocks.of[i] = right.blocks.of[first + i];
  }
  const auto [value, d_ends, d_blocks] = step(ends, blocks, words(1), words(2));
  CHECK(std::abs(value.item() - right.value.item()) < 1e-6F);
  CHECK(support::tree_distance(d_ends, right.ends) < 1e-6);
  CHECK(support::tree_distance(d_blocks, right_blocks) < 1e-6);
}

constexpr auto apply_one = [](auto layer, auto x) { return x + tanh(layer(x)); };

/// 9 layers on so many ranks, R stages on each: 9 is divisible by none of 2, 4, 8.
template <int Ranks, pipeline_order Order, int Repeats>
void check_dealt_out() {
  constexpr int count = 8;
  const mesh<axis<"pipe", Ranks>> devices{MPI_COMM_WORLD};
  const auto step = pipeline<count, Order>(embed, apply_one, loss, devices, axis<"pipe">,
                                           of_layers<9>, repeated<Repeats>);
  using function = std::remove_const_t<decltype(step)>;
  STATIC_REQUIRE(function::bubble * (Repeats * count + Ranks - 1) < Ranks - 1 + 1e-9);
  STATIC_REQUIRE(function::bubble * (Repeats * count + Ranks - 1) > Ranks - 1 - 1e-9);
  ends_type ends;
  layers_type<9> all;
  fill(ends, 5);
  fill(all, 7);
  tensor<i32, count, 2, 3> text;
  tensor<i32, count, 2, 3> next;
  int seed = 1;
  for (auto& x : text.span()) x = (seed = (seed * 5 + 3) % 97) % 7;
  for (auto& x : next.span()) x = (seed = (seed * 5 + 3) % 97) % 7;
  using joined = tensor_view<const i32, 2 * count, 3>;
  const auto [right, slopes] = jit(value_and_grad(whole_loss, argnums<0, 1>))(
      ends, all, joined(std::as_const(text).data()), joined(std::as_const(next).data()));

  const auto [value, d_ends, d_blocks] = step(ends, step.cut(all.of), text, next);
  CHECK(std::abs(value.item() - right.item()) < 1e-6F);
  CHECK(support::tree_distance(d_ends, std::get<0>(slopes)) < 1e-6);
  layers_type<9> d_all;
  step.gather(d_blocks, d_all.of);
  CHECK(support::tree_distance(d_all, std::get<1>(slopes)) < 1e-6);

  layers_type<9> back;
  step.gather(step.cut(all.of), back.of);
  CHECK(support::tree_distance(back, all) == 0);
}

}  // namespace

TEST_CASE("pipeline: loss and gradients are those of one process", "[mpi]") {
  if (support::num_ranks() == 1) check<1, pipeline_order::one_f_one_b>();
  if (support::num_ranks() == 2) check<2, pipeline_order::one_f_one_b>();
  if (support::num_ranks() == 4) check<4, pipeline_order::one_f_one_b>();
}

TEST_CASE("pipeline: all forward before all backward gives the same", "[mpi]") {
  if (support::num_ranks() == 4) check<4, pipeline_order::gpipe>();
}

TEST_CASE("pipeline: layers that do not divide, several stages a rank", "[mpi]") {
  if (support::num_ranks() == 1) {
    check_dealt_out<1, pipeline_order::interleaved, 2>();
  }
  if (support::num_ranks() == 2) {
    check_dealt_out<2, pipeline_order::one_f_one_b, 1>();
    check_dealt_out<2, pipeline_order::interleaved, 2>();
  }
  if (support::num_ranks() == 4) {
    check_dealt_out<4, pipeline_order::interleaved, 2>();
  }
}
