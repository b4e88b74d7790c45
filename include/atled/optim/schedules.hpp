// atled/optim/schedules.hpp: how the learning rate goes from step to step.
// Reads: ops/elementwise.hpp. Each is called with a step on the host, or with one in a trace: i32[]
// gives f32[]. `at` of a schedule is its formula, for a number of the host and for an expression.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>

namespace atled::optim {

namespace detail {

// What a formula uses beside + - * /, for a double and for an operand.

[[nodiscard]] constexpr double constant_like(double, double value) {
  return value;
}
[[nodiscard]] constexpr ir::operand constant_like(const ir::operand& x, double value) {
  return x.like(value);
}
[[nodiscard]] constexpr double choose(bool predicate, double x, double y) {
  return predicate ? x : y;
}
[[nodiscard]] constexpr ir::operand choose(const ir::operand& predicate, const ir::operand& x,
                                           const ir::operand& y) {
  return ir::select(predicate, x, y);
}
[[nodiscard]] inline double cosine_of(double x) {
  return std::cos(x);
}
[[nodiscard]] constexpr ir::operand cosine_of(const ir::operand& x) {
  return x.apply(op::cos);
}
[[nodiscard]] inline double power_of(double x, double y) {
  return std::pow(x, y);
}
[[nodiscard]] constexpr ir::operand power_of(const ir::operand& x, double y) {
  return ir::operand::combine(op::pow, x, x.like(y));
}
[[nodiscard]] inline double power_of_base(double x, double y) {
  return std::pow(x, y);
}
[[nodiscard]] constexpr ir::operand power_of_base(double x, const ir::operand& y) {
  return ir::operand::combine(op::pow, y.like(x), y);
}

/// (step - begin) / length, brought into [0, 1].
template <class Number>
[[nodiscard]] constexpr Number progress_of(const Number& step, std::int64_t begin,
                                           std::int64_t length) {
  const double steps = length > 0 ? static_cast<double>(length) : 1;
  const Number x = (step - static_cast<double>(begin)) / steps;
  const Number raised = choose(x < 0.0, constant_like(x, 0), x);
  return choose(raised < 1.0, raised, constant_like(x, 1));
}

template <class Schedule>
[[nodiscard]] constexpr expr traced_rate(const Schedule& schedule, const expr& step,
                                         const call_site& at) {
  const ir::operand in = ir::floating_operand(step, at.in("schedule"));
  return in.is_poison() ? expr(in) : expr(schedule.at(in));
}

}  // namespace detail

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

/// The same rate at each step.
struct constant_rate {
  double rate = 1e-3;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    return detail::constant_like(step, rate);
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// A straight line from `from` to `to` over `length` steps, from step `begin` on.
///
/// As Optax's `linear_schedule`; with `from` 0 it is a warm-up.
struct linear_rate {
  double from = 1e-3;
  double to = 0;
  std::int64_t length = 1000;
  std::int64_t begin = 0;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    return detail::progress_of(step, begin, length) * (to - from) + from;
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// (from - to) (1 - progress)^power + to over `length` steps, from step `begin` on.
///
/// As Optax's `polynomial_schedule`.
struct polynomial_rate {
  double from = 1e-3;
  double to = 0;
  double power = 2;
  std::int64_t length = 1000;
  std::int64_t begin = 0;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    const Number left = 1.0 - detail::progress_of(step, begin, length);
    return detail::power_of(left, power) * (from - to) + to;
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// Half a cosine from `from` down to `to` over `length` steps.
///
/// As Optax's `cosine_decay_schedule` with alpha = to / from.
/// Source: Loshchilov and Hutter, SGDR, ICLR 2017, equation 5.
struct cosine_rate {
  double from = 1e-3;
  double to = 0;
  std::int64_t length = 1000;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    const Number angle = detail::progress_of(step, 0, length) * std::numbers::pi;
    return (detail::cosine_of(angle) + 1.0) * ((from - to) * 0.5) + to;
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// from factor^(step / length): the rate falls by `factor` in each `length` steps.
///
/// As Optax's `exponential_decay`.
struct exponential_rate {
  double from = 1e-3;
  double factor = 0.5;
  std::int64_t length = 1000;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    return detail::power_of_base(factor, step / static_cast<double>(length)) * from;
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// Warm-up, a stable rate, and a decay at the end: a straight rise to `peak` over `warmup` steps,
/// `peak` until `length - decay`, then a straight fall to `floor` at `length`.
///
/// Source: Hu et al., MiniCPM, 2024, section 4.2; the fall as of Haegele et al., Scaling Laws and
/// Compute-Optimal Training Beyond Fixed Training Durations, 2024.
struct wsd {
  double peak = 1e-3;
  double floor = 0;
  std::int64_t warmup = 100;
  std::int64_t decay = 200;
  std::int64_t length = 2000;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    const Number rise = detail::progress_of(step, 0, warmup) * peak;
    const Number fall = detail::progress_of(step, length - decay, decay) * (floor - peak) + peak;
    return detail::choose(step < static_cast<double>(warmup), rise, fall);
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

/// Half a cosine up to `peak` in the first part of the steps, and one down to almost nothing.
///
///   peak / start_factor     at 0
///   peak                    at rise * length
///   peak / end_factor       at length, and after
///
/// Numbers as of Optax's `cosine_onecycle_schedule`, whose last rate is peak / (start * end
/// factor). Source: Smith and Topin, Super-Convergence, 2018.
struct one_cycle {
  double peak = 1e-3;
  std::int64_t length = 1000;
  double rise = 0.3;
  double start_factor = 25;
  double end_factor = 1e5;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    const auto top = static_cast<std::int64_t>(rise * static_cast<double>(length));
    const auto between = [&](double from, double to, const Number& progress) {
      return (detail::cosine_of(progress * std::numbers::pi) + 1.0) * ((from - to) * 0.5) + to;
    };
    const Number up = between(peak / start_factor, peak, detail::progress_of(step, 0, top));
    const Number down =
        between(peak, peak / end_factor, detail::progress_of(step, top, length - top));
    return detail::choose(step < static_cast<double>(top), up, down);
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return detail::traced_rate(*this, step, where);
  }
};

namespace detail {
template <class First, class Second>
struct joined_rates {
  First first;
  std::int64_t boundary;
  Second second;

  template <class Number>
  [[nodiscard]] constexpr Number at(const Number& step) const {
    const auto limit = static_cast<double>(boundary);
    return choose(step < limit, first.at(step), second.at(step - limit));
  }
  [[nodiscard]] double operator()(std::integral auto step) const {
    return at(static_cast<double>(step));
  }
  [[nodiscard]] constexpr expr operator()(const expr& step,
                                          call_site where = call_site::here()) const {
    return traced_rate(*this, step, where);
  }
};
}  // namespace detail

/// One schedule after another: `join(linear_rate{...}, 100, constant_rate{...}, 900,
/// cosine_rate{...})`
///
/// Each counts its steps from the boundary before it. As Optax's `join_schedules`.
/// Units: boundaries in steps from 0.
template <class First, class Second>
[[nodiscard]] constexpr auto join(const First& first, std::int64_t boundary, const Second& second) {
  return detail::joined_rates<First, Second>{first, boundary, second};
}
template <class First, class Second, class... Rest>
[[nodiscard]] constexpr auto join(const First& first, std::int64_t boundary, const Second& second,
                                  std::int64_t next, const Rest&... rest) {
  return join(join(first, boundary, second), next, rest...);
}

}  // namespace atled::optim
