// atled/passes/simplify.hpp: less work for the same result: folding, identities, moves made one.
// Reads: passes/simplify_elementwise.hpp, simplify_shape.hpp, simplify_reduce.hpp, which hold the
// rules. Equal nodes become one and dead ones stay behind because the graph is copied.
//
// What a rule may do: an identity holds for all values, NaN, infinities and signed zeros included.
// So x * 0 stays, x + 0.0 stays (it makes -0.0 positive), nothing is reassociated. Exceptions,
// which are as accurate or more: x^3 and x^4 become products; factors 2^k join other constants;
// sums of sums, and sums of equal numbers (a power of two of them), become one; the minus of terms
// is taken of their sum, which may turn the sign of a sum that is 0; disjoint parts are laid side
// by side in place of being added; the forms of passes/stable.hpp.
//
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/simplify_reduce.hpp"

namespace atled::passes {
namespace detail {

/// A row of a stack of equal rows is that row.
constexpr int simplify_item(simplifier& b, const moving_node& n) {
  if (b.g[n[0]].code != op::broadcast) return ir::no_node;
  const std::int64_t mask = b.g.attribute(n[0]);
  if (ir::has_axis(mask, 0)) return ir::no_node;
  return make_broadcast(b, b.g.operand(n[0], 0), n.type.dims, mask >> 1);
}
/// Items that have become something else are no longer bound.
constexpr int simplify_loop(simplifier& b, const moving_node& n) {
  const int carries = static_cast<int>(n.attributes.values[4]);
  const int items = static_cast<int>(n.attributes.values[5]);
  moving_node out = n;
  out.num_operands = carries;
  for (int i = carries; i < n.num_operands; ++i) {
    const bool is_item = i < carries + items;
    const bool is_bound =
        is_item && b.g[n[i]].code == op::item && b.g.attribute(n[i], 0) == n.attributes.values[0];
    if (!is_item || is_bound) out.operands[out.num_operands++] = n[i];
  }
  if (out.num_operands == n.num_operands) return ir::no_node;
  out.attributes.values[5] -= n.num_operands - out.num_operands;
  return keep(b.into, out);
}
constexpr bool is_source_of_all(const ir::graph& g, int id) {
  const int x = g[id].code == op::broadcast ? g.operand(id, 0) : id;
  return g[x].code == op::constant || g[x].code == op::iota;
}

/// What takes the place of a node, or no node: then it is copied.
constexpr int simplify_rule(simplifier& b, const moving_node& n) {
  switch (n.code) {
    case op::variable:
    case op::stop_gradient:
    case op::checkpoint_name:
    case op::custom:
      return n[0];
    case op::neg:
      return simplify_neg(b, n);
    case op::log:
      return simplify_log(b, n);
    case op::abs: {
      if (b.g[n[0]].code == op::abs) return n[0];
      const int negated = operand_if(b.g, n[0], op::neg);
      return negated != ir::no_node ? make(b, op::abs, {negated}) : ir::no_node;
    }
    case op::logical_not:
      return simplify_logical_not(b, n);
    case op::convert:
      return simplify_convert(b, n);
    case op::add:
      return simplify_add(b, n);
    case op::sub:
      return simplify_sub(b, n);
    case op::mul:
      return simplify_mul(b, n);
    case op::strong_mul:
      return simplify_strong_mul(b, n);
    case op::div:
      return simplify_div(b, n);
    case op::pow:
      return simplify_pow(b, n);
    case op::max:
    case op::min:
      return n[0] == n[1] ? n[0] : ir::no_node;
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
      return simplify_bits(b, n);
    case op::shift_left:
    case op::shift_right:
      return number_of(b.g, n[1]).is_zero() ? n[0] : ir::no_node;
    case op::eq:
    case op::ne:
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
      return simplify_compare(b, n);
    case op::select:
      return simplify_select(b, n);

    case op::broadcast:
      return simplify_broadcast(b, n);
    case op::reshape:
      return simplify_reshape(b, n);
    case op::transpose:
      return simplify_transpose(b, n);
    case op::slice:
      return simplify_slice(b, n);
    case op::pad:
      return simplify_pad(b, n);
    case op::concatenate:
      return simplify_concatenate(b, n);
    case op::reverse:
      return simplify_reverse(b, n);
    case op::dynamic_slice:
      return simplify_dynamic_slice(b, n);
    case op::dynamic_update_slice:  // of all elements
      return b.type(n[0]).dims == b.type(n[1]).dims ? n[1] : ir::no_node;
    case op::reduce_sum:
    case op::reduce_prod:
    case op::reduce_max:
    case op::reduce_min:
      return simplify_reduce(b, n);
    case op::cumsum:
    case op::reverse_cumsum:
    case op::cumprod:
    case op::cummax:
    case op::cummin:
    case op::cumlogsumexp:
      return n.type.dims[static_cast<int>(n.attributes.values[0])] <= 1 ? n[0] : ir::no_node;
    case op::dot:
      return simplify_dot(b, n);

    case op::item:
      return simplify_item(b, n);
    case op::loop:
      return simplify_loop(b, n);
    case op::enter:  // constants are everywhere
      return is_source_of_all(b.g, n[0]) ? n[0] : ir::no_node;

    case op::parameter:  // nothing is known about them
    case op::constant:
    case op::iota:
    case op::exp:
    case op::expm1:
    case op::log1p:
    case op::tanh:
    case op::logistic:
    case op::sin:
    case op::cos:
    case op::sqrt:
    case op::rsqrt:
    case op::erf:
    case op::erfc:
    case op::erf_inv:
    case op::sinh:
    case op::cosh:
    case op::cbrt:
    case op::lgamma:
    case op::polygamma:
    case op::sign:
    case op::floor:
    case op::ceil:
    case op::round:
    case op::is_finite:
    case op::rem:
    case op::atan2:
    case op::threefry:
    case op::gather:
    case op::scatter_add:
    case op::scatter_max:
    case op::reduce_logsumexp:
    case op::argmax:
    case op::argmin:
    case op::argsort:
    case op::custom_linear:
    case op::custom_part:
    case op::external:
    case op::external_result:
    case op::barrier:
    case op::sharding_constraint:
    case op::extent:
    case op::psum:
    case op::pmax:
    case op::pmin:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
    case op::axis_index:
    case op::axis_size:
    case op::cholesky:
    case op::triangular_solve:
    case op::lu:
    case op::qr:
    case op::eigh:
    case op::svd:
    case op::carry:
    case op::cond:
    case op::result_of:
      return ir::no_node;
  }
  __builtin_unreachable();
}

/// The rule of all: operands are simplified already.
constexpr int simplified(simplifier& b, const moving_node& given) {
  const moving_node n = ordered(b.g, given);
  if (is_elementwise(n.code)) {
    if (const folded value = fold(b.g, n); value.known) return splat(b.into, value, n.type);
  }
  if (const int out = stable_value(b.into, n.code, n.operands); out != ir::no_node) return out;
  if (const int out = simplify_rule(b, n); out != ir::no_node) return out;
  if (is_elementwise(n.code)) {
    if (const int out = before_move(b, n); out != ir::no_node) return out;
  }
  return keep(b.into, n);
}

}  // namespace detail

/// Copies a graph into an empty builder, simplified.
///
/// Pre: all derivatives have been taken: `variable` and `stop_gradient` are removed.
/// Post: the outputs have the values they had, see above; `verify` holds. Nodes that a later rule
/// has made useless are left in; `copy_live` drops them.
/// Cost: O(nodes + edges).
constexpr void simplify(const ir::graph& from, ir::builder& into) {
  detail::simplifier rules{into, into.g, detail::simplified};
  rewrite(from, into,
          [&](ir::builder&, const moving_node& n) { return detail::simplified(rules, n); });
}

}  // namespace atled::passes
