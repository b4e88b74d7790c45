// atled/passes/stable.hpp: safe forms of what overflows or loses its digits as it is written.
// Reads: passes/ids.hpp. passes/jvp.hpp takes the tangents, passes/simplify.hpp the values.
//
//   written                  value                                  tangent
//   log(1 + exp(a))          max(a, 0) + log1p(exp(-|a|))           logistic(a) da
//   log1p(exp(a))            the same                               the same
//   log(sum(exp(a)))         reduce_logsumexp(a)                    sum(softmax(a) da)
//   log(exp(a))              a                                      da
//   log(x / y)               log(x) - log(y)                        that of the logarithms
//   log(logistic(a))         min(a, 0) - log1p(exp(-|a|))           logistic(-a) da
//   sqrt(a * a)              abs(a)                                 sign(a) da
//   1 - tanh(a)^2            sech(a)^2                              is safe already
//   x * log(x)               0 at 0                                 is safe already
//   sin(x) / x, ...          see passes/removable.hpp
//
// A quotient is taken apart only where x or y is one of the other exponentials.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes {
namespace detail {

/// The operand of a node of this op, or no node.
constexpr int operand_if(const ir::graph& g, int id, op code) {
  return g[id].code == code ? g.operand(id, 0) : ir::no_node;
}

/// a, where a node is 1 + exp(a).
constexpr int one_plus_exp(const ir::graph& g, int id) {
  if (g[id].code != op::add) return ir::no_node;
  for (int i = 0; i < 2; ++i) {
    const int a = operand_if(g, g.operand(id, i), op::exp);
    if (a != ir::no_node && splat_of(g, g.operand(id, 1 - i)).is(1)) return a;
  }
  return ir::no_node;
}

/// a, where a node is the sum of exp(a).
constexpr int sum_of_exp(const ir::graph& g, int id) {
  const int x = operand_if(g, id, op::reduce_sum);
  return x == ir::no_node ? x : operand_if(g, x, op::exp);
}

/// x, where a node is x * x.
constexpr int squared(const ir::graph& g, int id) {
  const bool is_mul = g[id].code == op::mul && g.operand(id, 0) == g.operand(id, 1);
  const bool is_pow = g[id].code == op::pow && splat_of(g, g.operand(id, 1)).is(2);
  return is_mul || is_pow ? g.operand(id, 0) : ir::no_node;
}

/// The logarithm of this node has a safe form.
constexpr bool is_exponential(const ir::graph& g, int id, int depth = 0) {
  switch (g[id].code) {
    case op::exp:
    case op::logistic:
      return true;
    case op::add:
      return one_plus_exp(g, id) != ir::no_node;
    case op::reduce_sum:
      return sum_of_exp(g, id) != ir::no_node;
    case op::broadcast:
    case op::reshape:
      return depth < 4 && is_exponential(g, g.operand(id, 0), depth + 1);
    case op::div:
      return depth < 4 && (is_exponential(g, g.operand(id, 0), depth + 1) ||
                           is_exponential(g, g.operand(id, 1), depth + 1));
    default:
      return false;
  }
}

/// sech(x)^2, sech(x) = 2 / (e^x + e^-x): right to the last digits where tanh(x)^2 is nearly 1.
constexpr int sech_squared(ir::builder& b, int x) {
  const tensor_type& type = b.type(x);
  const int e = b.unary(op::exp, x);
  const int cosh_twice = b.add(e, b.div(b.splat(1, type), e));
  const int sech = b.div(b.splat(2, type), cosh_twice);
  return b.mul(sech, sech);
}

/// The logarithm of 1 + exp(-|a|).
constexpr int log_tail(ir::builder& b, int a) {
  return b.unary(op::log1p, b.unary(op::exp, b.neg(b.unary(op::abs, a))));
}

/// The safe value of log(x), x an exponential.
constexpr int stable_log(ir::builder& b, int x) {
  if (!is_exponential(b.g, x)) return b.unary(op::log, x);
  switch (b.g[x].code) {
    case op::exp:
      return b.g.operand(x, 0);
    case op::logistic: {
      const int a = b.g.operand(x, 0);
      return b.sub(b.binary(op::min, a, zeros_like(b, a)), log_tail(b, a));
    }
    case op::add: {
      const int a = one_plus_exp(b.g, x);
      return b.add(b.binary(op::max, a, zeros_like(b, a)), log_tail(b, a));
    }
    case op::reduce_sum:
      return b.append(op::reduce_logsumexp, {sum_of_exp(b.g, x)}, b.g.attributes_of(x));
    case op::div:
      return b.sub(stable_log(b, b.g.operand(x, 0)), stable_log(b, b.g.operand(x, 1)));
    default:  // it moves elements
      return b.append(b.g[x].code, {stable_log(b, b.g.operand(x, 0))}, b.g.attributes_of(x),
                      b.type(x));
  }
}

}  // namespace detail

/// The safe value of `code` applied to these operands, or no node where it is safe as it is
/// written.
///
/// Cost: O(1); up to ten nodes.
[[nodiscard]] constexpr int stable_value(ir::builder& b, op code, const int* operands) {
  const ir::graph& g = b.g;
  switch (code) {
    case op::log1p:
      if (const int a = detail::operand_if(g, operands[0], op::exp); a != ir::no_node) {
        return b.add(b.binary(op::max, a, zeros_like(b, a)), detail::log_tail(b, a));
      }
      return ir::no_node;
    case op::sqrt: {
      const int a = detail::squared(g, operands[0]);
      return a == ir::no_node ? a : b.unary(op::abs, a);
    }
    case op::sub: {
      if (!splat_of(g, operands[0]).is(1)) return ir::no_node;
      const int t = detail::squared(g, operands[1]);
      const int a = t == ir::no_node ? t : detail::operand_if(g, t, op::tanh);
      return a == ir::no_node ? a : detail::sech_squared(b, a);
    }
    case op::mul:
      for (int i = 0; i < 2; ++i) {
        const int x = operands[1 - i];
        if (detail::operand_if(g, operands[i], op::log) == x) return b.strong_mul(x, operands[i]);
        const int negated = detail::operand_if(g, x, op::neg);
        if (negated != ir::no_node && detail::operand_if(g, operands[i], op::log) == negated) {
          return b.strong_mul(x, operands[i]);
        }
      }
      return ir::no_node;
    default:
      return ir::no_node;
  }
}

}  // namespace atled::passes
