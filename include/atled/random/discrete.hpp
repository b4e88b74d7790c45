// atled/random/discrete.hpp: whole numbers, orders and choices: rademacher, geometric, poisson,
// permutation, choice.
// Reads: random/distributions.hpp, ops/control.hpp. Same bits as jax.random; inside a trace.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/control.hpp"
#include "atled/ops/cumulative.hpp"
#include "atled/ops/index.hpp"
#include "atled/ops/sort.hpp"
#include "atled/random/distributions.hpp"

#include <concepts>
#include <tuple>

namespace atled::random {

/// -1 or 1, each as likely; i32.
///
/// Ill-formed: the key is not u32[2].
[[nodiscard]] constexpr expr rademacher(const expr& key, const sizes& dims,
                                        dtype element = dtype::i32,
                                        call_site at = call_site::here()) {
  at = at.in("rademacher");
  const ir::operand drawn(bernoulli(key, 0.5, dims, at), at);
  return drawn.is_poison() ? drawn : drawn.as(element) * 2.0 - 1.0;
}

/// The number of trials until the first success, of probability `p` each; i32, 1 or more.
///
/// Ill-formed: the key is not u32[2]; p does not broadcast to the shape.
[[nodiscard]] constexpr expr geometric(const expr& key, const located& p, const sizes& dims,
                                       call_site at = call_site::here()) {
  at = at.in("geometric");
  const dtype element =
      p.is_literal() || !is_floating(p.value().element()) ? dtype::f32 : p.value().element();
  const ir::operand unit = detail::unit_uniform(key, dims.dims, element, at);
  if (unit.is_poison()) return unit;
  const ir::operand u = ir::select(unit == 0.0, unit.like(1), unit);
  const ir::operand chance = ir::as_operand(unit.builder(), p, element).as(element);
  const ir::operand failures = u.apply(op::log) / (-chance).apply(op::log1p);
  return (failures.apply(op::floor) + 1.0).as(dtype::i32);
}

namespace detail {

/// Below a mean of 10: how many uniform numbers have a product above exp(-mean). A template, as its
/// caller, so that its loop is compiled only where it is called.
template <std::same_as<expr> Key>
constexpr ir::operand poisson_by_product(const Key& key, const ir::operand& rate,
                                         const call_site& at) {
  const shape dims = rate.type().dims;
  ir::builder& b = rate.builder();
  const ir::operand none(b, b.splat(0, {dtype::i32, dims}));
  const auto is_open = [&](const expr& log_product) {
    return ir::operand(log_product, at) > -rate;
  };
  const auto last =
      while_loop([&](const auto& carry) { return any(is_open(std::get<2>(carry)), {}, {}, at); },
                 [&](const auto& carry) {
                   const auto& [count, chain, log_product] = carry;
                   const auto [next, drawn_from] = split<2>(chain, at);
                   const ir::operand k(count, at);
                   const ir::operand u = unit_uniform(drawn_from, dims, dtype::f32, at);
                   return std::tuple(expr(ir::select(is_open(log_product), k + 1.0, k)), next,
                                     expr(ir::operand(log_product, at) + u.apply(op::log)));
                 },
                 std::tuple(expr(none), key, expr(rate.like(0))), at);
  return ir::operand(std::get<0>(last), at) - 1.0;
}

/// From a mean of 10 on: transformed rejection.
template <std::same_as<expr> Key>
constexpr ir::operand poisson_by_rejection(const Key& key, const ir::operand& rate,
                                           const call_site& at) {
  const shape dims = rate.type().dims;
  ir::builder& b = rate.builder();
  const auto either = [](const ir::operand& x, const ir::operand& y) {
    return ir::operand::combine(op::bit_or, x, y);
  };
  const ir::operand log_rate = rate.apply(op::log);
  const ir::operand width = rate.apply(op::sqrt) * 2.53 + 0.931;
  const ir::operand a = width * 0.02483 - 0.059;
  const ir::operand inverse_alpha = 1.1328 / (width - 3.4) + 1.1239;
  const ir::operand squeeze = 0.9277 - 3.6224 / (width - 2.0);
  const ir::operand rejected(b, b.splat(0, {dtype::boolean, dims}));
  const auto last = while_loop(
      [&](const auto& carry) {
        return any(expr(!ir::operand(std::get<1>(carry), at)), {}, {}, at);
      },
      [&](const auto& carry) {
        const auto& [kept, accepted, chain] = carry;
        const auto [next, first, second] = split<3>(chain, at);
        const ir::operand u = unit_uniform(first, dims, dtype::f32, at) - 0.5;
        const ir::operand v = unit_uniform(second, dims, dtype::f32, at);
        const ir::operand shifted = 0.5 - u.apply(op::abs);
        const ir::operand k = ((2.0 * a / shifted + width) * u + rate + 0.43).apply(op::floor);
        const ir::operand s =
            (v * inverse_alpha / (a / (shifted * shifted) + width)).apply(op::log);
        const ir::operand t = -rate + k * log_rate - (k + 1.0).apply(op::lgamma);
        const ir::operand is_inside = (shifted.like(0.07) <= shifted) & (v <= squeeze);
        const ir::operand is_outside = either(k < 0.0, (shifted < 0.013) & (v > shifted));
        const ir::operand is_taken = either(is_inside, !is_outside & (s <= t));
        return std::tuple(expr(ir::select(is_taken, k, ir::operand(kept, at))),
                          expr(either(ir::operand(accepted, at), is_taken)), next);
      },
      std::tuple(expr(rate.like(-1)), expr(rejected), key), at);
  return ir::operand(std::get<0>(last), at).as(dtype::i32);
}

}  // namespace detail

/// Numbers of events whose mean is `rate`; i32.
///
/// Cost: loops until the last of the numbers is accepted.
/// Gradient: none.
/// Ill-formed: the key is not u32[2]; rate does not broadcast to the shape.
/// Source: Knuth, The Art of Computer Programming, volume 2, 3.4.1; Hormann, The transformed
/// rejection method for generating Poisson random variables, 1993.
template <std::same_as<expr> Key>
[[nodiscard]] constexpr expr poisson(const Key& key, const located& rate, const sizes& dims,
                                     call_site at = call_site::here()) {
  at = at.in("poisson");
  ir::builder& b = key.builder();
  b.site = at;
  const ir::operand given = ir::as_operand(b, rate, dtype::f32).as(dtype::f32);
  if (given.is_poison()) return given;
  const ir::operand mean(b, ir::broadcast_to(b, given.apply(op::stop_gradient).id(), dims.dims));
  const ir::operand is_small = ir::operand::combine(op::bit_or, mean != mean, mean < 10.0);
  const auto low = detail::poisson_by_product(key, ir::select(is_small, mean, mean.like(0)), at);
  const auto high =
      detail::poisson_by_rejection(key, ir::select(is_small, mean.like(1e5), mean), at);
  return ir::select(mean == 0.0, low.like(0), ir::select(is_small, low, high));
}

/// The elements along an axis in a random order, the same for all others.
///
/// Cost: a sort of the axis by random keys, once or, from 1626 elements on, twice or more.
/// Ill-formed: the key is not u32[2]; the axis is out of range.
[[nodiscard]] constexpr expr permutation(const expr& key, const expr& x, int along = 0,
                                         call_site at = call_site::here()) {
  at = at.in("permutation");
  const ir::operand in(x, at);
  if (in.is_poison()) return in;
  const int axis = ir::resolved_axis(in.builder(), in.type(), along);
  if (axis < 0) return {in.builder(), ir::poison};
  const std::int64_t size = in.type().dims[axis];
  expr places = arange(key, size, dtype::i32, at);
  expr chain = key;
  // Rounds until equal keys in all of them are unlikely: size^3 in words of 32 bits.
  const auto n = static_cast<double>(bound_of(size));
  for (double left = n * n * n; left > 1; left /= 4294967295.0) {
    const auto [next, drawn_from] = split<2>(chain, at);
    chain = next;
    const expr keys = detail::bits_of(drawn_from, shape::of({size}), dtype::u32, at);
    places = std::get<1>(sort(std::tuple(keys, places), 0, {}, at));
  }
  return take(x, places, axis, index_mode::clip, 0, at);
}
/// The numbers 0 ... size - 1 in a random order, i32[size].
[[nodiscard]] constexpr expr permutation(const expr& key, std::int64_t size,
                                         call_site at = call_site::here()) {
  at = at.in("permutation");
  return permutation(key, arange(key, size, dtype::i32, at), 0, at);
}

/// Elements along the first axis of `x`, drawn with replacement, each as likely.
///
///   x  T[N, ...]     dims  [B]     out  T[B, ...]
///
/// Ill-formed: the key is not u32[2]; x is a scalar.
[[nodiscard]] constexpr expr choice(const expr& key, const expr& x, const sizes& dims,
                                    call_site at = call_site::here()) {
  at = at.in("choice");
  const ir::operand in(x, at);
  if (in.is_poison() || ir::resolved_axis(in.builder(), in.type(), 0) < 0) {
    return {in.builder(), ir::poison};
  }
  const expr places = randint(key, dims, 0, in.type().dims[0], dtype::i32, at);
  return take(x, places, 0, index_mode::clip, 0, at);
}
/// The same with a probability for each element, which need not sum to 1.
///
///   p  f32[N]
[[nodiscard]] constexpr expr choice(const expr& key, const expr& x, const sizes& dims,
                                    const expr& p, call_site at = call_site::here()) {
  at = at.in("choice");
  const ir::operand in(x, at);
  const ir::operand chances = ir::floating_operand(p, at);
  ir::builder& b = in.builder();
  if (in.is_poison() || chances.is_poison()) return {b, ir::poison};
  if (in.type().rank() == 0 || !(chances.type().dims == shape::of({in.type().dims[0]}))) {
    text why;
    return ir::fail(b, why << in.type() << " with probabilities " << chances.type()
                           << ": there must be one for each row");
  }
  const ir::operand sums(cumsum(chances, 0, {}, at), at);
  const ir::operand total(index_in_dim(sums, -1, 0, {}, at), at);
  const ir::operand u = detail::unit_uniform(key, dims.dims, chances.type().element, at);
  if (u.is_poison()) return u;
  const expr places = searchsorted(sums, located(total * (1.0 - u), at), side::left, at);
  return take(x, places, 0, index_mode::clip, 0, at);
}
/// `count` elements along the first axis of `x`, none of them twice.
///
/// Ill-formed: the key is not u32[2]; there are fewer.
[[nodiscard]] constexpr expr choice_without_replacement(const expr& key, const expr& x,
                                                        std::int64_t count,
                                                        call_site at = call_site::here()) {
  at = at.in("choice_without_replacement");
  return slice_in_dim(permutation(key, x, 0, at), 0, count, 1, 0, at);
}
/// The same with a probability for each element, which need not sum to 1: each draw is among those
/// that are left, by their probabilities. One of probability 0 comes only when no other is left.
///
///   p  f32[N]
///
/// Source: Vieira, Gumbel-max trick and weighted reservoir sampling, 2014.
[[nodiscard]] constexpr expr choice_without_replacement(const expr& key, const expr& x,
                                                        std::int64_t count, const expr& p,
                                                        call_site at = call_site::here()) {
  at = at.in("choice_without_replacement");
  const ir::operand in(x, at);
  const ir::operand chances = ir::floating_operand(p, at);
  ir::builder& b = in.builder();
  if (in.is_poison() || chances.is_poison()) return {b, ir::poison};
  if (in.type().rank() == 0 || !(chances.type().dims == shape::of({in.type().dims[0]}))) {
    text why;
    return ir::fail(b, why << in.type() << " with probabilities " << chances.type()
                           << ": there must be one for each row");
  }
  const ir::operand noise = detail::gumbel_of(key, chances.type().dims, chances.type().element, at);
  if (noise.is_poison()) return noise;
  const expr places = top_k(noise + chances.apply(op::log), count, at).second;
  return take(x, places, 0, index_mode::clip, 0, at);
}

}  // namespace atled::random
