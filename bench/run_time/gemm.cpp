// bench/run_time/gemm.cpp: kernels/gemm.hpp against Eigen, a BLAS, and what the FMA units can do.
// Reads: kernels/gemm.hpp. One benchmark a shape and library: --benchmark_filter=gpt2 picks some.
// SPDX-License-Identifier: MIT
#if defined(__GNUC__) && !defined(__clang__)
#  pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC 105593: in Eigen, from immintrin.h
#endif

#include "atled/kernels/gemm.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <string>
#include <vector>

#if defined(ATLED_BENCH_BLAS) && __has_include(<cblas.h>)
#  include <cblas.h>
#  define ATLED_BENCH_HAS_CBLAS 1
#else
#  define ATLED_BENCH_HAS_CBLAS 0
#endif

namespace {

using atled::kernels::gemm;
using atled::kernels::gemm_operand;
using atled::kernels::gemm_shape;
using atled::kernels::gemm_workspace_bytes;
using atled::kernels::store_epilogue;

/// batch x (lhs[M, K] times rhs[K, N]); a transposed operand lies with its rows side by side.
struct product {
  const char* name;
  std::int64_t batch, m, n, k;
  bool transposed_lhs, transposed_rhs;
};

// What the GPT presets of examples/gpt multiply: forward, then gradients of activations and
// weights.
constexpr product products[] = {
    {"nano_qkv", 1, 768, 384, 128, false, false},
    {"nano_projection", 1, 768, 128, 128, false, false},
    {"nano_mlp_in", 1, 768, 512, 128, false, false},
    {"nano_mlp_out", 1, 768, 128, 512, false, false},
    {"nano_head", 1, 768, 65, 128, false, false},
    {"nano_d_x_qkv", 1, 768, 128, 384, false, true},
    {"nano_d_x_mlp_in", 1, 768, 128, 512, false, true},
    {"nano_d_x_mlp_out", 1, 768, 512, 128, false, true},
    {"nano_d_x_head", 1, 768, 128, 65, false, true},
    {"nano_d_w_qkv", 1, 128, 384, 768, true, false},
    {"nano_d_w_mlp_in", 1, 128, 512, 768, true, false},
    {"nano_d_w_mlp_out", 1, 512, 128, 768, true, false},
    {"nano_d_w_head", 1, 128, 65, 768, true, false},
    {"nano_attention_scores", 48, 64, 64, 32, false, true},
    {"nano_attention_values", 48, 64, 32, 64, false, false},
    {"nano_attention_d_values", 48, 64, 32, 64, true, false},
    {"small_qkv", 1, 2048, 1152, 384, false, false},
    {"small_projection", 1, 2048, 384, 384, false, false},
    {"small_mlp_in", 1, 2048, 1536, 384, false, false},
    {"small_mlp_out", 1, 2048, 384, 1536, false, false},
    {"small_d_x_mlp_in", 1, 2048, 384, 1536, false, true},
    {"small_d_x_mlp_out", 1, 2048, 1536, 384, false, true},
    {"small_d_w_mlp_in", 1, 384, 1536, 2048, true, false},
    {"small_d_w_mlp_out", 1, 1536, 384, 2048, true, false},
    {"small_attention_scores", 48, 256, 256, 64, false, true},
    {"small_attention_values", 48, 256, 64, 256, false, false},
    {"small_attention_d_values", 48, 256, 64, 256, true, false},
    {"gpt2_qkv", 1, 256, 2304, 768, false, false},
    {"gpt2_mlp_in", 1, 256, 3072, 768, false, false},
    {"gpt2_mlp_out", 1, 256, 768, 3072, false, false},
    {"gpt2_d_x_mlp_in", 1, 256, 768, 3072, false, true},
    {"gpt2_d_x_mlp_out", 1, 256, 3072, 768, false, true},
    {"gpt2_d_w_mlp_in", 1, 768, 3072, 256, true, false},
    {"gpt2_d_w_mlp_out", 1, 3072, 768, 256, true, false},
    {"gpt2_head", 1, 256, 50304, 768, false, true},
    {"gpt2_d_x_head", 1, 256, 768, 50304, false, false},
    {"gpt2_d_w_head", 1, 50304, 768, 256, true, false},
    {"row_times_matrix", 1, 1, 4096, 1024, false, false},
    {"row_times_transposed", 1, 1, 4096, 1024, false, true},
    {"matrix_times_column", 1, 4096, 1, 1024, false, false},
    {"transposed_times_column", 1, 4096, 1, 1024, true, false},
};

// Multiply-adds in registers only: the roof of every product. Units: flops a second.
double measured_peak() {
  namespace loops = atled::loops;
  constexpr int lanes = loops::native_lanes<float>;
  constexpr int chains = 12, steps = 20'000;
  const auto factor = loops::splat<lanes>(0.999f), term = loops::splat<lanes>(0.5f);
  auto best = std::chrono::duration<double>::max();
  for (int repetition = 0; repetition < 300; ++repetition) {
    loops::vec<float, lanes> sums[chains];
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) sums[i] = loops::splat<lanes>(0.1f * static_cast<float>(i));
    const auto begin = std::chrono::steady_clock::now();
    for (int step = 0; step < steps; ++step) {
#pragma GCC unroll 12
      for (int i = 0; i < chains; ++i) sums[i] = fma(sums[i], factor, term);
    }
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time);
    float total = 0;
#pragma GCC unroll 12
    for (int i = 0; i < chains; ++i) total += loops::reduce_add(sums[i]);
    benchmark::DoNotOptimize(total);
  }
  return 2.0 * lanes * chains * steps / best.count();
}

struct matrices {
  explicit matrices(const product& p)
      : lhs(random(p.batch * p.m * p.k, 1)),
        rhs(random(p.batch * p.k * p.n, 2)),
        out(static_cast<std::size_t>(p.batch * p.m * p.n)) {}

  static std::vector<float> random(std::int64_t count, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
      seed = seed * 1664525u + 1013904223u;
      value = static_cast<float>(seed >> 8) / (1 << 23) - 1.0f;
    }
    return values;
  }

  std::vector<float> lhs, rhs, out;
};

gemm_shape shape_of(const product& p) {
  const gemm_operand lhs{p.transposed_lhs ? 1 : p.k, p.transposed_lhs ? p.m : 1, {p.m * p.k, 0, 0}};
  const gemm_operand rhs{p.transposed_rhs ? 1 : p.n, p.transposed_rhs ? p.k : 1, {p.k * p.n, 0, 0}};
  return {p.m, p.n, p.k, {p.batch, 1, 1}, lhs, rhs};
}

// The fastest repetition counts: others may use the machine meanwhile.
template <class Multiply>
void run(benchmark::State& state, const product& p, double peak, Multiply multiply) {
  double best = std::numeric_limits<double>::infinity();
  for ([[maybe_unused]] auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    multiply();
    benchmark::ClobberMemory();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
  }
  const double flops = 2.0 * static_cast<double>(p.batch * p.m) * static_cast<double>(p.n * p.k);
  state.counters["best_Gflops"] = flops / best * 1e-9;
  state.counters["best_of_peak"] = flops / best / peak;
}

void run_atled(benchmark::State& state, const product& p, double peak, int threads) {
  matrices data(p);
  const gemm_shape shape = shape_of(p);
  const auto bytes = static_cast<std::size_t>(gemm_workspace_bytes<float>(shape, threads));
  auto* workspace = static_cast<std::byte*>(::operator new (bytes, std::align_val_t{64}));
  const store_epilogue<float> store{data.out.data(), p.n, {p.m * p.n, 0, 0}};
  run(state, p, peak,
      [&] { gemm<float>(shape, data.lhs.data(), data.rhs.data(), store, workspace, threads); });
  ::operator delete (workspace, std::align_val_t{64});
}

void run_eigen(benchmark::State& state, const product& p, double peak) {
  using row_major = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using map = Eigen::Map<const row_major>;
  matrices data(p);
  run(state, p, peak, [&] {
    for (std::int64_t b = 0; b < p.batch; ++b) {
      const float* l = data.lhs.data() + b * p.m * p.k;
      const float* r = data.rhs.data() + b * p.k * p.n;
      const map lhs(l, p.transposed_lhs ? p.k : p.m, p.transposed_lhs ? p.m : p.k);
      const map rhs(r, p.transposed_rhs ? p.n : p.k, p.transposed_rhs ? p.k : p.n);
      Eigen::Map<row_major> out(data.out.data() + b * p.m * p.n, p.m, p.n);
      if (p.transposed_lhs) {
        out.noalias() = lhs.transpose() * rhs;
      } else if (p.transposed_rhs) {
        out.noalias() = lhs * rhs.transpose();
      } else {
        out.noalias() = lhs * rhs;
      }
    }
  });
}

#if ATLED_BENCH_HAS_CBLAS
void run_blas(benchmark::State& state, const product& p, double peak) {
  matrices data(p);
  const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
  run(state, p, peak, [&] {
    for (std::int64_t b = 0; b < p.batch; ++b) {
      cblas_sgemm(CblasRowMajor, p.transposed_lhs ? CblasTrans : CblasNoTrans,
                  p.transposed_rhs ? CblasTrans : CblasNoTrans, m, n, k, 1.0f,
                  data.lhs.data() + b * p.m * p.k, p.transposed_lhs ? m : k,
                  data.rhs.data() + b * p.k * p.n, p.transposed_rhs ? k : n, 0.0f,
                  data.out.data() + b * p.m * p.n, n);
    }
  });
}
#endif

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  Eigen::setNbThreads(1);  // with OpenMP it takes all that there are
  const double peak = measured_peak();
  benchmark::AddCustomContext("measured_peak_Gflops", std::to_string(peak * 1e-9));
  for (const product& p : products) {
    const std::string name = std::string("gemm/") + p.name;
    const auto add = [&](const char* library, auto function) {
      benchmark::RegisterBenchmark((name + "/" + library).c_str(), function)
          ->Unit(benchmark::kMicrosecond)
          ->UseRealTime();
    };
    add("atled", [&p, peak](benchmark::State& state) { run_atled(state, p, peak, 1); });
#ifdef _OPENMP
    add("atled_2_threads", [&p, peak](benchmark::State& state) { run_atled(state, p, peak, 2); });
#endif
    add("eigen", [&p, peak](benchmark::State& state) { run_eigen(state, p, peak); });
#if ATLED_BENCH_HAS_CBLAS
    add("blas", [&p, peak](benchmark::State& state) { run_blas(state, p, peak); });
#endif
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
