// atled/passes/fold.hpp: arithmetic on constants while compiling, where it is exactly what the
// kernels would do. Reads: passes/ids.hpp. Used by passes/simplify.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"
#include "atled/passes/rewrite.hpp"

#include <bit>
#include <cstdint>

namespace atled::passes {

/// A scalar constant in the making; `known` is false where it cannot be computed here.
struct folded {
  bool known;
  double real;
  std::int64_t integer;

  [[nodiscard]] static constexpr folded none() { return folded{}; }
  [[nodiscard]] static constexpr folded of(double value) { return {true, value, 0}; }
  [[nodiscard]] static constexpr folded of_integer(std::int64_t value) { return {true, 0, value}; }
};

namespace detail {

// A constant expression may neither overflow nor make a NaN: numbers outside stay for the kernels.
constexpr bool is_moderate(double x) {
  return x == 0 || (x > 1e-150 && x < 1e150) || (x < -1e-150 && x > -1e150);
}
constexpr bool is_finite(double x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return x > -infinity && x < infinity;
}
/// Infinities stay what they are; finite numbers must not overflow.
constexpr bool fits(double x, dtype element) {
  return element == dtype::f64 || !is_finite(x) || (x > -3e38 && x < 3e38);
}

constexpr double floor_of(double x) {
  if (!(x > -4e15 && x < 4e15)) return x;  // whole already
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole > x ? whole - 1 : whole;
}
/// To the nearest, halves to even.
constexpr double round_of(double x) {
  const double below = floor_of(x);
  const double rest = x - below;
  if (rest != 0.5) return rest < 0.5 ? below : below + 1;
  return floor_of(below / 2) * 2 == below ? below : below + 1;
}

/// x - y * y without rounding the square.
/// Source: Dekker, A floating-point technique for extending the available precision, 1971.
constexpr double square_residual(double x, double y) {
  const double scaled = y * 134217729.0;  // 2^27 + 1
  const double high = scaled - (scaled - y);
  const double low = y - high;
  const double square = y * y;
  const double error = ((high * high - square) + 2 * high * low) + low * low;
  return (x - square) - error;
}
/// Pre: x > 0 and moderate.
constexpr double sqrt_of(double x) {
  auto y = std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) >> 1) + 0x1FF8000000000000U);
  for (int i = 0; i < 6; ++i) y = 0.5 * (y + x / y);
  return y + square_residual(x, y) / (2 * y);
}

/// Values that are known without a library of functions.
constexpr folded fold_function(op code, double x) {
  switch (code) {
    case op::neg:
      return folded::of(-x);
    case op::abs:
      return folded::of(x < 0 ? -x : x == 0 ? 0.0 : x);
    case op::sign:
      return folded::of(x > 0 ? 1 : x < 0 ? -1 : x);
    case op::floor:
      return folded::of(floor_of(x));
    case op::ceil:
      return folded::of(-floor_of(-x));
    case op::round:
      return folded::of(round_of(x));
    case op::sqrt:
    case op::rsqrt:
      if (!(x > 0) || !is_moderate(x)) return folded::none();
      return folded::of(code == op::sqrt ? sqrt_of(x) : 1 / sqrt_of(x));
    case op::exp:
    case op::cos:
    case op::cosh:
    case op::erfc:
      return x == 0 ? folded::of(1) : folded::none();
    case op::expm1:
    case op::log1p:
    case op::tanh:
    case op::sin:
    case op::erf:
    case op::erf_inv:
    case op::sinh:
    case op::cbrt:
      return x == 0 ? folded::of(x) : folded::none();
    case op::logistic:
      return x == 0 ? folded::of(0.5) : folded::none();
    case op::log:
      return x == 1 ? folded::of(0) : folded::none();
    case op::stop_gradient:
    case op::checkpoint_name:
      return folded::of(x);
    default:
      return folded::none();
  }
}

constexpr folded fold_reals(op code, double x, double y) {
  const bool moderate = is_moderate(x) && is_moderate(y);
  switch (code) {
    case op::add:
      return moderate ? folded::of(x + y) : folded::none();
    case op::sub:
      return moderate ? folded::of(x - y) : folded::none();
    case op::mul:
      return moderate ? folded::of(x * y) : folded::none();
    case op::strong_mul:
      if (x == 0 || y == 0) return folded::of(0);
      return moderate ? folded::of(x * y) : folded::none();
    case op::div:
      return moderate && y != 0 ? folded::of(x / y) : folded::none();
    case op::max:
      return folded::of(x > y ? x : y);
    case op::min:
      return folded::of(x < y ? x : y);
    default:
      return folded::none();
  }
}

template <class T>
constexpr folded fold_compare(op code, T x, T y) {
  switch (code) {
    case op::eq:
      return folded::of_integer(x == y);
    case op::ne:
      return folded::of_integer(x != y);
    case op::lt:
      return folded::of_integer(x < y);
    case op::le:
      return folded::of_integer(x <= y);
    case op::gt:
      return folded::of_integer(x > y);
    case op::ge:
      return folded::of_integer(x >= y);
    default:
      return folded::none();
  }
}

/// An integer as its type holds it: it wraps around.
constexpr std::int64_t wrapped(std::uint64_t value, dtype element) {
  switch (element) {
    case dtype::boolean:
      return value != 0 ? 1 : 0;
    case dtype::u8:
      return static_cast<std::uint8_t>(value);
    case dtype::i32:
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
    case dtype::u32:
      return static_cast<std::uint32_t>(value);
    default:
      return static_cast<std::int64_t>(value);
  }
}

constexpr folded fold_integers(op code, std::int64_t x, std::int64_t y, dtype element) {
  const auto left = static_cast<std::uint64_t>(x);
  const auto right = static_cast<std::uint64_t>(y);
  const auto wrap = [&](std::uint64_t value) {
    return folded::of_integer(wrapped(value, element));
  };
  switch (code) {
    case op::add:
      return wrap(left + right);
    case op::sub:
      return wrap(left - right);
    case op::mul:
      return wrap(left * right);
    case op::div:
      return y > 0 ? wrap(static_cast<std::uint64_t>(x / y)) : folded::none();
    case op::rem:
      return y > 0 ? wrap(static_cast<std::uint64_t>(x % y)) : folded::none();
    case op::max:
      return folded::of_integer(x > y ? x : y);
    case op::min:
      return folded::of_integer(x < y ? x : y);
    case op::bit_and:
      return wrap(left & right);
    case op::bit_or:
      return wrap(left | right);
    case op::bit_xor:
      return wrap(left ^ right);
    default:
      return folded::none();
  }
}

constexpr folded fold_convert(const folded& x, dtype from, dtype to) {
  if (is_floating(from)) {
    if (is_floating(to)) {
      return x.real == x.real && fits(x.real, to) ? folded::of(x.real) : folded::none();
    }
    if (to == dtype::boolean) return folded::of_integer(x.real != 0);
    const bool is_small = x.real > -2e9 && x.real < 2e9;
    const bool is_negative = x.real < 0 && !is_signed(to);
    if (!is_small || is_negative) return folded::none();
    return folded::of_integer(
        wrapped(static_cast<std::uint64_t>(static_cast<std::int64_t>(x.real)), to));
  }
  if (is_floating(to)) return folded::of(static_cast<double>(x.integer));
  return folded::of_integer(wrapped(static_cast<std::uint64_t>(x.integer), to));
}

/// The constant that all elements of a node are, in the form of its type.
constexpr folded constant_of(const ir::graph& g, int id) {
  if (g[id].code == op::broadcast) id = g.operand(id, 0);
  if (!g.is_constant(id)) return folded::none();
  return is_floating(g.type(id).element) ? folded::of(g.constant_value(id))
                                         : folded::of_integer(g.attribute(id));
}

}  // namespace detail

/// The value of an elementwise op on one to three known values of type `from`, or none.
[[nodiscard]] constexpr folded fold_known(op code, dtype from, dtype element, const folded* values,
                                          int count) {
  if (code == op::convert) return detail::fold_convert(values[0], from, element);
  if (code == op::select) return values[values[0].integer != 0 ? 1 : 2];
  if (code == op::is_finite) return folded::of_integer(detail::is_finite(values[0].real));
  if (is_compare(code)) {
    return is_floating(from) ? detail::fold_compare(code, values[0].real, values[1].real)
                             : detail::fold_compare(code, values[0].integer, values[1].integer);
  }
  if (!is_floating(element)) {
    if (count == 2) {
      return detail::fold_integers(code, values[0].integer, values[1].integer, element);
    }
    if (code == op::neg) return detail::fold_integers(op::sub, 0, values[0].integer, element);
    if (code == op::logical_not && element == dtype::boolean) {
      return folded::of_integer(1 - values[0].integer);
    }
    return folded::none();
  }
  for (int i = 0; i < count; ++i) {
    if (values[i].real != values[i].real) return folded::none();  // a NaN
  }
  const folded out = count == 1 ? detail::fold_function(code, values[0].real)
                                : detail::fold_reals(code, values[0].real, values[1].real);
  return out.known && detail::fits(out.real, element) ? out : folded::none();
}

/// The value of an elementwise node whose operands are constants, or none.
[[nodiscard]] constexpr folded fold(const ir::graph& g, const moving_node& n) {
  folded values[3]{};
  if (n.num_operands > 3 || n.num_operands < 1) return folded::none();
  for (int i = 0; i < n.num_operands; ++i) {
    values[i] = detail::constant_of(g, n[i]);
    if (!values[i].known) return folded::none();
  }
  return fold_known(n.code, g.type(n[0]).element, n.type.element, values, n.num_operands);
}

/// A constant of a type, as a node.
[[nodiscard]] constexpr int splat(ir::builder& b, const folded& value, const tensor_type& type) {
  const int scalar = is_floating(type.element) ? b.constant(value.real, type.element)
                                               : b.integer_constant(value.integer, type.element);
  return b.broadcast(scalar, type.dims, 0);
}

}  // namespace atled::passes
