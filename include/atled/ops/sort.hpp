// atled/ops/sort.hpp: order along an axis: sort, argsort, top_k, quantiles, searchsorted.
// Reads: ops/index.hpp, ops/slice.hpp. Only op::argsort is an op; the rest gathers at its places,
// so that a cotangent goes back to the element that it belongs to. NaN is the largest of all.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/index.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/slice.hpp"

#include <tuple>
#include <utility>

namespace atled {

/// The largest first: `sort(x, -1, descending)`.
struct descending_tag {};
inline constexpr descending_tag descending{};

/// Which element comes first.
struct direction {
  bool descends = false;

  constexpr direction() = default;
  constexpr direction(descending_tag) : descends(true) {}  // NOLINT: converts
};

/// What `searchsorted` does where elements are equal.
enum class side : std::uint8_t { left, right };

namespace detail {

constexpr ir::operand places_in_order(const ir::operand& x, int axis_id, bool descends,
                                      std::int64_t count) {
  ir::attribute_list attributes{};
  attributes.push(axis_id);
  attributes.push(descends ? 1 : 0);
  attributes.push(count);
  ir::builder& b = x.builder();
  return {b, b.append(op::argsort, {x.id()}, attributes)};
}

/// The first `count` elements in order along the last axis, and their places.
struct ordered {
  ir::operand values;
  ir::operand places;
};
constexpr ordered in_order(const ir::operand& x, bool descends, std::int64_t count) {
  ir::builder& b = x.builder();
  const int last = x.type().rank() - 1;
  const ir::operand places = places_in_order(x, last, descends, count);
  return {{b, b.gather(x.id(), places.id(), last, last, index_mode::clip)}, places};
}

/// An operand and an axis of it, which is -1 if one of the two is ill-formed.
struct along_axis {
  ir::operand x;
  int axis_id;
};
constexpr along_axis begin_along(const expr& in, int along, const call_site& at) {
  const ir::operand x(in, at);
  if (x.is_poison()) return {x, -1};
  return {x, ir::resolved_axis(x.builder(), x.type(), along)};
}

/// The elements before which `where` falls, as a fraction between two neighbours in order.
constexpr ir::operand between_neighbours(const ir::operand& sorted, double q) {
  ir::builder& b = sorted.builder();
  const tensor_type type = sorted.type();
  const int last = type.rank() - 1;
  const double where = q * static_cast<double>(type.dims[last] - 1);
  const auto low = static_cast<std::int64_t>(where);
  const double fraction = where - static_cast<double>(low);
  shape starts{};
  starts.rank = type.rank();
  shape ones = starts;
  shape dims = type.dims;
  shape kept = type.dims;
  for (int i = 0; i < type.rank(); ++i) ones[i] = 1;
  dims[last] = 1;
  kept.rank = last;
  const auto element_at = [&](std::int64_t i) {
    starts[last] = i;
    return ir::operand(b, b.reshape(b.slice(sorted.id(), starts, dims, ones), kept));
  };
  const ir::operand lower = element_at(low);
  const ir::operand most = element_at(type.dims[last] - 1);
  const ir::operand value =
      fraction == 0 ? lower : lower * (1 - fraction) + element_at(low + 1) * fraction;
  return ir::select(most != most, most, value);  // a NaN anywhere
}

}  // namespace detail

/// The places of the elements along an axis in order: `take_along_axis(x, argsort(x), -1)` is
/// `sort(x)`. Equal elements keep their order, also `descending`.
///
///   x  f32[..., N]     out  i32[..., N]
///
/// Cost: O(N) for each byte of an element.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr argsort(const expr& x, int along = -1, direction order = {},
                                     call_site at = call_site::here()) {
  const auto r = detail::begin_along(x, along, at.in("argsort"));
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  return detail::places_in_order(r.x, r.axis_id, order.descends, r.x.type().dims[r.axis_id]);
}

/// The elements along an axis in order, the smallest first; NaN is the largest, as in NumPy.
///
/// Gradient: each cotangent goes to the element that stands in its place.
/// Ill-formed: an axis out of range.
[[nodiscard]] constexpr expr sort(const expr& x, int along = -1, direction order = {},
                                  call_site at = call_site::here()) {
  at = at.in("sort");
  const auto r = detail::begin_along(x, along, at);
  if (r.axis_id < 0) return {r.x.builder(), ir::poison};
  const int last = r.x.type().rank() - 1;
  const ir::operand moved(moveaxis(r.x, r.axis_id, last, at), at);
  const auto out = detail::in_order(moved, order.descends, moved.type().dims[last]);
  return moveaxis(out.values, last, r.axis_id, at);
}

/// Tensors of one shape, all in the order of the first along an axis.
///
/// Gradient: as of `sort`, for each of them.
/// Ill-formed: the shapes differ; an axis out of range.
template <std::convertible_to<expr>... T>
[[nodiscard]] constexpr auto sort(const std::tuple<T...>& operands, int along = -1,
                                  direction order = {}, call_site at = call_site::here()) {
  at = at.in("sort");
  const expr keys = std::get<0>(operands);
  const expr places = argsort(keys, along, order, at);
  const auto follow = [&](const expr& x) -> expr {
    const ir::operand in(x, at);
    ir::builder& b = in.builder();
    if (in.is_poison() || places.id() < 0) return {b, ir::poison};
    if (!(in.type().dims == keys.type().dims)) {
      text why;
      return ir::fail(b, why << "keys " << keys.type() << " and values " << in.type()
                             << ": shapes must be equal");
    }
    return take_along_axis(in, places, along, index_mode::clip, 0, at);
  };
  return std::apply([&](const auto&... x) { return std::tuple{follow(x)...}; }, operands);
}

/// The `k` largest elements along the last axis, the largest first, and their places.
///
///   x  f32[..., N]     out  f32[..., k], i32[..., k]
///
/// Of equal elements the first comes first.
/// Cost: O(N) comparisons where k is small.
/// Gradient: each cotangent goes to the element that was taken.
/// Ill-formed: a scalar; k is not from 0 to N.
[[nodiscard]] constexpr std::pair<expr, expr> top_k(const expr& x, std::int64_t k,
                                                    call_site at = call_site::here()) {
  const auto r = detail::begin_along(x, -1, at.in("top_k"));
  ir::builder& b = r.x.builder();
  const expr poison(b, ir::poison);
  if (r.axis_id < 0) return {poison, poison};
  const std::int64_t size = r.x.type().dims[r.axis_id];
  if (k < 0 || k > size) {
    text why;
    const expr failed =
        ir::fail(b, why << r.x.type() << " and k = " << k << ": k must be from 0 to " << size);
    return {failed, failed};
  }
  const auto out = detail::in_order(r.x, true, k);
  return {out.values, out.places};
}

/// The value below which the fraction `q` of the elements along some axes lies, between two
/// neighbours on the line through them; NaN if one of them is. Integers become f32.
///
/// Gradient: to the one or two elements that make it.
/// Ill-formed: q is not from 0 to 1; no elements; an axis out of range.
[[nodiscard]] constexpr expr quantile(const expr& x, double q, const axes& along = {},
                                      kept keep = {}, call_site at = call_site::here()) {
  at = at.in("quantile");
  const auto r = detail::begin_reduction(x, along, keep, at);
  if (!r.ok()) return r.failed();
  ir::builder& b = r.x.builder();
  const shape dims = r.x.type().dims;
  const std::int64_t count = ir::size_along(dims, r.mask);
  text why;
  if (!(q >= 0 && q <= 1)) {
    return ir::fail(b, why << r.x.type() << ": the fraction must be from 0 to 1");
  }
  if (count == 0) return ir::fail(b, why << r.x.type() << ": of no elements there is no quantile");
  std::int64_t order = 0;  // the other axes, then those of the mask, which become one
  shape row{};
  int place = 0;
  for (const bool reduces : {false, true}) {
    for (int i = 0; i < dims.rank; ++i) {
      if (ir::has_axis(r.mask, i) != reduces) continue;
      order = ir::with_permuted_axis(order, place++, i);
      if (!reduces) row.push(dims[i]);
    }
  }
  row.push(count);
  const ir::operand in = r.x.as(ir::floating_type(r.x.type().element));
  const ir::operand flat(b, b.reshape(b.transpose(in.id(), order), row));
  const ir::operand out =
      detail::between_neighbours(detail::in_order(flat, false, count).values, q);
  return r.keep ? ir::spread(out, ir::with_ones(dims, r.mask), r.mask) : out;
}

/// `quantile` of q / 100. Units: percent.
[[nodiscard]] constexpr expr percentile(const expr& x, double q, const axes& along = {},
                                        kept keep = {}, call_site at = call_site::here()) {
  return quantile(x, q / 100, along, keep, at.in("percentile"));
}

/// The element in the middle of the order, or the mean of the two; all else as `quantile`.
[[nodiscard]] constexpr expr median(const expr& x, const axes& along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  return quantile(x, 0.5, along, keep, at.in("median"));
}

/// For each value the place in the sorted vector before which it would stand: the number of
/// elements that are smaller, or with `side::right` smaller or equal.
///
///   sorted  f32[N]     values  f32[...]     out  i32[...]
///
/// Cost: log2(N) steps, each one gather of all values.
/// Ill-formed: `sorted` has not one axis.
[[nodiscard]] constexpr expr searchsorted(const expr& sorted, const located& values,
                                          side where = side::left,
                                          call_site at = call_site::here()) {
  const ir::operand in(sorted, at.in("searchsorted"));
  ir::builder& b = in.builder();
  if (in.is_poison()) return in;
  if (in.type().rank() != 1) {
    text why;
    return ir::fail(b, why << in.type() << ": the sorted operand must have one axis");
  }
  const ir::operand given = ir::as_operand(b, values, in.type().element);
  if (given.is_poison()) return given;
  const dtype element = promote(in.type().element, given.type().element);
  const ir::operand row = in.as(element);
  const ir::operand value = given.as(element);
  const std::int64_t size = row.type().dims[0];
  const auto is_less = [&](const ir::operand& x, const ir::operand& y) {
    const ir::operand less = x < y;
    if (!is_floating(element)) return less;
    return ir::operand::combine(op::bit_or, less, (x == x) & (y != y));
  };
  ir::operand out(b, b.splat(0, {dtype::i32, value.type().dims}));
  std::int64_t step = 1;
  while (2 * step <= bound_of(size)) step *= 2;
  for (; step > 0 && size > 0; step /= 2) {  // out elements are known to stand before the value
    const ir::operand next = out + static_cast<double>(step);
    const ir::operand at_next(b, b.gather(row.id(), (next - 1.0).id(), 0, 0, index_mode::clip));
    const ir::operand goes_on =
        where == side::left ? is_less(at_next, value) : !is_less(value, at_next);
    out = ir::select((next <= ir::size_beside(next, size)) & goes_on, next, out);
  }
  return out;
}

}  // namespace atled
