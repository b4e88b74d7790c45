// bench/run_time/small_programs.cpp: a small network (784-128-10): a gradient for each example, the
// lengths of these alone, and a step of SGD. Reads: transform/vmap.hpp. Peers:
// bench/peers_small.py.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <benchmark/benchmark.h>
#include <cstdint>
#include <tuple>
#include <utility>

namespace {

using namespace atled;

template <class K>
struct network {
  nn::linear<K, f32, 784, 128> hidden;
  nn::linear<K, f32, 128, 10> out;
  ATLED_TREE(network, hidden, out)

  constexpr expr operator()(const expr& x) const { return out(relu(hidden(x))); }
};

/// Of one example, or the mean of several.
constexpr auto loss = [](auto model, auto x, auto label) {
  return mean(nn::softmax_cross_entropy(model(x), label));
};

constexpr auto squared_norm = [](auto tree) {
  expr total;
  for_each_leaf(
      [&](const expr& leaf) {
        total = total.is_traced() ? total + sum(square(leaf)) : sum(square(leaf));
      },
      tree);
  return total;
};

constexpr auto batch_gradient = [](auto, auto model, auto x, auto label) {
  return grad(loss)(model, x, label);
};
/// The first argument is given up, so that the result takes over its memory.
constexpr auto each_gradient = [](auto, auto model, auto x, auto label) {
  return vmap(grad(loss), in_axes<none, 0, 0>)(model, x, label);
};
constexpr auto gradient_norm = [](auto model, auto x, auto label) {
  return sqrt(squared_norm(grad(loss)(model, x, label)));
};
constexpr auto sgd = [](auto model, auto x, auto label) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, label);
  return std::pair(tree_map([](auto p, auto g) { return p - 0.01f * g; }, model, gradient), value);
};

template <std::int64_t B>
struct batch {
  tensor<f32, B, 784> x;
  tensor<i32, B> label;

  batch() {
    std::uint32_t seed = 7;
    for (f32& value : x) {
      seed = seed * 1664525u + 1013904223u;
      value = static_cast<f32>(seed >> 8) / (1 << 24);
    }
    for (i32 i = 0; i < B; ++i) label(i) = (i * 7) % 10;
  }
};

template <class Program>
void show_facts(benchmark::State& state) {
  state.counters["steps"] = Program::num_steps;
  state.counters["arena_bytes"] = static_cast<double>(Program::arena_bytes);
  state.counters["flops"] = static_cast<double>(Program::flops);
  state.counters["bytes_moved"] = static_cast<double>(Program::bytes_moved);
}

void batch_gradient_call(benchmark::State& state) {
  const auto model = nn::init<network>(random::key(0));
  const batch<64> in;
  constexpr auto run = jit(batch_gradient);
  auto gradient = model;
  for ([[maybe_unused]] auto _ : state) {
    gradient = run(std::move(gradient), model, in.x, in.label);
    benchmark::DoNotOptimize(gradient.out.bias.data());
  }
  using model_t = network<values>;
  using program = decltype(run)::program<model_t&&, model_t, decltype(in.x), decltype(in.label)>;
  show_facts<program>(state);
}

void each_gradient_call(benchmark::State& state) {
  const auto model = nn::init<network>(random::key(0));
  const batch<64> in;
  network<stacked<64>> gradients;
  constexpr auto run = jit(each_gradient);
  for ([[maybe_unused]] auto _ : state) {
    gradients = run(std::move(gradients), model, in.x, in.label);
    benchmark::DoNotOptimize(gradients.out.bias.data());
  }
  using all = network<stacked<64>>;
  using program =
      decltype(run)::program<all&&, network<values>, decltype(in.x), decltype(in.label)>;
  show_facts<program>(state);
}

void each_norm_call(benchmark::State& state) {
  const auto model = nn::init<network>(random::key(0));
  const batch<64> in;
  constexpr auto run = vmap(gradient_norm, in_axes<none, 0, 0>);
  for ([[maybe_unused]] auto _ : state) {
    const auto norms = run(model, in.x, in.label);
    benchmark::DoNotOptimize(norms.data());
  }
  using program = decltype(run)::program<network<values>, decltype(in.x), decltype(in.label)>;
  show_facts<program>(state);
}

void sgd_call(benchmark::State& state) {
  auto model = nn::init<network>(random::key(0));
  const batch<32> in;
  constexpr auto run = jit(sgd);
  tensor<f32> value;
  for ([[maybe_unused]] auto _ : state) {
    std::tie(model, value) = run(std::move(model), in.x, in.label);
    benchmark::DoNotOptimize(value.item());
  }
  using program = decltype(run)::program<network<values>&&, decltype(in.x), decltype(in.label)>;
  show_facts<program>(state);
}

BENCHMARK(batch_gradient_call)->Name("small/gradient/64")->Unit(benchmark::kMicrosecond);
BENCHMARK(each_gradient_call)->Name("small/each_gradient/64")->Unit(benchmark::kMicrosecond);
BENCHMARK(each_norm_call)->Name("small/each_norm/64")->Unit(benchmark::kMicrosecond);
BENCHMARK(sgd_call)->Name("small/sgd_step/32")->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
