// bench/run_time/loops.cpp: loops that memory bounds, each against the triad of the same moment.
// Reads: run_time/triad.hpp. `of_triad` is the share of the triad's bytes a second that is reached.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "gpt/model.hpp"
#include "run_time/triad.hpp"
#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace atled;

bench::triad& memory() {
  static bench::triad arrays;
  return arrays;
}

/// Runs `work` and reports it; `bytes` is the least that it can move: each operand and result once.
///
/// The triad is measured before and after, since others may use the machine.
template <class Work>
void measure(benchmark::State& state, double bytes, int threads, Work work) {
  set_num_threads(threads);
  work();  // the pages of the results, and the arena
  double roof = memory().bytes_per_second(threads);
  std::vector<double> seconds;
  for ([[maybe_unused]] auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    benchmark::ClobberMemory();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    seconds.push_back(time.count());
  }
  roof = std::max(roof, memory().bytes_per_second(threads));
  std::sort(seconds.begin(), seconds.end());
  const double best = seconds.front();
  state.counters["best_ms"] = best * 1e3;
  state.counters["median_ms"] = seconds[seconds.size() / 2] * 1e3;
  state.counters["best_GB_per_s"] = bytes / best * 1e-9;
  state.counters["triad_GB_per_s"] = roof * 1e-9;
  state.counters["of_triad"] = bytes / best / roof;
}

template <class... Tensors>
constexpr double bytes_of() {
  return (0.0 + ... + static_cast<double>(Tensors::size() * std::int64_t{sizeof(f32)}));
}

/// Numbers in [-1, 1), the same in each run.
template <class Tensor>
Tensor random_tensor(std::uint32_t seed) {
  auto out = Tensor::uninitialized();
  for (f32& value : out) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<f32>(seed >> 8) / (1 << 23) - 1.0f;
  }
  return out;
}

// ---- multiply-adds -------------------------------------------------------------------------

using line = tensor<f32, std::int64_t{1} << 24>;

/// Six operations; it contracts, so that its values stay ordinary numbers however often it runs.
constexpr auto chain = [](const auto& x) { return ((x * 0.5f + 0.1f) * x - 0.2f) * x + 0.3f; };

/// Results take over the memory of arguments that are given up: `previous` is here for that alone.
constexpr auto traced_chain = [](auto x) { return chain(x); };
constexpr auto chain_over = [](auto x, [[maybe_unused]] auto previous) { return chain(x); };

void chain_eager(benchmark::State& state, int threads) {
  const auto x = random_tensor<line>(1);
  auto out = line::uninitialized();
  measure(state, bytes_of<line, line>(), threads, [&] { out = chain(x); });
}

void chain_jit(benchmark::State& state, int threads) {
  const auto x = random_tensor<line>(1);
  line out;
  measure(state, bytes_of<line, line>(), threads,
          [&] { out = jit(chain_over)(x, std::move(out)); });
}

void chain_jit_in_place(benchmark::State& state, int threads) {
  auto x = random_tensor<line>(1);
  measure(state, bytes_of<line, line>(), threads, [&] { x = jit(traced_chain)(std::move(x)); });
}

/// As most programs are written: each call allocates its result, and the system its pages.
void chain_jit_new_result(benchmark::State& state, int threads) {
  const auto x = random_tensor<line>(1);
  measure(state, bytes_of<line, line>(), threads, [&] {
    const line out = jit(traced_chain)(x);
    benchmark::DoNotOptimize(out.data());
  });
}

// ---- rows: the value, and the gradient for a cotangent d_y -----------------------------------

using softmax_rows = tensor<f32, 1024, 4096>;
using norm_rows = tensor<f32, 4096, 768>;
using norm_columns = tensor<f32, 768>;

constexpr auto softmax_forward = [](auto x, [[maybe_unused]] auto previous) { return softmax(x); };
constexpr auto softmax_both = [](auto x, auto d_y, [[maybe_unused]] auto previous) {
  const auto [y, pullback] = vjp([](auto z) { return softmax(z); }, x);
  return std::pair(y, std::get<0>(pullback(d_y)));
};

void softmax_value(benchmark::State& state, int threads) {
  const auto x = random_tensor<softmax_rows>(1);
  softmax_rows y;
  measure(state, bytes_of<softmax_rows, softmax_rows>(), threads,
          [&] { y = jit(softmax_forward)(x, std::move(y)); });
}

void softmax_gradient(benchmark::State& state, int threads) {
  const auto x = random_tensor<softmax_rows>(1), d_y = random_tensor<softmax_rows>(2);
  std::pair<softmax_rows, softmax_rows> out;
  measure(state, bytes_of<softmax_rows, softmax_rows, softmax_rows, softmax_rows>(), threads,
          [&] { out = jit(softmax_both)(x, d_y, std::move(out)); });
}

constexpr auto norm = [](auto x, auto weight, auto bias) {
  return nn::layer_norm<tracing, f32, 768>{weight, bias}(x);
};
constexpr auto norm_forward = [](auto x, auto weight, auto bias, [[maybe_unused]] auto previous) {
  return norm(x, weight, bias);
};
constexpr auto norm_both = [](auto x, auto weight, auto bias, auto d_y,
                              [[maybe_unused]] auto previous) {
  const auto [y, pullback] = vjp(norm, x, weight, bias);
  const auto [d_x, d_weight, d_bias] = pullback(d_y);
  return std::tuple(y, d_x, d_weight, d_bias);
};

void layer_norm_value(benchmark::State& state, int threads) {
  const auto x = random_tensor<norm_rows>(1);
  const auto weight = full<f32, 768>(1), bias = full<f32, 768>(0);
  norm_rows y;
  measure(state, bytes_of<norm_rows, norm_rows>(), threads,
          [&] { y = jit(norm_forward)(x, weight, bias, std::move(y)); });
}

void layer_norm_gradient(benchmark::State& state, int threads) {
  const auto x = random_tensor<norm_rows>(1), d_y = random_tensor<norm_rows>(2);
  const auto weight = full<f32, 768>(1), bias = full<f32, 768>(0);
  std::tuple<norm_rows, norm_rows, norm_columns, norm_columns> out;
  measure(state, bytes_of<norm_rows, norm_rows, norm_rows, norm_rows>(), threads,
          [&] { out = jit(norm_both)(x, weight, bias, d_y, std::move(out)); });
}

// ---- AdamW ---------------------------------------------------------------------------------

constexpr gpt::config gpt2{
    .layers = 12, .heads = 12, .width = 768, .context = 1024, .batch = 1, .vocabulary = 50304};
using gpt2_leaves = gpt::model<values, gpt2>;
constexpr std::int64_t gpt2_size = nn::num_parameters<gpt2_leaves>();
using gpt2_flat = tensor<f32, gpt2_size>;

constexpr optim::adamw optimizer{.beta2 = 0.99, .decay = 0.1};
constexpr auto update_tree = [](auto weights, auto gradient, auto moments, auto rate) {
  return optimizer.update(weights, gradient, moments, rate);
};
constexpr auto update_flat = [](auto weights, auto gradient, auto moments, auto rate) {
  return optimizer.update(weights, gradient, moments, rate, optim::every_leaf{});
};

/// Reads weight, gradient and two moments, writes all but the gradient: 28 bytes a parameter.
template <class Tree, class Update>
void adamw_step(benchmark::State& state, int threads, Update update) {
  Tree weights, gradient;
  for_each_leaf([](auto& leaf) { std::fill(leaf.begin(), leaf.end(), 0.5f); }, weights);
  for_each_leaf([](auto& leaf) { std::fill(leaf.begin(), leaf.end(), 0.1f); }, gradient);
  optim::adam_state<Tree, tensor<i32>> moments;
  const f32 rate = 1e-3f;
  measure(state, 28.0 * static_cast<double>(gpt2_size), threads, [&] {
    std::tie(weights, moments) =
        jit(update)(std::move(weights), gradient, std::move(moments), rate);
  });
}

void adamw_flat(benchmark::State& state, int threads) {
  adamw_step<gpt2_flat>(state, threads, update_flat);
}
void adamw_leaves(benchmark::State& state, int threads) {
  adamw_step<gpt2_leaves>(state, threads, update_tree);
}

struct entry {
  const char* name;
  void (*run)(benchmark::State&, int threads);
};
constexpr entry entries[] = {
    {"chain_16M/eager", chain_eager},
    {"chain_16M/jit", chain_jit},
    {"chain_16M/jit_in_place", chain_jit_in_place},
    {"chain_16M/jit_new_result", chain_jit_new_result},
    {"softmax_1024x4096/forward", softmax_value},
    {"softmax_1024x4096/forward_backward", softmax_gradient},
    {"layer_norm_4096x768/forward", layer_norm_value},
    {"layer_norm_4096x768/forward_backward", layer_norm_gradient},
    {"adamw_124M/flat", adamw_flat},
    {"adamw_124M/gpt2_leaves", adamw_leaves},
};

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
#ifdef _OPENMP
  constexpr int most_threads = 2;
#else
  constexpr int most_threads = 1;
#endif
  for (const entry& e : entries) {
    for (int threads = 1; threads <= most_threads; ++threads) {
      const std::string name = std::string(e.name) + "/threads:" + std::to_string(threads);
      benchmark::RegisterBenchmark(
          name.c_str(), [&e, threads](benchmark::State& state) { e.run(state, threads); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
