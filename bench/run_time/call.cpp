// bench/run_time/call.cpp: what a call costs when there is next to nothing to compute.
// Reads: transform/grad.hpp. The same by hand, as a function call, is the floor.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <benchmark/benchmark.h>
#include <tuple>
#include <utility>

namespace {

using namespace atled;

constexpr auto square_of = [](auto x) { return x * x; };

/// Source: Rosenbrock, An automatic method for finding the greatest or least value of a function,
/// 1960.
constexpr auto rosenbrock = [](auto x, auto y) {
  return 100.0f * square(y - square(x)) + square(1.0f - x);
};
constexpr auto rosenbrock_of_vector = [](auto v) {
  return sum(rosenbrock(slice_in_dim(v, 0, 1), slice_in_dim(v, 1, 2)));
};

constexpr auto rosenbrock_chain = [](auto v) {
  return sum(rosenbrock(slice_in_dim(v, 0, 31), slice_in_dim(v, 1, 32)));
};

/// What explains the time: a call costs a few loads for each argument and one call for each step.
template <class Program>
void show_facts(benchmark::State& state) {
  state.counters["steps"] = Program::num_steps;
  state.counters["parameters"] = Program::num_parameters;
  state.counters["outputs"] = Program::num_outputs;
}

void square_call(benchmark::State& state) {
  f32 x = 1.5f;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(x);
    benchmark::DoNotOptimize(jit(square_of)(x).item());
  }
  show_facts<decltype(jit(square_of))::program<f32>>(state);
}

void rosenbrock_call(benchmark::State& state) {
  f32 x = -1.2f, y = 1.0f;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(x);
    benchmark::DoNotOptimize(y);
    const auto [value, gradient] = value_and_grad(rosenbrock, argnums<0, 1>)(x, y);
    benchmark::DoNotOptimize(value.item() + std::get<0>(gradient).item() +
                             std::get<1>(gradient).item());
  }
  using function = decltype(value_and_grad(rosenbrock, argnums<0, 1>));
  show_facts<function::program<f32, f32>>(state);
}

void rosenbrock_vector_call(benchmark::State& state) {
  tensor<f32, 2> v{-1.2f, 1.0f};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(v);
    const auto [value, gradient] = value_and_grad(rosenbrock_of_vector)(v);
    benchmark::DoNotOptimize(value.item() + gradient.data()[0] + gradient.data()[1]);
  }
  show_facts<decltype(value_and_grad(rosenbrock_of_vector))::program<tensor<f32, 2>>>(state);
}

void rosenbrock_kernels_call(benchmark::State& state) {
  tensor<f32, 2> v{-1.2f, 1.0f};
  constexpr auto compiled = jit(value_and_grad(rosenbrock_of_vector), by_kernels);
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(v);
    const auto [value, gradient] = compiled(v);
    benchmark::DoNotOptimize(value.item() + gradient.data()[0] + gradient.data()[1]);
  }
}

void hessian_call(benchmark::State& state) {
  tensor<f32, 32> v = tensor<f32, 32>::uninitialized();
  for (std::int64_t i = 0; i < 32; ++i) v.data()[i] = static_cast<f32>(i % 5) * 0.3f;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(v);
    const auto out = hessian(rosenbrock_chain)(v);
    benchmark::DoNotOptimize(out.data()[33]);
  }
  show_facts<decltype(hessian(rosenbrock_chain))::program<tensor<f32, 32>>>(state);
}

struct value_and_slopes {
  float value, d_x, d_y;
};
[[gnu::noinline]] value_and_slopes rosenbrock_written(float x, float y) {
  const float rest = y - x * x;
  return {100.0f * rest * rest + (1.0f - x) * (1.0f - x), -400.0f * rest * x - 2.0f * (1.0f - x),
          200.0f * rest};
}

void rosenbrock_by_hand(benchmark::State& state) {
  float x = -1.2f, y = 1.0f;
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(x);
    benchmark::DoNotOptimize(y);
    const value_and_slopes out = rosenbrock_written(x, y);
    benchmark::DoNotOptimize(out.value + out.d_x + out.d_y);
  }
}

BENCHMARK(square_call)->Name("call/square");
BENCHMARK(rosenbrock_call)->Name("call/rosenbrock_value_and_grad/scalars");
BENCHMARK(rosenbrock_vector_call)->Name("call/rosenbrock_value_and_grad/vector");
BENCHMARK(rosenbrock_kernels_call)->Name("call/rosenbrock_value_and_grad/vector_by_kernels");
BENCHMARK(hessian_call)->Name("call/rosenbrock_32_hessian");
BENCHMARK(rosenbrock_by_hand)->Name("call/rosenbrock_value_and_grad/by_hand");

}  // namespace

BENCHMARK_MAIN();
