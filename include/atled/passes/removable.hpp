// atled/passes/removable.hpp: quotients that are 0/0 in one point only and smooth there all the
// same: sin(x)/x, tanh(x)/x, expm1(x)/x, log1p(x)/x, as a user may write them. Reads:
// passes/stable.hpp. passes/jvp.hpp takes the slope, passes/simplify.hpp the value.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/stable.hpp"

namespace atled::passes {
namespace detail {

/// f(x) / x with a Taylor series that is used where |x| < radius.
struct series {
  bool is_even;  ///< a series in x^2
  int num_terms;
  double radius;
};
constexpr series series_of(op code) {
  switch (code) {
    case op::sin:
      return {true, 9, 0.5};
    case op::tanh:
      return {true, 12, 0.25};
    case op::expm1:
      return {false, 15, 0.5};
    default:  // log1p
      return {false, 18, 0.125};
  }
}

/// The coefficient of the k-th term of f(x) / x.
constexpr double series_coefficient(op code, int k) {
  constexpr double of_tanh[12] = {
      1,
      -0.33333333333333331,
      0.13333333333333333,
      -0.053968253968253971,
      0.021869488536155203,
      -0.0088632355299021973,
      0.0035921280365724811,
      -0.0014558343870513183,
      0.00059002744094558595,
      -0.00023912911424355248,
      9.6915379569294509e-05,
      -3.9278323883316833e-05,
  };
  if (code == op::tanh) return of_tanh[k];
  const double sign = code != op::expm1 && k % 2 == 1 ? -1 : 1;
  if (code == op::log1p) return sign / (k + 1);
  double factorial = 1;
  for (int i = 2; i <= (code == op::sin ? 2 * k + 1 : k + 1); ++i) factorial *= i;
  return sign / factorial;
}

/// f, where a node is f(x) / x; else `op::div`.
constexpr op removable_function(const ir::graph& g, const int* operands) {
  const op code = g[operands[0]].code;
  const bool has_series =
      code == op::sin || code == op::tanh || code == op::expm1 || code == op::log1p;
  return has_series && g.operand(operands[0], 0) == operands[1] ? code : op::div;
}

/// The derivative of the series, which is a polynomial to be differentiated again.
constexpr int series_slope(ir::builder& b, op code, int x) {
  const series s = series_of(code);
  const tensor_type& type = b.type(x);
  const int step = s.is_even ? b.mul(x, x) : x;
  int sum = ir::no_node;
  for (int k = s.num_terms - 1; k >= 1; --k) {  // Horner
    const int term = b.splat((s.is_even ? 2 * k : k) * series_coefficient(code, k), type);
    sum = sum == ir::no_node ? term : b.add(b.mul(sum, step), term);
  }
  return s.is_even ? b.mul(sum, x) : sum;
}

/// The derivative of z = f(x) / x by x: (f'(x) - z) / x, and the series near 0.
constexpr int quotient_slope(ir::builder& b, op code, int z, int x) {
  const tensor_type& type = b.type(x);
  int slope = 0;  // f'(x)
  switch (code) {
    case op::sin:
      slope = b.unary(op::cos, x);
      break;
    case op::tanh:
      slope = sech_squared(b, x);
      break;
    case op::expm1:
      slope = b.unary(op::exp, x);
      break;
    default:
      slope = b.div(b.splat(1, type), b.add(x, b.splat(1, type)));
  }
  const int near = b.binary(op::lt, b.unary(op::abs, x), b.splat(series_of(code).radius, type));
  const int inside = series_slope(b, code, x);
  return b.select(near, inside, b.div(b.sub(slope, z), x));
}

/// The value, 1 at 0.
constexpr int quotient_value(ir::builder& b, const int* operands) {
  const int x = operands[1];
  const int at_zero = b.binary(op::eq, x, zeros_like(b, x));
  return b.select(at_zero, b.splat(1, b.type(x)), b.div(operands[0], x));
}

}  // namespace detail
}  // namespace atled::passes
