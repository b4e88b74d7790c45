// atled/passes/jvp.hpp: forward mode: for each node the tangent of its result, appended to the
// graph. Reads: passes/stable.hpp, passes/removable.hpp, passes/jvp_linalg.hpp. All derivative
// rules are in `jvp_rule` below; reverse mode is passes/transpose.hpp on what this appends.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/collective.hpp"
#include "atled/passes/jvp_cumulative.hpp"
#include "atled/passes/jvp_linalg.hpp"
#include "atled/passes/jvp_regions.hpp"
#include "atled/passes/removable.hpp"

namespace atled::passes {
namespace detail {

// A tangent that is `ir::no_node` is zero and costs no node.

constexpr int sum_of(ir::builder& b, int x, int y) {
  if (x == ir::no_node) return y;
  return y == ir::no_node ? x : b.add(x, y);
}

constexpr int minus(ir::builder& b, int x) {
  return x == ir::no_node ? x : b.neg(x);
}

constexpr int or_zeros(ir::builder& b, int tangent, int like) {
  return tangent == ir::no_node ? zeros_like(b, like) : tangent;
}

/// `dx` times `y`, and exactly 0 where one of them is: against an infinite derivative as well.
constexpr int scaled(ir::builder& b, int dx, int y) {
  if (dx == ir::no_node) return dx;
  return splat_of(b.g, y).is_finite_nonzero() ? b.mul(dx, y) : b.strong_mul(dx, y);
}

/// `dx` over `y`, and exactly 0 where `dx` is.
constexpr int divided(ir::builder& b, int dx, int y) {
  if (dx == ir::no_node) return dx;
  if (splat_of(b.g, y).is_finite_nonzero()) return b.div(dx, y);
  return b.strong_mul(dx, b.div(b.splat(1, b.type(y)), y));
}

/// `x` to a constant power, where the first powers need no call.
constexpr int power(ir::builder& b, int x, double exponent) {
  if (exponent == 0) return b.splat(1, b.type(x));
  if (exponent == 1) return x;
  if (exponent == 2) return b.mul(x, x);
  return b.binary(op::pow, x, b.splat(exponent, b.type(x)));
}

/// The class of the exponent decides: a constant, one without a tangent, one with a tangent.
constexpr int pow_rule(ir::builder& b, int z, int x, int y, int dx, int dy) {
  int out = ir::no_node;
  if (const auto c = splat_of(b.g, y); dx == ir::no_node) {
  } else if (c.known) {  // dz = c x^(c-1) dx, and 0 for c = 0
    if (c.value == 0) return ir::no_node;
    if (c.value == 1) return dx;
    out = scaled(b, dx, b.scale(power(b, x, c.value - 1), c.value));
  } else {  // dz = y x^(y-1) dx, where y = 0 gives 0 also for x = 0
    const int lower = b.binary(op::pow, x, b.sub(y, b.splat(1, b.type(y))));
    out = b.strong_mul(dx, b.strong_mul(y, lower));
  }
  if (dy != ir::no_node) {  // dz = z log(x) dy, and 0 for x = 0
    const int zero = zeros_like(b, x);
    const int log_x = b.select(b.binary(op::eq, x, zero), zero, b.unary(op::log, x));
    out = sum_of(b, out, b.strong_mul(dy, b.strong_mul(z, log_x)));
  }
  return out;
}

/// `upper` is where x alone decides; equal operands share evenly.
constexpr int max_rule(ir::builder& b, int x, int y, op upper, int dx, int dy) {
  if (x == y) return dx;
  const int half = b.scale(sum_of(b, dx, dy), 0.5);
  const int one = b.select(b.binary(upper, x, y), or_zeros(b, dx, x), or_zeros(b, dy, y));
  return b.select(b.binary(op::eq, x, y), half, one);
}

/// The mean of the tangents of all elements that are equal to the extremum.
constexpr int reduce_max_rule(ir::builder& b, int z, int x, std::int64_t mask, int dx) {
  const tensor_type& type = b.type(x);
  const int wide = b.broadcast(z, type.dims, ~mask & ((std::int64_t{1} << type.rank()) - 1));
  const int chosen = b.binary(op::eq, x, wide);
  const int total = b.reduce(op::reduce_sum, b.select(chosen, dx, zeros_like(b, dx)), mask);
  return b.div(total, b.reduce(op::reduce_sum, b.convert(chosen, type.element), mask));
}

/// The mean of the tangents of the elements and updates that are equal to the extremum.
constexpr int scatter_max_rule(ir::builder& b, int z, const int* tangents) {
  const int x = b.g.operand(z, 0);
  const int at = b.g.operand(z, 1);
  const int updates = b.g.operand(z, 2);
  const auto attributes = b.g.attributes_of(z);
  const dtype element = b.type(z).element;
  const int from_x = b.binary(op::eq, x, z);
  const int from_update = b.binary(op::eq, updates, b.append(op::gather, {z, at}, attributes));
  const auto added = [&](int to, int parts) {
    return b.append(op::scatter_add, {to, at, parts}, attributes);
  };
  const int dx = b.select(from_x, or_zeros(b, tangents[0], x), zeros_like(b, x));
  const int du = b.select(from_update, or_zeros(b, tangents[2], updates), zeros_like(b, updates));
  return b.div(added(dx, du), added(b.convert(from_x, element), b.convert(from_update, element)));
}

/// The weights e^(x - z) are 0 where all of the row is -inf.
constexpr int logsumexp_rule(ir::builder& b, int z, int x, std::int64_t mask, int dx) {
  const tensor_type& type = b.type(x);
  const int nothing = b.splat(-std::numeric_limits<double>::infinity(), b.type(z));
  const int level = b.select(b.binary(op::eq, z, nothing), zeros_like(b, z), z);
  const int wide = b.broadcast(level, type.dims, ~mask & ((std::int64_t{1} << type.rank()) - 1));
  const int weights = b.unary(op::exp, b.sub(x, wide));
  return b.reduce(op::reduce_sum, scaled(b, dx, weights), mask);
}

/// The tangent of log(x), x an exponential; `tangent_at` gives those of the nodes behind it.
template <class TangentAt>
constexpr int log_tangent(ir::builder& b, int x, const TangentAt& tangent_at) {
  if (!is_exponential(b.g, x)) return divided(b, tangent_at(x), x);
  const int first = b.g.operand(x, 0);
  switch (b.g[x].code) {
    case op::exp:
      return tangent_at(first);
    case op::logistic:
      return scaled(b, tangent_at(first), b.unary(op::logistic, b.neg(first)));
    case op::add: {
      const int a = one_plus_exp(b.g, x);
      return scaled(b, tangent_at(a), b.unary(op::logistic, a));
    }
    case op::reduce_sum: {
      const int da = tangent_at(sum_of_exp(b.g, x));
      return da == ir::no_node
                 ? da
                 : logsumexp_rule(b, stable_log(b, x), sum_of_exp(b.g, x), b.g.attribute(x), da);
    }
    case op::div: {
      const int upper = log_tangent(b, first, tangent_at);
      return sum_of(b, upper, minus(b, log_tangent(b, b.g.operand(x, 1), tangent_at)));
    }
    default: {  // it moves elements
      const int dx = log_tangent(b, first, tangent_at);
      if (dx == ir::no_node) return dx;
      return b.append(b.g[x].code, {dx}, b.g.attributes_of(x), b.type(x));
    }
  }
}

/// The tangent of a node that has a safe form; false where the rule of its op will do.
template <class TangentAt>
constexpr bool stable_tangent(ir::builder& b, int z, const TangentAt& tangent_at, int& out) {
  const op code = b.g[z].code;
  if (code == op::div) {
    const int operands[] = {b.g.operand(z, 0), b.g.operand(z, 1)};
    const op function = removable_function(b.g, operands);
    if (function == op::div) return false;
    out = scaled(b, tangent_at(operands[1]), quotient_slope(b, function, z, operands[1]));
    return true;
  }
  if (code != op::log && code != op::log1p && code != op::sqrt) return false;
  const int x = b.g.operand(z, 0);
  if (code == op::log) {
    if (!is_exponential(b.g, x)) return false;
    out = log_tangent(b, x, tangent_at);
    return true;
  }
  const int a = code == op::sqrt ? squared(b.g, x) : operand_if(b.g, x, op::exp);
  if (a == ir::no_node) return false;
  out = scaled(b, tangent_at(a), b.unary(code == op::sqrt ? op::sign : op::logistic, a));
  return true;
}

/// The part of `x` from `start` on along an axis, `size` elements, filled up with `filler`.
constexpr int half_of(ir::builder& b, int x, int axis, std::int64_t start, std::int64_t size,
                      double filler) {
  shape starts{};
  shape strides{};
  shape wanted = b.type(x).dims;
  starts.rank = strides.rank = wanted.rank;
  for (int i = 0; i < wanted.rank; ++i) strides[i] = 1;
  starts[axis] = start;
  const std::int64_t rest = wanted[axis] - start;
  wanted[axis] = rest < size ? rest : size;
  const int part = b.slice(x, starts, wanted, strides);
  if (rest >= size) return part;
  wanted[axis] = size;
  const int fill = b.constant(filler, b.type(x).element);
  return b.pad(part, fill, shape{{}, wanted.rank}, shape{{}, wanted.rank}, wanted);
}

/// A bounded axis has no halves: each tangent times the products of all before and all behind it.
constexpr int bounded_prod_tangent(ir::builder& b, int x, int axis, int dx) {
  const auto of_others = [&](bool from_the_end) {
    ir::attribute_list attributes = ir::attribute_list::of(axis);
    attributes.push(from_the_end ? 1 : 0);
    const int moved = moved_along_bounded(b, x, axis, 1, from_the_end, 1);
    return b.append(op::cumprod, {moved}, attributes);
  };
  const int terms = b.strong_mul(dx, b.strong_mul(of_others(false), of_others(true)));
  return b.broadcast_one(b.reduce(op::reduce_sum, terms, std::int64_t{1} << axis), axis);
}

/// Multiplies halves until one element is left: the tangent of each product is that of `mul`, so
/// that nothing is divided by an element, which may be zero.
constexpr int reduce_prod_rule(ir::builder& b, int z, int x, std::int64_t mask, int dx) {
  int dz = dx;
  for (int axis = 0; axis < b.type(x).rank(); ++axis) {
    if (!ir::has_axis(mask, axis)) continue;
    if (b.type(x).dims[axis] == 0) return ir::no_node;
    if (is_bounded(b.type(x).dims[axis])) {
      dz = bounded_prod_tangent(b, x, axis, dz);
      x = b.broadcast_one(b.reduce(op::reduce_prod, x, std::int64_t{1} << axis), axis);
      continue;
    }
    while (x >= 0 && b.type(x).dims[axis] > 1) {
      const std::int64_t size = (b.type(x).dims[axis] + 1) / 2;
      const int lower = half_of(b, x, axis, 0, size, 1);
      const int upper = half_of(b, x, axis, size, size, 1);
      dz = b.add(b.strong_mul(half_of(b, dz, axis, 0, size, 0), upper),
                 b.strong_mul(lower, half_of(b, dz, axis, size, size, 0)));
      x = b.mul(lower, upper);
    }
  }
  return b.reshape(dz, b.type(z).dims);
}

/// A dot that leaves no axis: what a length is made of.
constexpr bool is_inner_product(const ir::graph& g, int z) {
  return g.type(z).rank() == 0 && g.type(z).element >= dtype::f32 &&
         g.type(g.operand(z, 0)).rank() > 0;
}
/// dz = sum(dx y) + sum(x dy), by strong products: the root of x . x has gradient 0 at 0.
constexpr int inner_product_rule(ir::builder& b, int z, int x, int y, int dx, int dy) {
  const auto axes = ir::dot_axes::unpacked(b.g.attributes_of(z));
  std::int64_t order = 0;  // of y, so that its axes stand as those of x
  for (int i = 0; i < axes.num_contract; ++i) {
    order = ir::with_permuted_axis(order, axes.lhs_contract[i], axes.rhs_contract[i]);
  }
  const auto turned = [&](int of_y) {
    bool moves = false;
    for (int i = 0; i < axes.num_contract; ++i) moves |= ir::permuted_axis(order, i) != i;
    return moves && of_y != ir::no_node ? b.transpose(of_y, order) : of_y;
  };
  const std::int64_t all = (std::int64_t{1} << b.type(x).rank()) - 1;
  const auto summed = [&](int product) {
    return product == ir::no_node ? product : b.reduce(op::reduce_sum, product, all);
  };
  if (x == y && dx == dy && turned(y) == y) return b.scale(summed(scaled(b, dx, x)), 2);
  return sum_of(b, summed(scaled(b, dx, turned(y))), summed(scaled(b, turned(dy), x)));
}

/// The op of `z` on tangents in place of its first `count` operands, zeros where there is none.
constexpr int same_op(ir::builder& b, int z, const int* dx, int count) {
  int operands[ir::operand_types::capacity]{};
  const int all = b.g[z].num_operands;
  for (int i = 0; i < all; ++i) {
    const int x = b.g.operand(z, i);
    operands[i] = i < count ? or_zeros(b, dx[i], x) : x;
  }
  return b.append(b.g[z].code, operands, all, b.g.attributes_of(z), b.type(z));
}

/// Why a custom_vjp is not differentiated forward; also said by transform/program.hpp.
inline constexpr std::string_view only_in_reverse =
    "its rule is for reverse mode: forward mode (jvp, linearize, a jvp inside grad) needs "
    "custom_jvp";

/// The user's rule for all outputs of the call; the one that is wanted here.
constexpr int custom_tangent(ir::builder& b, int z, const int* tangents) {
  ir::custom_rule& rule = b.rule(b.g.attribute(z, 0));
  if (tangents[0] != ir::no_node) {  // its arguments stop gradients
    return b.fail_as(rule.name(), b.site,
                     text("the function uses a differentiated value that is none of "
                          "its arguments: pass it as an argument"));
  }
  const int count = b.g[z].num_operands - 1;
  bool is_same = rule.has_run;
  for (int i = 0; i < count; ++i) {
    is_same = is_same && rule.seen_tangents[i] == tangents[i + 1];
    rule.seen_tangents[i] = tangents[i + 1];
  }
  if (!is_same) {
    int inputs[ir::operand_types::capacity]{};
    for (int i = 0; i < count; ++i) inputs[i] = b.g.operand(z, i + 1);
    rule.differentiate(b, inputs, tangents + 1, rule.seen_out);
    rule.has_run = true;
  }
  return rule.seen_out[b.g.attribute(z, 1)];
}

/// The tangent of node `z`, given `tangents` of its operands, of which one at least is not zero.
///
/// In the formulas x, y are the operands, dx, dy their tangents, z is the result. Products with a
/// value that may be infinite are strong: exactly 0 where the tangent is.
constexpr int jvp_rule(ir::builder& b, int z, const int* tangents) {
  const tensor_type& type = b.type(z);
  const int count = b.g[z].num_operands;
  const int x = count > 0 ? b.g.operand(z, 0) : ir::no_node;
  const int y = count > 1 ? b.g.operand(z, 1) : ir::no_node;
  const int dx = count > 0 ? tangents[0] : ir::no_node;
  const int dy = count > 1 ? tangents[1] : ir::no_node;
  switch (b.g[z].code) {
    case op::parameter:
    case op::constant:
    case op::iota:
      return ir::no_node;
    case op::variable:  // of an inner transformation: z = x
      return b.on_far_side(z, dx);

    case op::neg:
      return minus(b, dx);
    case op::exp:  // dz = z dx
      return scaled(b, dx, z);
    case op::expm1:  // dz = e^x dx; z + 1 has no digits left where x is far below 0
      return scaled(b, dx, b.unary(op::exp, x));
    case op::log:  // dz = dx / x
      return divided(b, dx, x);
    case op::log1p:  // dz = dx / (1 + x)
      return divided(b, dx, b.add(x, b.splat(1, type)));
    case op::tanh:  // dz = sech(x)^2 dx; 1 - z^2 has no digits left where |x| is large
      return scaled(b, dx, sech_squared(b, x));
    case op::logistic:  // dz = z (1 - z) dx, where 1 - z is logistic(-x) to the last digit
      return scaled(b, dx, b.mul(z, b.unary(op::logistic, b.neg(x))));
    case op::sin:  // dz = cos(x) dx
      return scaled(b, dx, b.unary(op::cos, x));
    case op::cos:  // dz = -sin(x) dx
      return scaled(b, dx, b.neg(b.unary(op::sin, x)));
    case op::sqrt:  // dz = dx / (2 z)
      return scaled(b, dx, b.div(b.splat(0.5, type), z));
    case op::rsqrt:  // dz = -z^3 dx / 2
      return scaled(b, dx, b.scale(b.mul(z, b.mul(z, z)), -0.5));
    case op::erf:  // dz = 2 / sqrt(pi) e^(-x^2) dx
      return scaled(b, dx, b.scale(b.unary(op::exp, b.neg(b.mul(x, x))), 1.1283791670955126));
    case op::erfc:  // dz = -2 / sqrt(pi) e^(-x^2) dx
      return scaled(b, dx, b.scale(b.unary(op::exp, b.neg(b.mul(x, x))), -1.1283791670955126));
    case op::erf_inv:  // dz = sqrt(pi) / 2 e^(z^2) dx
      return scaled(b, dx, b.scale(b.unary(op::exp, b.mul(z, z)), 0.88622692545275801));
    case op::sinh:  // dz = cosh(x) dx
      return scaled(b, dx, b.unary(op::cosh, x));
    case op::cosh:  // dz = sinh(x) dx
      return scaled(b, dx, b.unary(op::sinh, x));
    case op::cbrt:  // dz = dx / (3 z^2)
      return scaled(b, dx, b.div(b.splat(1.0 / 3.0, type), b.mul(z, z)));
    case op::lgamma:  // dz = digamma(x) dx
      return scaled(b, dx, b.append(op::polygamma, {x}, ir::attribute_list::of(0)));
    case op::polygamma:  // dz = the next of them dx
      return scaled(b, dx,
                    b.append(op::polygamma, {x}, ir::attribute_list::of(b.g.attribute(z) + 1)));
    case op::abs:  // dz = sign(x) dx, 0 at 0
      return scaled(b, dx, b.unary(op::sign, x));
    case op::sign:  // flat between their steps
    case op::floor:
    case op::ceil:
    case op::round:
      return ir::no_node;
    case op::convert:
      return b.convert(dx, type.element);
    case op::checkpoint_name:  // a name for the value, not for its tangent
    case op::barrier:
      return dx;
    case op::sharding_constraint:
      return b.append(op::sharding_constraint, {dx}, b.g.attributes_of(z));
    case op::stop_gradient:
    case op::extent:
      return ir::no_node;

    case op::add:
      return sum_of(b, dx, dy);
    case op::sub:
      if (dx == ir::no_node) return minus(b, dy);
      return dy == ir::no_node ? dx : b.sub(dx, dy);
    case op::mul:  // dz = dx y + x dy
    case op::strong_mul:
      if (x == y) return b.scale(scaled(b, dx, x), 2);
      return sum_of(b, scaled(b, dx, y), scaled(b, dy, x));
    case op::div: {  // dz = (dx - z dy) / y
      if (dx == ir::no_node) return minus(b, divided(b, scaled(b, dy, z), y));
      return divided(b, dy == ir::no_node ? dx : b.sub(dx, scaled(b, dy, z)), y);
    }
    case op::rem: {  // z = x - q y, dz = dx - q dy, q = x / y towards 0, flat between its steps
      if (dy == ir::no_node) return dx;
      const int q = b.div(x, y);
      const int below = b.binary(op::lt, q, zeros_like(b, q));
      const int whole = b.select(below, b.unary(op::ceil, q), b.unary(op::floor, q));
      const int part = scaled(b, dy, whole);
      return dx == ir::no_node ? b.neg(part) : b.sub(dx, part);
    }
    case op::pow:
      return pow_rule(b, z, x, y, dx, dy);
    case op::max:
      return max_rule(b, x, y, op::gt, dx, dy);
    case op::min:
      return max_rule(b, x, y, op::lt, dx, dy);
    case op::atan2: {  // dz = (y dx - x dy) / (x^2 + y^2), 0 at (0, 0)
      const int turned = sum_of(b, scaled(b, dx, y), minus(b, scaled(b, dy, x)));
      return divided(b, turned, b.add(b.mul(x, x), b.mul(y, y)));
    }
    case op::is_finite:  // no number, no tangent
    case op::logical_not:
    case op::bit_and:
    case op::bit_or:
    case op::bit_xor:
    case op::shift_left:
    case op::shift_right:
    case op::eq:
    case op::ne:
    case op::lt:
    case op::le:
    case op::gt:
    case op::ge:
    case op::threefry:
    case op::argmax:
    case op::argmin:
    case op::argsort:
    case op::axis_index:
    case op::axis_size:
      return ir::no_node;
    case op::select:  // dz = dx or dy, as the predicate says
      return b.select(x, or_zeros(b, dy, z), or_zeros(b, tangents[2], z));

    case op::broadcast:  // linear: what they do to x, they do to dx
    case op::reshape:
    case op::transpose:
    case op::slice:
    case op::reverse:
    case op::gather:
    case op::dynamic_slice:
    case op::reduce_sum:
    case op::cumsum:
    case op::reverse_cumsum:
    case op::psum:
    case op::all_gather:
    case op::psum_scatter:
    case op::all_to_all:
    case op::ppermute:
      return same_op(b, z, tangents, 1);
    case op::pad:  // linear in both operands
    case op::dynamic_update_slice:
      return same_op(b, z, tangents, 2);
    case op::concatenate:
      return same_op(b, z, tangents, count);
    case op::scatter_add: {  // linear in value and updates
      if (tangents[2] == ir::no_node) return dx;
      return b.append(op::scatter_add, {or_zeros(b, dx, x), y, tangents[2]}, b.g.attributes_of(z));
    }
    case op::scatter_max:  // dz = the mean of the tangents of what is equal to z
      return scatter_max_rule(b, z, tangents);
    case op::cumprod:
      return cumprod_rule(b, z, x, dx);
    case op::cummax:
      return cummax_rule(b, z, x, dx, op::max);
    case op::cummin:
      return cummax_rule(b, z, x, dx, op::min);
    case op::cumlogsumexp:
      return cumlogsumexp_rule(b, z, x, dx);
    case op::cholesky:
      return cholesky_rule(b, z, dx);
    case op::triangular_solve:
      return triangular_solve_rule(b, z, dx, dy);
    case op::lu:
      return lu_rule(b, z, dx);
    case op::qr:
      return qr_rule(b, z, dx);
    case op::eigh:
      return eigh_rule(b, z, dx);
    case op::svd:
      return svd_rule(b, z, dx);
    case op::reduce_prod:  // dz = sum_i dx_i prod_(j != i) x_j
      return reduce_prod_rule(b, z, x, b.g.attribute(z), dx);
    case op::reduce_max:  // dz = the mean of dx where x = z
    case op::reduce_min:
      return reduce_max_rule(b, z, x, b.g.attribute(z), dx);
    case op::pmax:  // dz = the mean of dx over the lanes where x = z
    case op::pmin:
      return pmax_rule(b, z, x, dx);
    case op::reduce_logsumexp:  // dz = sum(softmax(x) dx)
      return logsumexp_rule(b, z, x, b.g.attribute(z), dx);
    case op::dot:  // dz = dx . y + x . dy
      if (is_inner_product(b.g, z)) return inner_product_rule(b, z, x, y, dx, dy);
      return sum_of(b, dx == ir::no_node ? dx : b.append(op::dot, {dx, y}, b.g.attributes_of(z)),
                    dy == ir::no_node ? dy : b.append(op::dot, {x, dy}, b.g.attributes_of(z)));

    case op::custom:
      return custom_tangent(b, z, tangents);
    case op::custom_linear:
    case op::custom_part:
      return b.fail_as("custom_vjp", b.site, text(only_in_reverse));
    case op::external:
    case op::external_result:
      return b.fail_as("external_call", b.site,
                       text("a host function has no derivative: call it inside a "
                            "custom_vjp or custom_jvp, or stop_gradient its arguments"));
    case op::item:  // a row of the tangents
      return b.bound(op::item, dx, b.g.attribute(z, 0), b.g.attribute(z, 1));
    case op::enter:
      return b.append(op::enter, {dx}, b.g.attributes_of(z));
    case op::carry:  // see region_tangent
    case op::loop:
    case op::cond:
    case op::result_of:
      return ir::no_node;
  }
  __builtin_unreachable();
}

/// The tangent of a node that the tangents of its operands do not tell; false for all others.
template <class TangentAt>
constexpr bool region_tangent(ir::builder& b, int z, const activity& active,
                              const TangentAt& tangent_at, int& out) {
  switch (b.g[z].code) {
    case op::carry:
      if (active.at(z)) {
        const int from = b.g.operand(z, 0);
        out = b.bound(op::carry, or_zeros(b, tangent_at(from), from), b.g.attribute(z, 0),
                      b.g.attribute(z, 1));
      }
      return true;
    case op::loop:
      out = loop_tangent(b, z, active, tangent_at);
      return true;
    case op::cond:
      out = cond_tangent(b, z, active, tangent_at);
      return true;
    case op::result_of: {
      const int of = b.g.operand(z, 0);
      out = result_tangent(b, of, tangent_at(of), static_cast<int>(b.g.attribute(z)), active);
      return true;
    }
    default:
      return false;
  }
}

}  // namespace detail

/// No tangent passes this node, so that those of its operands are not wanted for its sake.
[[nodiscard]] constexpr bool is_flat(const ir::graph& g, int id) {
  const op code = g[id].code;
  return code == op::stop_gradient || (!is_floating(g.type(id).element) && !has_regions(code));
}

/// Appends the tangents of `outputs`, given those of `inputs`.
///
/// Pre: `inputs` are nodes that the nodes on the way to `outputs` depend on through these ids only:
/// `op::variable`s that the caller has just made. `ir::no_node` as a tangent is zero.
/// Post: the tangent of an output has its type; it is `ir::no_node` where it is zero everywhere:
/// for integers, and where no input matters. What is appended is linear in `input_tangents`.
/// Cost: O(nodes + edges) between the first input and the last output.
constexpr void jvp(ir::builder& b, const ids& outputs, const ids& inputs, const ids& input_tangents,
                   ids& output_tangents) {
  output_tangents.size = 0;
  if (outputs.has_poison() || inputs.has_poison()) {
    for (int i = 0; i < outputs.size; ++i) output_tangents.push(ir::poison);
    return;
  }
  const int current = b.scope;
  const int first = inputs.lowest();
  const int last = outputs.highest();
  bool needed[ir::graph::max_nodes]{};     // at last - id: an output depends on it
  int tangent_of[ir::graph::max_nodes]{};  // at id - first: tangent + 1, 0 is zero

  for (const int id : outputs) {
    if (id >= first) needed[last - id] = true;
  }
  for (int id = last; id >= first; --id) {
    if (!needed[last - id] || is_flat(b.g, id)) continue;
    for (int i = 0; i < b.g[id].num_operands; ++i) {
      if (const int x = b.g.operand(id, i); x >= first) needed[last - x] = true;
    }
  }
  for (int i = 0; i < inputs.size; ++i) {
    if (inputs[i] <= last) tangent_of[inputs[i] - first] = input_tangents[i] + 1;
  }
  detail::activity active{};
  active.first = first;
  const bool has_regions = b.g.num_regions > 0;
  if (has_regions) active.find(b.g, inputs, last, [&](int id) { return needed[last - id]; });
  const auto tangent_at = [&](int x) {
    return x >= first ? tangent_of[x - first] - 1 : ir::no_node;
  };
  for (int id = first; id <= last; ++id) {
    if (!needed[last - id] || tangent_of[id - first] != 0) continue;
    const int scope = b.g[id].scope;
    b.site = b.g[id].at;
    b.scope = scope;
    int tangent = ir::no_node;
    if (has_regions && detail::region_tangent(b, id, active, tangent_at, tangent)) {
      tangent_of[id - first] = tangent + 1;
      continue;
    }
    int tangents[ir::operand_types::capacity]{};
    bool is_moving = false;
    for (int i = 0; i < b.g[id].num_operands; ++i) {
      const int x = b.g.operand(id, i);
      tangents[i] = x >= first ? tangent_of[x - first] - 1 : ir::no_node;
      is_moving = is_moving || tangents[i] != ir::no_node;
    }
    if (!is_moving || !is_floating(b.type(id).element)) continue;
    if (!detail::stable_tangent(b, id, tangent_at, tangent)) {
      tangent = detail::jvp_rule(b, id, tangents);
    }
    b.move_home(tangent, scope, b.g[id].home);
    tangent_of[id - first] = tangent + 1;
  }
  b.scope = current;
  for (const int id : outputs) {
    output_tangents.push(id >= first ? tangent_of[id - first] - 1 : ir::no_node);
  }
}

/// Says so where an output depends on a tangent that only reverse mode could have resolved.
///
/// Cost: O(nodes + edges), nothing where no custom_vjp has been differentiated.
constexpr void refuse_forward_mode(ir::builder& b) {
  if (!b.has_pullbacks()) return;
  bool needed[ir::graph::max_nodes]{};
  for (int i = 0; i < b.g.num_outputs; ++i) {
    if (b.g.outputs[i] >= 0) needed[b.g.outputs[i]] = true;
  }
  for (int id = b.g.num_nodes - 1; id >= 0; --id) {
    if (!needed[id]) continue;
    if (b.g[id].code == op::custom_linear) {
      b.fail_as("custom_vjp", b.g[id].at, text(detail::only_in_reverse));
      return;
    }
    for (int i = 0; i < b.g[id].num_operands; ++i) needed[b.g.operand(id, i)] = true;
  }
}

}  // namespace atled::passes
