// atled/ir/op.hpp: the closed set of operations, and the table of what holds for each.
// Next: ir/graph.hpp. Each pass has one exhaustive `switch` over this enum: grep an op to read its
// life.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace atled {

/// What a node computes. Attributes (axes, sizes ...) stand with the node; see ir/builder.hpp.
enum class op : std::uint8_t {
  // sources
  parameter,  ///< an argument of the program; attribute: its index
  variable,   ///< the input of an inner transformation; the identity of operand 0, never merged
  constant,   ///< one scalar; attribute: its bits (f64 bits for floating types, else the integer)
  iota,       ///< the index along axis attribute[0]
  // elementwise, one operand
  neg,
  exp,
  expm1,
  log,
  log1p,
  tanh,
  logistic,
  sin,
  cos,
  sqrt,
  rsqrt,
  erf,
  erfc,
  erf_inv,
  sinh,
  cosh,
  cbrt,
  lgamma,
  polygamma,  ///< the derivative of lgamma of order attribute[0] + 1
  abs,
  sign,
  floor,
  ceil,
  round,
  is_finite,
  logical_not,  ///< bitwise on integers
  convert,
  stop_gradient,
  checkpoint_name,  ///< the identity; attribute: the hash of a name that a policy may list
  // elementwise, two operands of one type
  add,
  sub,
  mul,
  strong_mul,  ///< a product that is exactly 0 where one factor is, also against inf and NaN
  div,
  rem,
  pow,
  max,
  min,
  atan2,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,  ///< logical on unsigned, arithmetic on signed types
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // elementwise, more operands
  select,    ///< predicate ? operand 1 : operand 2
  threefry,  ///< word attribute[0] (0, 1; 2: their xor) of threefry2x32(key0, key1, count0, count1)
  // shape
  broadcast,  ///< attribute: mask of the result axes that the operand's axes map to, in order
  reshape,
  transpose,    ///< attribute: the permutation, result axis i = operand axis permutation[i]
  slice,        ///< attributes: starts, then strides
  pad,          ///< operands: value, scalar filler; attributes: low, then interior
  concatenate,  ///< attribute: the axis; any number of operands
  reverse,      ///< attribute: mask of axes
  // indices
  gather,                ///< operands: value, indices; attributes: axis, batch_dims, index_mode
  scatter_add,           ///< operands: value, indices, updates; attributes as gather
  scatter_max,           ///< the same, but what meets is compared and not added
  dynamic_slice,         ///< operands: value, one scalar start an axis; starts are clamped
  dynamic_update_slice,  ///< operands: value, update, one scalar start an axis
  // reductions; attribute: mask of axes, which are dropped
  reduce_sum,
  reduce_prod,
  reduce_max,
  reduce_min,
  /// log(sum(exp)), -inf where all are: one op until passes/expand.hpp, so that its derivative is
  /// exp(x - z), the softmax, which is then one value forward and backward. It takes a float.
  reduce_logsumexp,
  argmax,  ///< along one axis, the first of equals; result i32
  argmin,
  // along one axis (attribute), same shape
  cumsum,
  reverse_cumsum,
  cumprod,  ///< attributes of this and the next: axis, whether from the end
  cummax,
  cummin,
  cumlogsumexp,  ///< log(sum(exp)) of each element and all before it; it takes a float
  /// The places (i32) of the smallest (largest) elements in order, equal ones in theirs, NaN as the
  /// largest; attributes: axis, descending, how many.
  argsort,
  // linear algebra on the last two axes; a result of several parts is one matrix of blocks
  cholesky,          ///< the lower L with L L^T = (A + A^T) / 2; NaN where that is not positive
  triangular_solve,  ///< operands: matrix, right sides; attribute: a sum of `triangle` flags
  lu,                ///< [L U | p]: row i of L U is row p[i] of A, with unit diagonal of L
  qr,                ///< of at least as many rows as columns: Q above R
  eigh,              ///< of (A + A^T) / 2: eigenvectors as columns above the eigenvalues, ascending
  svd,  ///< of at least as many rows as columns: U above V above the values, descending
  // products
  dot,  ///< attributes: batch, lhs axes, rhs axes packed by `dot_axes`
  // calls of what is not an op; see ir/custom_rule.hpp and ops/external.hpp
  custom,           ///< operands: a value, then what it was made of; attributes: rule, output
  custom_linear,    ///< operands: tangents; attribute: the pullback that transposes it
  custom_part,      ///< one output of a custom_linear; attribute: which
  external,         ///< attributes: host function, calls, mask of operands that move with a call
  external_result,  ///< a part of the bytes of an external; attribute: where it begins
  // words about a mesh, for passes/shard.hpp, which leaves none of them
  sharding_constraint,  ///< the identity; attributes: a byte of mesh axes for each axis, and which
                        ///< of them may be gathered
  extent,  ///< the number of elements of operand 0 along a mask of axes, on all ranks together
  // for passes alone
  barrier,  ///< operand 0 for nodes from attribute[0] on: see passes/remat.hpp
  // along an axis that has a name (attribute[0], in graph::axes): on its lanes, or its ranks
  psum,  ///< the sum over all lanes, which share it
  pmax,
  pmin,
  all_gather,    ///< all lanes side by side along a new axis, attribute[1]; lanes share it
  psum_scatter,  ///< the sum; lane i keeps place i of axis attribute[1], which is dropped
  all_to_all,    ///< lane i sends place j of axis attribute[1] to lane j, as its place i of [2]
  ppermute,      ///< attributes: for each lane the one it receives from; see `lane_sources`
  axis_index,    ///< the number of the lane, an i32
  axis_size,     ///< the number of lanes, an i32: of an axis whose size is known at run time only
  // loops and branches; see ir/regions.hpp. Attributes begin with region and depth
  carry,      ///< what goes from trip to trip of a loop; operand: what it begins as; then a number
  item,       ///< this trip's row of operand 0, a stack; then a number
  enter,      ///< operand 0 inside a branch; then which branch
  loop,       ///< binds carries and items; operands and attributes: ir::loop_parts
  cond,       ///< computes one of its branches; operands and attributes: ir::cond_parts
  result_of,  ///< operand: a loop or cond; attribute: which of its results
};

inline constexpr int num_ops = static_cast<int>(op::result_of) + 1;

/// How an op treats its operands, as far as passes that need no more care.
enum class op_kind : std::uint8_t {
  source,       ///< no operands (variable: identity)
  elementwise,  ///< result element i depends on element i of each operand
  shape,        ///< moves elements
  index,        ///< moves elements to where indices say
  reduction,    ///< combines elements along axes
  cumulative,   ///< combines elements along an axis, keeping it
  ordering,     ///< puts elements along an axis in order
  linear,       ///< linear algebra
  product,      ///< dot
  call,         ///< runs or stands for what is not an op
  collective,   ///< combines lanes of a named axis; steps of their own where lanes are ranks
  region,       ///< loops, branches and what is bound by them
};

struct op_info {
  std::string_view name;
  op_kind kind;
  int num_operands;  ///< -1: any number
};

/// The table row of an op.
[[nodiscard]] constexpr op_info info(op code) {
  using enum op_kind;
  switch (code) {
    case op::parameter:
      return {"parameter", source, 0};
    case op::variable:
      return {"variable", source, 1};
    case op::constant:
      return {"constant", source, 0};
    case op::iota:
      return {"iota", source, 0};
    case op::neg:
      return {"neg", elementwise, 1};
    case op::exp:
      return {"exp", elementwise, 1};
    case op::expm1:
      return {"expm1", elementwise, 1};
    case op::log:
      return {"log", elementwise, 1};
    case op::log1p:
      return {"log1p", elementwise, 1};
    case op::tanh:
      return {"tanh", elementwise, 1};
    case op::logistic:
      return {"logistic", elementwise, 1};
    case op::sin:
      return {"sin", elementwise, 1};
    case op::cos:
      return {"cos", elementwise, 1};
    case op::sqrt:
      return {"sqrt", elementwise, 1};
    case op::rsqrt:
      return {"rsqrt", elementwise, 1};
    case op::erf:
      return {"erf", elementwise, 1};
    case op::erfc:
      return {"erfc", elementwise, 1};
    case op::erf_inv:
      return {"erf_inv", elementwise, 1};
    case op::sinh:
      return {"sinh", elementwise, 1};
    case op::cosh:
      return {"cosh", elementwise, 1};
    case op::cbrt:
      return {"cbrt", elementwise, 1};
    case op::lgamma:
      return {"lgamma", elementwise, 1};
    case op::polygamma:
      return {"polygamma", elementwise, 1};
    case op::abs:
      return {"abs", elementwise, 1};
    case op::sign:
      return {"sign", elementwise, 1};
    case op::floor:
      return {"floor", elementwise, 1};
    case op::ceil:
      return {"ceil", elementwise, 1};
    case op::round:
      return {"round", elementwise, 1};
    case op::is_finite:
      return {"is_finite", elementwise, 1};
    case op::logical_not:
      return {"logical_not", elementwise, 1};
    case op::convert:
      return {"convert", elementwise, 1};
    case op::stop_gradient:
      return {"stop_gradient", elementwise, 1};
    case op::checkpoint_name:
      return {"checkpoint_name", elementwise, 1};
    case op::add:
      return {"add", elementwise, 2};
    case op::sub:
      return {"sub", elementwise, 2};
    case op::mul:
      return {"mul", elementwise, 2};
    case op::strong_mul:
      return {"strong_mul", elementwise, 2};
    case op::div:
      return {"div", elementwise, 2};
    case op::rem:
      return {"rem", elementwise, 2};
    case op::pow:
      return {"pow", elementwise, 2};
    case op::max:
      return {"max", elementwise, 2};
    case op::min:
      return {"min", elementwise, 2};
    case op::atan2:
      return {"atan2", elementwise, 2};
    case op::bit_and:
      return {"bit_and", elementwise, 2};
    case op::bit_or:
      return {"bit_or", elementwise, 2};
    case op::bit_xor:
      return {"bit_xor", elementwise, 2};
    case op::shift_left:
      return {"shift_left", elementwise, 2};
    case op::shift_right:
      return {"shift_right", elementwise, 2};
    case op::eq:
      return {"eq", elementwise, 2};
    case op::ne:
      return {"ne", elementwise, 2};
    case op::lt:
      return {"lt", elementwise, 2};
    case op::le:
      return {"le", elementwise, 2};
    case op::gt:
      return {"gt", elementwise, 2};
    case op::ge:
      return {"ge", elementwise, 2};
    case op::select:
      return {"select", elementwise, 3};
    case op::threefry:
      return {"threefry", elementwise, 4};
    case op::broadcast:
      return {"broadcast", shape, 1};
    case op::reshape:
      return {"reshape", shape, 1};
    case op::transpose:
      return {"transpose", shape, 1};
    case op::slice:
      return {"slice", shape, 1};
    case op::pad:
      return {"pad", shape, 2};
    case op::concatenate:
      return {"concatenate", shape, -1};
    case op::reverse:
      return {"reverse", shape, 1};
    case op::gather:
      return {"gather", index, 2};
    case op::scatter_add:
      return {"scatter_add", index, 3};
    case op::scatter_max:
      return {"scatter_max", index, 3};
    case op::dynamic_slice:
      return {"dynamic_slice", index, -1};
    case op::dynamic_update_slice:
      return {"dynamic_update_slice", index, -1};
    case op::reduce_sum:
      return {"reduce_sum", reduction, 1};
    case op::reduce_prod:
      return {"reduce_prod", reduction, 1};
    case op::reduce_max:
      return {"reduce_max", reduction, 1};
    case op::reduce_min:
      return {"reduce_min", reduction, 1};
    case op::reduce_logsumexp:
      return {"reduce_logsumexp", reduction, 1};
    case op::argmax:
      return {"argmax", reduction, 1};
    case op::argmin:
      return {"argmin", reduction, 1};
    case op::cumsum:
      return {"cumsum", cumulative, 1};
    case op::reverse_cumsum:
      return {"reverse_cumsum", cumulative, 1};
    case op::cumprod:
      return {"cumprod", cumulative, 1};
    case op::cummax:
      return {"cummax", cumulative, 1};
    case op::cummin:
      return {"cummin", cumulative, 1};
    case op::cumlogsumexp:
      return {"cumlogsumexp", cumulative, 1};
    case op::argsort:
      return {"argsort", ordering, 1};
    case op::cholesky:
      return {"cholesky", linear, 1};
    case op::triangular_solve:
      return {"triangular_solve", linear, 2};
    case op::lu:
      return {"lu", linear, 1};
    case op::qr:
      return {"qr", linear, 1};
    case op::eigh:
      return {"eigh", linear, 1};
    case op::svd:
      return {"svd", linear, 1};
    case op::dot:
      return {"dot", product, 2};
    case op::custom:
      return {"custom", call, -1};
    case op::custom_linear:
      return {"custom_linear", call, -1};
    case op::custom_part:
      return {"custom_part", call, 1};
    case op::external:
      return {"external_call", call, -1};
    case op::external_result:
      return {"external_result", call, 1};
    case op::sharding_constraint:
      return {"with_sharding_constraint", shape, 1};
    case op::extent:
      return {"extent", call, 1};
    case op::barrier:
      return {"barrier", shape, 1};
    case op::psum:
      return {"psum", collective, 1};
    case op::pmax:
      return {"pmax", collective, 1};
    case op::pmin:
      return {"pmin", collective, 1};
    case op::all_gather:
      return {"all_gather", collective, 1};
    case op::psum_scatter:
      return {"psum_scatter", collective, 1};
    case op::all_to_all:
      return {"all_to_all", collective, 1};
    case op::ppermute:
      return {"ppermute", collective, 1};
    case op::axis_index:
      return {"axis_index", collective, 0};
    case op::axis_size:
      return {"axis_size", collective, 0};
    case op::carry:
      return {"carry", region, 1};
    case op::item:
      return {"item", region, 1};
    case op::enter:
      return {"enter", region, 1};
    case op::loop:
      return {"loop", region, -1};
    case op::cond:
      return {"cond", region, -1};
    case op::result_of:
      return {"result_of", region, 1};
  }
  __builtin_unreachable();
}

[[nodiscard]] constexpr bool is_elementwise(op code) {
  return info(code).kind == op_kind::elementwise;
}
[[nodiscard]] constexpr bool is_compare(op code) {
  return code >= op::eq && code <= op::ge;
}
[[nodiscard]] constexpr bool is_reduction(op code) {
  return info(code).kind == op_kind::reduction;
}
[[nodiscard]] constexpr bool is_collective(op code) {
  return info(code).kind == op_kind::collective;
}

/// How op::triangular_solve reads its matrix; the flags add up, and none is upper.
struct triangle {
  static constexpr std::int64_t lower = 1;
  static constexpr std::int64_t transposed = 2;
  static constexpr std::int64_t unit = 4;  ///< the diagonal is 1 and not read
};

/// A value bound by a loop or branch: it exists inside only.
[[nodiscard]] constexpr bool is_bound(op code) {
  return code == op::carry || code == op::item || code == op::enter;
}
/// It has bodies, and results that op::result_of names.
[[nodiscard]] constexpr bool has_regions(op code) {
  return code == op::loop || code == op::cond;
}

/// What an index outside its axis does; the same forward and backward.
enum class index_mode : std::uint8_t {
  clip,  ///< it reads or writes the nearest element
  fill,  ///< it reads 0 and adds nothing
};

}  // namespace atled
