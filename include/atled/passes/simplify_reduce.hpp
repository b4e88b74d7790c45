// atled/passes/simplify_reduce.hpp: rules for reductions: two become one, equal numbers are
// counted, transposes wait until less is left. Reads: passes/simplify_elementwise.hpp. Used by
// passes/simplify.hpp, which says what a rule may do.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/simplify_elementwise.hpp"

namespace atled::passes::detail {

/// reduce(reduce(x)) of the same kind, over the axes of both.
constexpr int reduce_of_reduce(simplifier& b, const moving_node& n) {
  const int inner = n[0];
  const int x = b.g.operand(inner, 0);
  std::int64_t mask = b.g.attribute(inner);
  int axis = 0;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    if (ir::has_axis(b.g.attribute(inner), i)) continue;
    if (ir::has_axis(n.attributes.values[0], axis++)) mask |= std::int64_t{1} << i;
  }
  return make(b, n.code, {x}, ir::attribute_list::of(mask));
}

/// n equal numbers: their sum where it is exact, their extreme always.
constexpr int reduce_of_broadcast(simplifier& b, const moving_node& n) {
  const int wide = n[0];
  const std::int64_t repeated = n.attributes.values[0] & ~b.g.attribute(wide);
  if (repeated == 0) return ir::no_node;
  shape dims{};
  std::int64_t mask = 0;  // of the broadcast without the repeated axes
  std::int64_t rest = 0;  // axes that are still to be reduced
  std::int64_t count = 1;
  for (int i = 0; i < b.type(wide).rank(); ++i) {
    if (ir::has_axis(repeated, i)) {
      count *= b.type(wide).dims[i];
      continue;
    }
    const std::int64_t bit = std::int64_t{1} << dims.rank;
    if (ir::has_axis(b.g.attribute(wide), i)) mask |= bit;
    if (ir::has_axis(n.attributes.values[0], i)) rest |= bit;
    dims.push(b.type(wide).dims[i]);
  }
  if (count == 0) return ir::no_node;
  const int once = make_broadcast(b, b.g.operand(wide, 0), dims, mask);
  const auto reduced = [&] {
    return rest == 0 ? once : make(b, n.code, {once}, ir::attribute_list::of(rest));
  };
  if (n.code == op::reduce_max || n.code == op::reduce_min) return reduced();
  if (n.code != op::reduce_sum) return ir::no_node;
  const auto times = static_cast<double>(count);
  const auto value = number_of(b.g, wide);
  const bool is_whole = value.known && value.value > -1e6 && value.value < 1e6 &&
                        floor_of(value.value) == value.value;
  const bool sums_exactly = is_whole && value.value * times < 16'777'216 &&
                            value.value * times > -16'777'216 && !is_half(n.type.element);
  if (!is_floating(n.type.element) || is_power_of_two(times) || sums_exactly) {
    const int sum = reduced();
    return make(b, op::mul, {sum, make_splat(b, times, b.type(sum))});
  }
  return ir::no_node;
}

/// reduce(transpose(x)): of x, and what is left is transposed.
constexpr int reduce_of_transpose(simplifier& b, const moving_node& n) {
  const int x = b.g.operand(n[0], 0);
  const std::int64_t order = b.g.attribute(n[0]);
  std::int64_t mask = 0;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    const std::int64_t bit = std::int64_t{1} << ir::permuted_axis(order, i);
    if (ir::has_axis(n.attributes.values[0], i)) mask |= bit;
  }
  std::int64_t rest = 0;
  int axis = 0;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    if (ir::has_axis(n.attributes.values[0], i)) continue;
    int place = 0;
    for (int j = 0; j < ir::permuted_axis(order, i); ++j) place += ir::has_axis(mask, j) ? 0 : 1;
    rest = ir::with_permuted_axis(rest, axis++, place);
  }
  const int small = make(b, n.code, {x}, ir::attribute_list::of(mask));
  return make(b, op::transpose, {small}, ir::attribute_list::of(rest));
}

/// Products of what does not change along one of the last two axes, with these two exchanged; no
/// node for anything else.
constexpr int exchanged_products(simplifier& b, int x, int depth) {
  const shape& dims = b.type(x).dims;
  if (b.g[x].code == op::broadcast) {
    const std::int64_t last_two = std::int64_t{3} << (dims.rank - 2);
    const std::int64_t mask = b.g.attribute(x);
    if ((mask & last_two) == last_two) return ir::no_node;
    shape exchanged = dims;
    exchanged[dims.rank - 2] = dims[dims.rank - 1];
    exchanged[dims.rank - 1] = dims[dims.rank - 2];
    const bool moves = (mask & last_two) != 0;
    return make_broadcast(b, b.g.operand(x, 0), exchanged, moves ? mask ^ last_two : mask);
  }
  if (b.g[x].code != op::mul || depth == 0) return ir::no_node;
  const int first = exchanged_products(b, b.g.operand(x, 0), depth - 1);
  if (first == ir::no_node) return ir::no_node;
  const bool is_square = b.g.operand(x, 0) == b.g.operand(x, 1);
  const int second = is_square ? first : exchanged_products(b, b.g.operand(x, 1), depth - 1);
  return second == ir::no_node ? second : make(b, op::mul, {first, second});
}

/// A sum over both axes of an outer product (of its square ...) takes the longer one as its row.
constexpr int sum_of_products(simplifier& b, const moving_node& n) {
  const shape& dims = b.type(n[0]).dims;
  if (n.code != op::reduce_sum || dims.rank < 3) return ir::no_node;
  const std::int64_t last_two = std::int64_t{3} << (dims.rank - 2);
  if ((n.attributes.values[0] & last_two) != last_two) return ir::no_node;
  if (dims[dims.rank - 2] <= dims[dims.rank - 1]) return ir::no_node;
  const int exchanged = exchanged_products(b, n[0], 3);
  return exchanged == ir::no_node ? exchanged : make(b, n.code, {exchanged}, n.attributes);
}

constexpr int simplify_reduce(simplifier& b, const moving_node& n) {
  const int x = n[0];
  bool has_work = false;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    has_work = has_work || (ir::has_axis(n.attributes.values[0], i) && b.type(x).dims[i] != 1);
  }
  if (!has_work) return make_reshape(b, x, n.type.dims);
  switch (b.g[x].code) {
    case op::broadcast:
      return reduce_of_broadcast(b, n);
    case op::transpose:
      return reduce_of_transpose(b, n);
    case op::neg:  // the minus of one sum in place of many terms
      return n.code == op::reduce_sum && n.type.size() > 0 && b.type(x).size() > 0
                 ? make(b, op::neg, {make(b, n.code, {b.g.operand(x, 0)}, n.attributes)})
                 : ir::no_node;
    case op::mul:
      return sum_of_products(b, n);
    default:
      return b.g[x].code == n.code ? reduce_of_reduce(b, n) : ir::no_node;
  }
}

}  // namespace atled::passes::detail
