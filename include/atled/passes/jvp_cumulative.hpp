// atled/passes/jvp_cumulative.hpp: derivative rules of running products, extremes and logarithms of
// sums, for passes/jvp.hpp. Reads: passes/ids.hpp.
//
// A rule doubles its reach in log2(n) steps: after each, element i and its tangent combine the
// elements i, i - 1 ... as many as the reach; the next step combines them with those that end where
// these begin. No element counts twice and nothing is divided by an element, which may be zero.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

#include <limits>

namespace atled::passes::detail {

/// `x` moved by `reach` along a bounded axis, which has no part at a fixed place: towards its
/// beginning where it `is_reversed`, else towards its end.
constexpr int moved_along_bounded(ir::builder& b, int x, int axis, std::int64_t reach,
                                  bool is_reversed, double filler) {
  if (x < 0) return ir::poison;
  const tensor_type type = b.type(x);
  const tensor_type places{dtype::i32, shape::of({type.dims[axis]})};
  const int distance = b.splat(static_cast<double>(reach), places);
  const int here = b.iota(places, 0);
  const int from = is_reversed ? b.add(here, distance) : b.sub(here, distance);
  const int moved = b.gather(x, from, axis, 0, index_mode::fill);
  if (filler == 0) return moved;
  const int size = b.broadcast(b.size_of(places.dims[0], dtype::i32), places.dims, 0);
  const int inside =
      is_reversed ? b.binary(op::lt, from, size) : b.binary(op::ge, from, b.splat(0, places));
  return b.select(b.broadcast(inside, type.dims, std::int64_t{1} << axis), moved,
                  b.splat(filler, type));
}

/// `x` moved along the axis of node `z` by `reach`, away from the end where `z` begins.
constexpr int moved_along(ir::builder& b, int z, int x, std::int64_t reach, double filler) {
  if (x < 0) return ir::poison;
  const shape dims = b.type(x).dims;
  const auto axis = static_cast<int>(b.g.attribute(z, 0));
  const bool is_reversed = b.g.attribute(z, 1) != 0;
  if (is_bounded(dims[axis])) return moved_along_bounded(b, x, axis, reach, is_reversed, filler);
  shape none{};
  none.rank = dims.rank;
  shape ones = none;
  for (int i = 0; i < dims.rank; ++i) ones[i] = 1;
  shape kept = dims;
  kept[axis] -= reach;
  shape starts = none;
  shape low = none;
  (is_reversed ? starts : low)[axis] = reach;
  return b.pad(b.slice(x, starts, kept, ones), b.constant(filler, b.type(x).element), low, none,
               dims);
}

/// Calls step(reach) for 1, 2, 4 ... below the size of the axis of `z`.
template <class Step>
constexpr void double_reach(const ir::builder& b, int z, const Step& step) {
  const std::int64_t size = bound_of(b.type(z).dims[static_cast<int>(b.g.attribute(z, 0))]);
  for (std::int64_t reach = 1; reach < size; reach *= 2) step(reach);
}

/// d(x y) = dx y + x dy of each product of two parts.
constexpr int cumprod_rule(ir::builder& b, int z, int x, int dx) {
  double_reach(b, z, [&](std::int64_t reach) {
    const int y = moved_along(b, z, x, reach, 1);
    dx = b.add(b.strong_mul(dx, y), b.strong_mul(moved_along(b, z, dx, reach, 0), x));
    x = b.mul(x, y);
  });
  return dx;
}

/// The mean of the tangents of all elements so far that are equal to the extremum.
constexpr int cummax_rule(ir::builder& b, int z, int x, int dx, op extreme) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double lowest = extreme == op::max ? -infinity : infinity;
  const op is_beyond = extreme == op::max ? op::gt : op::lt;
  int count = b.splat(1, b.type(x));
  double_reach(b, z, [&](std::int64_t reach) {
    const int y = moved_along(b, z, x, reach, lowest);
    const int beyond = b.binary(is_beyond, y, x);
    const int equal = b.binary(op::eq, y, x);
    const auto merge = [&](int own) {
      const int other = moved_along(b, z, own, reach, 0);
      return b.select(beyond, other, b.select(equal, b.add(own, other), own));
    };
    dx = merge(dx);
    count = merge(count);
    x = b.binary(extreme, x, y);
  });
  return b.div(dx, count);
}

/// The tangents of two parts by their weights e^(x - z), e^(y - z), which are at most 1.
constexpr int cumlogsumexp_rule(ir::builder& b, int z, int x, int dx) {
  const double infinity = std::numeric_limits<double>::infinity();
  const tensor_type type = b.type(z);
  const int zero = b.splat(0, type);
  const int one = b.splat(1, type);
  double_reach(b, z, [&](std::int64_t reach) {
    const int y = moved_along(b, z, x, reach, -infinity);
    const int most = b.binary(op::max, x, y);
    const int level =
        b.unary(op::stop_gradient, b.select(b.unary(op::is_finite, most), most, zero));
    const int of_x = b.unary(op::exp, b.sub(x, level));
    const int of_y = b.unary(op::exp, b.sub(y, level));
    const int sum = b.add(of_x, of_y);
    const int inverse = b.div(one, b.select(b.binary(op::eq, sum, zero), one, sum));
    dx = b.add(b.strong_mul(dx, b.mul(of_x, inverse)),
               b.strong_mul(moved_along(b, z, dx, reach, 0), b.mul(of_y, inverse)));
    x = b.add(b.unary(op::log, sum), level);
  });
  return dx;
}

}  // namespace atled::passes::detail
