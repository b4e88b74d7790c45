// bench/run_time/triad.hpp: what the memory of this machine gives: the roof of every loop.
// Reads: loops/simd.hpp, loops/parallel.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"
#include "atled/loops/parallel.hpp"
#include "atled/loops/simd.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace bench {

/// `a = b + s c` over arrays far larger than the caches; `a` is written past them, so that no line
/// of it is read first.
///
/// Source: McCalpin, Memory Bandwidth and Machine Balance in Current High Performance Computers,
/// 1995.
class triad {
  static constexpr std::int64_t size = std::int64_t{1} << 24;
  static constexpr std::int64_t piece = size / 64;

 public:
  static constexpr double bytes = 3.0 * sizeof(float) * size;

  triad() {
    std::fill(b_.begin(), b_.end(), 1.0f);
    std::fill(c_.begin(), c_.end(), 2.0f);
  }

  /// The best of `repetitions`. Units: bytes a second.
  [[nodiscard]] double bytes_per_second(int threads, int repetitions = 10) {
    auto best = std::chrono::duration<double>::max();
    for (int i = 0; i < repetitions; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      atled::loops::for_each_piece(&run_piece, this, size / piece, threads);
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
      best = std::min(best, time);
    }
    return bytes / best.count();
  }

 private:
  static void run_piece(const void* self, std::int64_t index) {
    namespace loops = atled::loops;
    constexpr int lanes = loops::native_lanes<float>;
    auto& arrays = *static_cast<triad*>(const_cast<void*>(self));  // NOLINT: as it was given
    float* const a = arrays.a_.data();
    const float* const b = std::as_const(arrays.b_).data();
    const float* const c = std::as_const(arrays.c_).data();
    const auto s = loops::splat<lanes>(3.0f);
    for (std::int64_t i = index * piece; i < (index + 1) * piece; i += lanes) {
      loops::store_stream(a + i, fma(loops::load<lanes>(c + i), s, loops::load<lanes>(b + i)));
    }
    loops::stream_fence();
  }

  atled::tensor<float, size> a_, b_, c_;
};

}  // namespace bench
