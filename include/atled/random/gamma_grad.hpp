// atled/random/gamma_grad.hpp: how a gamma number moves with its shape: its implicit derivative.
// Reads: ops/special.hpp, transform/custom_jvp.hpp. Next: random/gamma.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/ops/special.hpp"
#include "atled/transform/custom_jvp.hpp"

#include <utility>

namespace atled::random {

namespace detail {

/// `x` repeated along a last axis of `count` elements.
constexpr ir::operand repeated_last(const ir::operand& x, std::int64_t count) {
  shape dims = x.type().dims;
  const std::int64_t mask = (std::int64_t{1} << dims.rank) - 1;
  dims.push(count);
  return {x.builder(), x.builder().broadcast(x.id(), dims, mask)};
}

/// Points s and weights of integral_0^inf F(s) ds for an F that falls about as exp(-s) does:
/// s = exp(t - exp(-t)) at equal steps of t.
/// Source: Takahasi and Mori, Double exponential formulas for numerical integration, 1974.
struct half_line {
  std::int64_t count;
  ir::operand points;
  ir::operand weights;

  static constexpr half_line of(ir::builder& b, std::int64_t count) {
    constexpr double first = -4;
    constexpr double last = 4.2;
    const double step = (last - first) / static_cast<double>(count - 1);
    const ir::operand place(b, b.iota({dtype::f64, shape::of({count})}, 0));
    const ir::operand t = place * step + first;
    const ir::operand decay = (-t).apply(op::exp);
    const ir::operand s = (t - decay).apply(op::exp);
    return {count, s, s * (decay + 1.0) * step};
  }
};

/// d log x / d a of a gamma number x of shape a, by log x; f64, at most 7 axes.
///
/// With P the distribution and p = P_x its density, dx / da = -P_a / p, and P_a is an integral of
/// p(t) (log t - digamma(a)) from 0 to x, or the negative of that from x on. Here t = x exp(-+s):
///
///   x > 1, x > a:  integral exp(a s - x (e^s - 1)) (log x + s - digamma(a)) ds
///   else:          integral exp(-a s + x (1 - e^-s)) (x/a s e^-s - log x + digamma(a + 1)) ds
///
/// The second is integrated by parts once, so that nothing cancels where a is small. All this is
/// made of smooth functions, so it is differentiated like any other; where the points lie is held
/// fixed, as the integral does not depend on it.
constexpr ir::operand log_slope(const ir::operand& a, const ir::operand& log_x,
                                std::int64_t num_points) {
  const auto fixed = [](const ir::operand& y) { return y.apply(op::stop_gradient); };
  const ir::operand x = log_x.apply(op::exp);
  const ir::operand is_upper = (x > 1.0) & (x > a);
  const ir::operand root = x.apply(op::sqrt);
  const ir::operand lower_rate =
      ir::select(a <= 1.0, a, a - x + ir::operand::combine(op::min, x, root));
  const ir::operand rate = fixed(ir::select(is_upper, x - a + root, lower_rate));

  const half_line line = half_line::of(a.builder(), num_points);
  const auto wide = [&](const ir::operand& y) { return repeated_last(y, line.count); };
  const shape dims = wide(a).type().dims;
  const auto along = [&](const ir::operand& y) {
    return ir::operand(a.builder(),
                       a.builder().broadcast(y.id(), dims, std::int64_t{1} << (dims.rank - 1)));
  };
  const ir::operand s = along(line.points) / wide(rate);
  const ir::operand signed_s = ir::select(wide(is_upper), s, -s);
  const ir::operand rise = signed_s.apply(op::expm1);  // e^+-s - 1
  const ir::operand exponent = wide(a - x) * signed_s - wide(x) * (rise - signed_s);
  const ir::operand psi = ir::operand(digamma(expr(a + 1.0)), call_site{});
  const ir::operand above = wide(log_x - psi + 1.0 / a) + s;
  const ir::operand below = wide(x / a) * s * (rise + 1.0) - wide(log_x - psi);
  const ir::operand terms = exponent.apply(op::exp) * ir::select(wide(is_upper), above, below);
  const ir::operand weighted = terms * (along(line.weights) / wide(rate));
  ir::builder& b = a.builder();
  return {b, b.reduce(op::reduce_sum, weighted.id(), std::int64_t{1} << (dims.rank - 1))};
}

/// The same for f32 and f64 of any shape; computed in f64.
constexpr ir::operand log_slope_of(const ir::operand& a, const ir::operand& log_x) {
  if (a.is_poison() || log_x.is_poison()) return a;
  const tensor_type type = a.type();
  ir::builder& b = a.builder();
  const auto prepared = [&](const ir::operand& y) {
    const ir::operand out = y.as(dtype::f64);
    return type.rank() < max_rank ? out : ir::flattened(out);
  };
  // 129 points leave an error of 1e-13, 65 of 1e-7
  const ir::operand out =
      log_slope(prepared(a), prepared(log_x), type.element == dtype::f64 ? 129 : 65);
  return ir::operand(b, b.reshape(out.id(), type.dims)).as(type.element);
}

/// `log_x`, whose derivative by the shape `a` is that of a gamma number. The rule calls itself, so
/// derivatives of any order follow the number as it moves.
struct moving_with_shape {
  struct value {
    constexpr expr operator()(const expr&, const expr& log_x) const { return log_x; }
  };
  struct rule {
    constexpr auto operator()(const auto& primals, const auto& tangents) const {
      const auto& [a, log_x] = primals;
      const expr moving = moving_with_shape{}(a, log_x);
      const call_site at{};
      const ir::operand slope = log_slope_of(ir::operand(a, at), ir::operand(moving, at));
      return std::pair(moving, expr(slope * ir::operand(std::get<0>(tangents), at)));
    }
  };
  constexpr expr operator()(const expr& a, const expr& log_x) const {
    return custom_jvp(value{}, rule{})(a, log_x);
  }
};

}  // namespace detail

/// The derivative dx / da of a gamma number `x` by its shape `a`, with the uniform number that it
/// came from held fixed.
///
///   a  f32[...]     x  f32[...]     out  f32[...]
///
/// Cost: 65 exponentials a number in f32, 129 in f64; computed in f64.
/// Gradient: of any order, by both.
/// Ill-formed: other types than f32 and f64; other shapes than one.
/// Source: Figurnov, Mohamed and Mnih, Implicit reparameterization gradients, NeurIPS 2018.
[[nodiscard]] constexpr expr random_gamma_grad(const expr& a, const expr& x,
                                               call_site at = call_site::here()) {
  const ir::operand shapes(a, at.in("random_gamma_grad"));
  const ir::operand numbers(x, at.in("random_gamma_grad"));
  ir::builder& b = shapes.builder();
  if (shapes.is_poison() || numbers.is_poison()) return {b, ir::poison};
  const tensor_type type = shapes.type();
  if (!(type == numbers.type()) || (type.element != dtype::f32 && type.element != dtype::f64)) {
    text why;
    return ir::fail(b, why << type << " and " << numbers.type()
                           << ": both must be f32 or both f64, of one shape");
  }
  return numbers * detail::log_slope_of(shapes, numbers.apply(op::log));
}

}  // namespace atled::random
