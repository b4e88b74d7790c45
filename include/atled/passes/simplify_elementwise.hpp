// atled/passes/simplify_elementwise.hpp: rules for arithmetic: identities, neutral elements, forms
// that cost less. Reads: passes/simplify_shape.hpp, passes/stable.hpp. Used by passes/simplify.hpp,
// which says what a rule may do.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/removable.hpp"
#include "atled/passes/simplify_shape.hpp"

namespace atled::passes::detail {

constexpr int make_splat(simplifier& b, double value, const tensor_type& type) {
  return is_floating(type.element)
             ? b.into.splat(value, type)
             : splat(b.into, folded::of_integer(static_cast<std::int64_t>(value)), type);
}

/// The number that all elements are, for integers too.
constexpr splat_value number_of(const ir::graph& g, int id) {
  const folded value = constant_of(g, id);
  if (!value.known) return {};
  const bool is_real = is_floating(g.type(id).element);
  return {true, is_real ? value.real : static_cast<double>(value.integer)};
}

constexpr bool is_negative_zero(const splat_value& value) {
  return value.is_zero() && std::bit_cast<std::int64_t>(value.value) < 0;
}
constexpr bool is_positive_zero(const splat_value& value) {
  return value.is_zero() && std::bit_cast<std::int64_t>(value.value) == 0;
}

/// 2^k whose reciprocal is exact in all floating types.
constexpr bool is_power_of_two(double value) {
  const double size = value < 0 ? -value : value;
  const auto bits = std::bit_cast<std::uint64_t>(size);
  return size > 1e-30 && size < 1e30 && (bits & ((std::uint64_t{1} << 52) - 1)) == 0;
}

// --- parts that are laid side by side ---

/// A node that is a part of `z` and zeros around it.
struct padded_part {
  bool known;
  int part;
};
constexpr padded_part part_in_zeros(const ir::graph& g, int id) {
  if (g[id].code != op::pad) return {};
  if (!is_positive_zero(number_of(g, g.operand(id, 1)))) return {};
  const int rank = g.type(id).rank();
  for (int i = 0; i < rank; ++i) {
    if (g.attribute(id, rank + i) != 0) return {};
  }
  return {true, g.operand(id, 0)};
}

/// pad(x) + pad(y), where x and y touch along one axis and are alike in all others.
constexpr int joined_pads(simplifier& b, int lower, int upper) {
  const padded_part x = part_in_zeros(b.g, lower);
  const padded_part y = part_in_zeros(b.g, upper);
  if (!x.known || !y.known) return ir::no_node;
  const int rank = b.type(lower).rank();
  int axis = -1;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t x_begin = b.g.attribute(lower, i);
    const std::int64_t y_begin = b.g.attribute(upper, i);
    const std::int64_t x_size = b.type(x.part).dims[i];
    if (x_begin == y_begin && x_size == b.type(y.part).dims[i]) continue;
    if (axis >= 0 || x_begin + x_size != y_begin) return ir::no_node;
    axis = i;
  }
  if (axis < 0) return ir::no_node;
  const int whole = make(b, op::concatenate, {x.part, y.part}, ir::attribute_list::of(axis));
  return make(b, op::pad, {whole, b.g.operand(lower, 1)}, b.g.attributes_of(lower), b.type(lower));
}
constexpr int joined(simplifier& b, int x, int y) {
  if (const int out = joined_pads(b, x, y); out != ir::no_node) return out;
  return joined_pads(b, y, x);
}
/// Also where one of two is a sum of parts: zeros may be added in any order.
constexpr int sum_of_parts(simplifier& b, int x, int y) {
  if (!is_floating(b.type(x).element)) return ir::no_node;
  if (const int out = joined(b, x, y); out != ir::no_node) return out;
  if (b.g[x].code != op::add || !part_in_zeros(b.g, y).known) return ir::no_node;
  for (int i = 0; i < 2; ++i) {
    const int one = b.g.operand(x, i);
    const int other = b.g.operand(x, 1 - i);
    if (!part_in_zeros(b.g, one).known || !part_in_zeros(b.g, other).known) continue;
    if (const int out = joined(b, one, y); out != ir::no_node) {
      return make(b, op::add, {out, other});
    }
  }
  return ir::no_node;
}

// --- arithmetic ---

constexpr int simplify_add(simplifier& b, const moving_node& n) {
  const bool is_integer_type = !is_floating(n.type.element);
  for (int i = 0; i < 2; ++i) {
    const auto value = number_of(b.g, n[i]);
    if (is_negative_zero(value) || (is_integer_type && value.is_zero())) return n[1 - i];
    const int negated = operand_if(b.g, n[i], op::neg);
    if (negated != ir::no_node) return make(b, op::sub, {n[1 - i], negated});
  }
  if (const int out = sum_of_parts(b, n[0], n[1]); out != ir::no_node) return out;
  return sum_of_parts(b, n[1], n[0]);
}

constexpr int simplify_sub(simplifier& b, const moving_node& n) {
  const bool is_integer_type = !is_floating(n.type.element);
  const auto x = number_of(b.g, n[0]);
  const auto y = number_of(b.g, n[1]);
  if (is_positive_zero(y)) return n[0];  // x - 0 is x, also for -0.0
  if (is_negative_zero(x) || (is_integer_type && x.is_zero())) return make(b, op::neg, {n[1]});
  if (is_integer_type && n[0] == n[1]) return make_splat(b, 0, n.type);
  const int negated = operand_if(b.g, n[1], op::neg);
  return negated != ir::no_node ? make(b, op::add, {n[0], negated}) : ir::no_node;
}

/// (x * c) * d is x * (c * d) where one of the two only moves the binary point.
constexpr int product_of_constants(simplifier& b, const moving_node& n) {
  const auto outer = number_of(b.g, n[1]);
  if (!outer.known || !is_floating(n.type.element) || b.g[n[0]].code != op::mul) {
    return ir::no_node;
  }
  const auto inner = number_of(b.g, b.g.operand(n[0], 1));
  if (!inner.known || (!is_power_of_two(inner.value) && !is_power_of_two(outer.value))) {
    return ir::no_node;
  }
  const double product = inner.value * outer.value;
  const double size = product < 0 ? -product : product;
  if (!(size > 1e-30 && size < 1e30)) return ir::no_node;
  return make(b, op::mul, {b.g.operand(n[0], 0), make_splat(b, product, n.type)});
}

constexpr int simplify_mul(simplifier& b, const moving_node& n) {
  const int left = operand_if(b.g, n[0], op::neg);
  const int right = operand_if(b.g, n[1], op::neg);
  for (int i = 0; i < 2; ++i) {
    const auto value = number_of(b.g, n[i]);
    const int other = n[1 - i];
    if (value.is(1)) return other;
    if (value.is(-1)) return make(b, op::neg, {other});
    if (value.is_zero() && !is_floating(n.type.element)) return n[i];
    if (value.known && is_floating(n.type.element) && (i == 0 ? right : left) != ir::no_node) {
      return make(b, op::mul, {i == 0 ? right : left, make_splat(b, -value.value, n.type)});
    }
  }
  if (left != ir::no_node && right != ir::no_node) return make(b, op::mul, {left, right});
  return product_of_constants(b, n);
}

constexpr int simplify_strong_mul(simplifier& b, const moving_node& n) {
  for (int i = 0; i < 2; ++i) {
    const auto value = number_of(b.g, n[i]);
    if (value.is_zero()) return make_splat(b, 0, n.type);
    if (value.is_finite_nonzero()) return make(b, op::mul, {n[1 - i], n[i]});
  }
  return ir::no_node;
}

constexpr int simplify_div(simplifier& b, const moving_node& n) {
  const auto y = number_of(b.g, n[1]);
  if (y.is(1)) return n[0];
  if (!is_floating(n.type.element)) return ir::no_node;
  if (y.is(-1)) return make(b, op::neg, {n[0]});
  if (y.known && is_power_of_two(y.value)) {
    return make(b, op::mul, {n[0], make_splat(b, 1 / y.value, n.type)});
  }
  const int left = operand_if(b.g, n[0], op::neg);
  const int right = operand_if(b.g, n[1], op::neg);
  if (left != ir::no_node && right != ir::no_node) return make(b, op::div, {left, right});
  if (removable_function(b.g, n.operands) != op::div) return quotient_value(b.into, n.operands);
  return ir::no_node;
}

constexpr int simplify_neg(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (const int twice = operand_if(b.g, x, op::neg); twice != ir::no_node) return twice;
  if (b.g[x].code != op::mul || !is_floating(n.type.element)) return ir::no_node;
  for (int i = 0; i < 2; ++i) {
    if (const auto value = number_of(b.g, b.g.operand(x, i)); value.known) {
      const int negated = make_splat(b, -value.value, n.type);
      return make(b, op::mul, {b.g.operand(x, 1 - i), negated});
    }
  }
  return ir::no_node;
}

/// Small whole exponents are products; the square root stays, because pow is +0.0 at -0.0.
constexpr int simplify_pow(simplifier& b, const moving_node& n) {
  const auto y = number_of(b.g, n[1]);
  if (y.is_zero()) return make_splat(b, 1, n.type);
  if (y.is(1)) return n[0];
  if (y.is(-1) && is_floating(n.type.element)) {
    return make(b, op::div, {make_splat(b, 1, n.type), n[0]});
  }
  if (!y.is(2) && !y.is(3) && !y.is(4)) return ir::no_node;
  const int square = make(b, op::mul, {n[0], n[0]});
  if (y.is(2)) return square;
  return make(b, op::mul, {square, y.is(3) ? n[0] : square});
}

constexpr int simplify_select(simplifier& b, const moving_node& n) {
  if (n[1] == n[2]) return n[1];
  if (const auto p = number_of(b.g, n[0]); p.known) return n[p.is_zero() ? 2 : 1];
  const int opposite = operand_if(b.g, n[0], op::logical_not);
  if (opposite != ir::no_node) return make(b, op::select, {opposite, n[2], n[1]});
  if (b.g[n[2]].code == op::select && b.g.operand(n[2], 0) == n[0]) {  // chosen already
    return make(b, op::select, {n[0], n[1], b.g.operand(n[2], 2)});
  }
  if (n.type.element != dtype::boolean) return ir::no_node;
  const auto x = number_of(b.g, n[1]);
  const auto y = number_of(b.g, n[2]);
  return x.is(1) && y.is_zero() ? n[0] : ir::no_node;
}

/// A type that holds all values of another.
constexpr bool holds_all_of(dtype wide, dtype narrow) {
  if (narrow == dtype::boolean || wide == narrow) return true;
  if (is_floating(narrow)) return promote(wide, narrow) == wide;
  if (wide == dtype::f64) return narrow != dtype::i64;
  if (wide == dtype::f32) return narrow == dtype::u8;
  if (wide == dtype::i64) return true;
  return narrow == dtype::u8 && (wide == dtype::i32 || wide == dtype::u32);
}

constexpr int simplify_convert(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (b.type(x).element == n.type.element) return x;
  if (b.g[x].code == op::convert) {  // the way there and back, or two steps up
    const int from = b.g.operand(x, 0);
    const bool is_exact = holds_all_of(b.type(x).element, b.type(from).element);
    if (is_exact && n.type.element != dtype::boolean) {
      return make(b, op::convert, {from}, {}, n.type);
    }
  }
  if (b.g[x].code == op::iota && is_floating(n.type.element)) {
    const auto axis = static_cast<int>(b.g.attribute(x));
    const std::int64_t exact = n.type.element == dtype::bf16  ? 256
                               : n.type.element == dtype::f16 ? 2048
                                                              : 16'777'216;
    if (n.type.dims[axis] <= exact) return b.into.iota(n.type, axis);
  }
  return ir::no_node;
}

/// The logarithm of what has been moved or divided is taken before that.
constexpr int simplify_log(simplifier& b, const moving_node& n) {
  const int x = n[0];
  if (!is_exponential(b.g, x)) return ir::no_node;
  const int first = b.g.operand(x, 0);
  switch (b.g[x].code) {
    case op::div:
      return make(b, op::sub, {make(b, op::log, {first}), make(b, op::log, {b.g.operand(x, 1)})});
    case op::broadcast:
    case op::reshape:
      return make(b, b.g[x].code, {make(b, op::log, {first})}, b.g.attributes_of(x), b.type(x));
    default:
      return stable_log(b.into, x);
  }
}

constexpr int simplify_logical_not(simplifier& b, const moving_node& n) {
  const int x = n[0];
  switch (b.g[x].code) {
    case op::logical_not:
      return b.g.operand(x, 0);
    case op::eq:  // the others are not opposites of each other where a NaN is compared
      return make(b, op::ne, {b.g.operand(x, 0), b.g.operand(x, 1)});
    case op::ne:
      return make(b, op::eq, {b.g.operand(x, 0), b.g.operand(x, 1)});
    default:
      return ir::no_node;
  }
}

constexpr int simplify_bits(simplifier& b, const moving_node& n) {
  const bool is_boolean = n.type.element == dtype::boolean;
  for (int i = 0; i < 2; ++i) {
    const auto value = number_of(b.g, n[i]);
    if (!value.known) continue;
    const int other = n[1 - i];
    const bool is_all = value.is(is_boolean ? 1 : -1);
    if (value.is_zero()) return n.code == op::bit_and ? n[i] : other;
    if (is_all && n.code == op::bit_and) return other;
    if (is_all && n.code == op::bit_or) return n[i];
    if (is_all && is_boolean) return make(b, op::logical_not, {other});
  }
  if (n[0] != n[1]) return ir::no_node;
  return n.code == op::bit_xor ? make_splat(b, 0, n.type) : n[0];
}

constexpr int simplify_compare(simplifier& b, const moving_node& n) {
  if (n[0] != n[1] || is_floating(b.type(n[0]).element)) return ir::no_node;
  const bool holds = n.code == op::eq || n.code == op::le || n.code == op::ge;
  return splat(b.into, folded::of_integer(holds ? 1 : 0), n.type);
}

/// A node is the same move of its operand as another, of operands of one shape.
constexpr bool moves_alike(const ir::graph& g, int lhs, int rhs) {
  if (g[lhs].code != g[rhs].code) return false;
  if (!(g.type(g.operand(lhs, 0)).dims == g.type(g.operand(rhs, 0)).dims)) return false;
  return g[lhs].code == op::reshape || g.attribute(lhs) == g.attribute(rhs);
}

/// An op on operands that are repeated the same way, or get the same axes of size 1, is done
/// before.
constexpr int before_move(simplifier& b, const moving_node& n) {
  int first = ir::no_node;
  for (int i = 0; i < n.num_operands; ++i) {
    if (constant_of(b.g, n[i]).known) continue;
    const op code = b.g[n[i]].code;
    if (code != op::broadcast && code != op::reshape) return ir::no_node;
    if (first == ir::no_node) first = n[i];
    if (!moves_alike(b.g, n[i], first)) return ir::no_node;
  }
  if (first == ir::no_node) return ir::no_node;
  const shape& dims = b.type(b.g.operand(first, 0)).dims;
  const bool is_reshape = b.g[first].code == op::reshape;
  if (is_reshape && !(squeezed(dims) == squeezed(n.type.dims))) return ir::no_node;
  moving_node small = n;
  small.type.dims = dims;
  for (int i = 0; i < n.num_operands; ++i) {
    const folded value = constant_of(b.g, n[i]);
    small.operands[i] =
        value.known ? splat(b.into, value, {b.type(n[i]).element, dims}) : b.g.operand(n[i], 0);
  }
  const int done = b.simplified(b, small);
  if (is_reshape) return make_reshape(b, done, n.type.dims);
  return make_broadcast(b, done, n.type.dims, b.g.attribute(first));
}

/// Operands of a commutative op in one order, constants last: then equal sums are one node.
constexpr moving_node ordered(const ir::graph& g, const moving_node& n) {
  switch (n.code) {
    case op::add:
    case op::mul:
    case op::strong_mul:
    case op::max:
    case op::min:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::eq:
    case op::ne:
      break;
    default:
      return n;
  }
  const bool left = constant_of(g, n[0]).known;
  const bool right = constant_of(g, n[1]).known;
  const bool is_ordered = left == right ? n[0] <= n[1] : right;
  moving_node out = n;
  if (!is_ordered) {
    out.operands[0] = n[1];
    out.operands[1] = n[0];
  }
  return out;
}

}  // namespace atled::passes::detail
