// atled/random/gamma.hpp: gamma numbers and what is made of them: beta, dirichlet.
// Reads: random/gamma_grad.hpp, ops/control.hpp. Same bits as jax.random; inside a trace.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/control.hpp"
#include "atled/ops/softmax.hpp"
#include "atled/random/continuous.hpp"
#include "atled/random/gamma_grad.hpp"

#include <concepts>
#include <tuple>

namespace atled::random {

namespace detail {

/// A key for each lane: both words.
using lane_keys = std::array<ir::operand, 2>;

/// The keys that `split` would give at `place`, for each lane.
constexpr lane_keys child_of(const lane_keys& keys, int place) {
  const ir::operand high = keys[0].like(0);
  const ir::operand low = keys[0].like(place);
  return {threefry(keys, high, low, 0), threefry(keys, high, low, 1)};
}
constexpr ir::operand unit_of_lanes(const lane_keys& keys, dtype element) {
  return unit_at(keys, keys[0].like(0), keys[0].like(0), element);
}

/// log of gamma numbers of mean `a`, f32[N], each lane with a key and a loop of its own: the loop
/// runs until all lanes are done, and those that are stay as they are. A template, as its callers,
/// so that its loops are compiled only where they are called.
template <std::same_as<expr> Key>
constexpr ir::operand log_gamma_numbers(const Key& key, const ir::operand& a, const call_site& at) {
  const dtype element = a.type().element;
  const shape dims = a.type().dims;
  const auto [high, low] = counters(a.builder(), dims);
  const auto words = words_of(key, at);
  const lane_keys own{threefry(words, high, low, 0), threefry(words, high, low, 1)};
  if (own[0].is_poison()) return own[0];
  const auto either = [&](const ir::operand& now, const expr& then, const expr& old) {
    return expr(ir::select(now, ir::operand(then, at), ir::operand(old, at)));
  };
  const auto in = [&](const expr& x) { return ir::operand(x, at); };

  const ir::operand is_large = a.like(1) <= a;
  const ir::operand raised = ir::select(is_large, a, a + 1.0);
  const ir::operand d = raised - 1.0 / 3.0;
  const ir::operand c = (1.0 / 3.0) / d.apply(op::sqrt);
  const auto is_rejected = [&](const auto& carry) {
    const ir::operand x = in(std::get<2>(carry));
    const ir::operand v = in(std::get<3>(carry));
    const ir::operand u = in(std::get<4>(carry));
    const ir::operand bound = x * 0.5 + d * (1.0 - v + v.apply(op::log));
    return (1.0 - x * 0.0331 <= u) & (bound <= u.apply(op::log));
  };
  const lane_keys chain = child_of(own, 0);
  const auto last = while_loop(
      [&](const auto& carry) { return any(expr(is_rejected(carry)), {}, {}, at); },
      [&](const auto& carry) {
        const ir::operand is_open = is_rejected(carry);
        const lane_keys keys{in(std::get<0>(carry)), in(std::get<1>(carry))};
        const lane_keys next = child_of(keys, 0);
        const lane_keys for_x = child_of(keys, 1);
        const ir::operand u = unit_of_lanes(child_of(keys, 2), element);
        // A normal number x with 1 + c x above 0.
        const auto drawn = while_loop(
            [&](const auto& inner) { return any(expr(in(std::get<3>(inner)) <= 0.0), {}, {}, at); },
            [&](const auto& inner) {
              const ir::operand is_low = in(std::get<3>(inner)) <= 0.0;
              const lane_keys here{in(std::get<0>(inner)), in(std::get<1>(inner))};
              const lane_keys rest = child_of(here, 0);
              const ir::operand x = normal_of(unit_of_lanes(child_of(here, 1), element), element);
              return std::tuple(either(is_low, rest[0], here[0]), either(is_low, rest[1], here[1]),
                                either(is_low, x, std::get<2>(inner)),
                                either(is_low, x * c + 1.0, std::get<3>(inner)));
            },
            std::tuple(expr(for_x[0]), expr(for_x[1]), expr(a.like(0)), expr(a.like(-1))), at);
        const ir::operand x = in(std::get<2>(drawn));
        const ir::operand v = in(std::get<3>(drawn));
        return std::tuple(either(is_open, next[0], keys[0]), either(is_open, next[1], keys[1]),
                          either(is_open, x * x, std::get<2>(carry)),
                          either(is_open, v * v * v, std::get<3>(carry)),
                          either(is_open, u, std::get<4>(carry)));
      },
      std::tuple(expr(chain[0]), expr(chain[1]), expr(a.like(0)), expr(a.like(1)), expr(a.like(2))),
      at);
  const ir::operand v = in(std::get<3>(last));
  const ir::operand log_u = -exponential_of(unit_of_lanes(child_of(own, 1), element));
  const ir::operand is_plain = ir::operand::combine(op::bit_or, is_large, log_u == 0.0);
  const ir::operand boost = ir::select(is_plain, a.like(0), log_u * (1.0 / a));
  return d.apply(op::log) + v.apply(op::log) + boost;
}

template <std::same_as<expr> Key>
constexpr ir::operand log_gamma_of(const Key& key, const located& a, const shape& dims,
                                   dtype element, const call_site& at) {
  ir::builder& b = key.builder();
  b.site = at;
  if (!is_random_type(b, element, element == dtype::f32 || element == dtype::f64, "f32 or f64")) {
    return {b, ir::poison};
  }
  const ir::operand given = ir::as_operand(b, a, element).as(element);
  if (given.is_poison()) return given;
  const ir::operand shaped(b, ir::broadcast_to(b, given.id(), dims));
  const ir::operand drawn = log_gamma_numbers(key, shaped.apply(op::stop_gradient), at);
  if (drawn.is_poison()) return drawn;
  return ir::operand(moving_with_shape{}(expr(shaped), expr(drawn)), at);
}

}  // namespace detail

/// The logarithm of `gamma`, exact where the number itself would be 0.
template <std::same_as<expr> Key>
[[nodiscard]] constexpr expr loggamma(const Key& key, const located& a, const sizes& dims,
                                      dtype element = dtype::f32,
                                      call_site at = call_site::here()) {
  return detail::log_gamma_of(key, a, dims.dims, element, at.in("loggamma"));
}

/// Numbers with density x^(a - 1) exp(-x) / gamma(a).
///
/// Cost: loops until the last of the numbers is accepted, most of them after one or two trips.
/// Gradient: by a, of any order, as `random_gamma_grad`: the number moves with its distribution.
/// Ill-formed: the key is not u32[2]; a does not broadcast to the shape; not f32 or f64.
/// Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000.
template <std::same_as<expr> Key>
[[nodiscard]] constexpr expr gamma(const Key& key, const located& a, const sizes& dims,
                                   dtype element = dtype::f32, call_site at = call_site::here()) {
  return detail::log_gamma_of(key, a, dims.dims, element, at.in("gamma")).apply(op::exp);
}

/// Numbers in (0, 1) with density in proportion to x^(a - 1) (1 - x)^(b - 1).
///
/// Gradient, ill-formed: as `gamma`.
template <std::same_as<expr> Key>
[[nodiscard]] constexpr expr beta(const Key& key, const located& a, const located& b,
                                  const sizes& dims, dtype element = dtype::f32,
                                  call_site at = call_site::here()) {
  at = at.in("beta");
  const auto [first, second] = split<2>(key, at);
  const ir::operand x = detail::log_gamma_of(first, a, dims.dims, element, at);
  const ir::operand y = detail::log_gamma_of(second, b, dims.dims, element, at);
  if (x.is_poison() || y.is_poison()) return {key.builder(), ir::poison};
  const auto most = ir::operand::combine(op::max, x, y);
  const ir::operand part = (x - most).apply(op::exp);
  return part / (part + (y - most).apply(op::exp));
}

/// Rows of numbers in (0, 1) whose sum is 1.
///
///   a  f32[K]     dims  [B]     out  f32[B, K]
///
/// Gradient, ill-formed: as `gamma`; a is a scalar.
template <std::same_as<expr> Key>
[[nodiscard]] constexpr expr dirichlet(const Key& key, const expr& a, const sizes& dims,
                                       dtype element = dtype::f32,
                                       call_site at = call_site::here()) {
  at = at.in("dirichlet");
  const ir::operand in(a, at);
  if (in.is_poison() || ir::resolved_axis(in.builder(), in.type(), -1) < 0) {
    return {in.builder(), ir::poison};
  }
  shape all = dims.dims;
  all.push(in.type().dims[in.type().rank() - 1]);
  return softmax(detail::log_gamma_of(key, located(a, at), all, element, at), -1, at);
}

}  // namespace atled::random
