// unit/transform/checkpoint_test.cpp: the same bits with and without, less memory, more operations.
// SPDX-License-Identifier: MIT
#include "atled/transform/checkpoint.hpp"

#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

using namespace atled;

namespace {

constexpr int layers = 6;
constexpr std::int64_t rows = 256;
constexpr std::int64_t width = 16;
constexpr std::int64_t wide = 64;
using weights = std::array<std::pair<tensor<f32, width, wide>, tensor<f32, wide, width>>, layers>;
using batch = tensor<f32, rows, width>;

constexpr auto layer = [](auto x, auto w) {
  const auto inner = checkpoint_name(matmul(x, w.first), "inner");
  return x + matmul(tanh(inner * 3.0F), w.second);
};
template <class Policy>
constexpr auto deep_loss = [](auto w, auto x) {
  for (const auto& one : w) {
    if constexpr (std::is_same_v<Policy, void>) {
      x = layer(x, one);
    } else {
      x = checkpoint(layer, Policy{})(x, one);
    }
  }
  return mean(square(x));
};
template <class Policy>
constexpr auto step = [](auto w, auto x) { return value_and_grad(deep_loss<Policy>)(w, x); };
template <class Policy>
using facts = typename decltype(jit(step<Policy>))::template program<weights, batch>;

constexpr std::int64_t inner_bytes = rows * wide * 4;
using nothing = facts<policy::nothing_saved_policy>;
using dots = facts<policy::dots_saved_policy>;
using budget = facts<policy::budget_policy<inner_bytes>>;
using plain = facts<void>;

// Without: x and tanh(...) of each layer. With: x of each layer, and what one layer needs.
static_assert(plain::peak_bytes > layers * inner_bytes);
static_assert(nothing::peak_bytes < plain::peak_bytes - (layers - 2) * inner_bytes);
static_assert(nothing::peak_bytes < dots::peak_bytes && dots::peak_bytes < plain::peak_bytes);
static_assert(facts<policy::everything_saved_policy>::peak_bytes == plain::peak_bytes);
static_assert(facts<policy::everything_saved_policy>::flops == plain::flops);

// The first product of each layer is computed again, the second is a result and is not.
constexpr std::int64_t product_flops = 2 * rows * width * wide;
static_assert(nothing::flops >= plain::flops + layers * product_flops);
static_assert(nothing::flops < plain::flops + layers * product_flops * 5 / 4);
static_assert(dots::flops < plain::flops + layers * product_flops / 2);
static_assert(budget::peak_bytes == dots::peak_bytes && budget::flops == dots::flops);

template <class T>
T noise(std::uint32_t seed) {
  T out;
  for_each_leaf(
      [&](auto& leaf) {
        for (std::int64_t i = 0; i < leaf.size(); ++i) {
          seed = seed * 1664525U + 1013904223U;
          leaf.data()[i] = static_cast<f32>(seed >> 8) / 0x1p24F - 0.5F;
        }
      },
      out);
  return out;
}
template <class A, class B>
bool all_same_bits(const A& a, const B& b) {
  bool out = true;
  for_each_leaf([&](const auto& x, const auto& y) { out = out && bool(same_bits(x, y)); }, a, b);
  return out;
}

}  // namespace

TEST_CASE("checkpoint: value and gradient have the same bits with every policy", "[transform]") {
  const auto w = noise<weights>(1);
  const auto x = noise<batch>(2);
  const auto expected = step<void>;
  const auto want = jit(expected)(w, x);
  CHECK(all_same_bits(jit(step<policy::nothing_saved_policy>)(w, x), want));
  CHECK(all_same_bits(jit(step<policy::dots_saved_policy>)(w, x), want));
  CHECK(all_same_bits(jit(step<policy::budget_policy<inner_bytes>>)(w, x), want));
  CHECK(all_same_bits(jit(step<policy::names_saved_policy<"inner">>)(w, x), want));
}

namespace {

template <class K>
struct block {
  nn::layer_norm<K, f32, 16> norm;
  nn::causal_attention<K, f32, 16, 2> attention;
  nn::layer_norm<K, f32, 16> mlp_norm;
  nn::mlp<K, f32, 16> mlp;
  ATLED_TREE(block, norm, attention, mlp_norm, mlp)
  constexpr expr operator()(expr x) const {
    x += attention(norm(x));
    x += mlp(mlp_norm(x));
    return x;
  }
};
using blocks = std::array<block<values>, 4>;

template <bool IsChecked>
constexpr auto chain = [](auto model, auto x, auto key) {
  const auto masked = [](const auto& one, auto u, auto k) {
    const auto kept = random::bernoulli(k, 0.75F, {2, 16, 16});
    return where(kept, one(u), 0.0F);
  };
  for (const auto& one : model) {
    if constexpr (IsChecked) {
      x = checkpoint([&](auto u) { return masked(one, u, key); })(x);
    } else {
      x = masked(one, x, key);
    }
  }
  return sum(square(x));
};
template <bool IsChecked>
constexpr auto chain_step = [](auto model, auto x, auto key) {
  return value_and_grad(chain<IsChecked>, argnums<0, 1>)(model, x, key);
};

}  // namespace

TEST_CASE("checkpoint: transformer blocks with dropout keep mask, value and gradient",
          "[transform]") {  // DE5, RB10
  const auto model = noise<blocks>(3);
  const auto x = noise<tensor<f32, 2, 16, 16>>(4);
  const auto key = random::key(5);
  const auto checked = jit(chain_step<true>);
  const auto plain_step = jit(chain_step<false>);
  CHECK(all_same_bits(checked(model, x, key), plain_step(model, x, key)));
  using with = decltype(checked)::program<blocks, tensor<f32, 2, 16, 16>, decltype(key)>;
  using without = decltype(plain_step)::program<blocks, tensor<f32, 2, 16, 16>, decltype(key)>;
  STATIC_REQUIRE(2 * with::arena_bytes < without::arena_bytes);
}
