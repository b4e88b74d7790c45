// atled/optim/schedules.hpp: how the learning rate goes from step to step.
// Reads: ops/elementwise.hpp. Each is called with a step on the host, or with one in a trace.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>

namespace atled::optim {

/// A straight rise to `peak`, half a cosine down to `floor`, then `floor`.
///
///   step < warmup          peak (step + 1) / (warmup + 1)
///   warmup ... decay       floor + (peak - floor) (1 + cos(pi (step - warmup) / (decay - warmup)))
///   / 2
///
/// Units: steps from 0; rates per optimizer step.
/// Source: nanoGPT, train.py; Loshchilov and Hutter, SGDR, ICLR 2017, equation 5.
struct warmup_cosine {
  double peak = 1e-3;
  double floor = 1e-4;
  std::int64_t warmup = 100;
  std::int64_t decay = 2000;

  [[nodiscard]] double operator()(std::integral auto step) const {
    const auto it = static_cast<double>(step);
    if (it < start()) return peak * (it + 1) / (start() + 1);
    if (it >= end()) return floor;
    const double progress = (it - start()) / (end() - start());
    return floor + (peak - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  }

  /// The same for a step that the program computes, i32[]; f32[].
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site at = call_site::here()) const {
    const ir::operand it = ir::floating_operand(step, at.in("warmup_cosine"));
    if (it.is_poison()) return it;
    const double length = end() > start() ? end() - start() : 1;
    const ir::operand cosine = ((it - start()) * (std::numbers::pi / length)).apply(op::cos);
    const ir::operand rise = (it + 1.0) * (peak / (start() + 1));
    const ir::operand fall = (cosine + 1.0) * ((peak - floor) * 0.5) + floor;
    const ir::operand late = ir::select(it < end(), fall, it.like(floor));
    return ir::select(it < start(), rise, late);
  }

 private:
  [[nodiscard]] constexpr double start() const { return static_cast<double>(warmup); }
  [[nodiscard]] constexpr double end() const { return static_cast<double>(decay); }
};

}  // namespace atled::optim
