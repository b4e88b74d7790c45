// atled/ops/reduce.hpp: sums, products, extremes, means along axes.
// Reads: ops/arguments.hpp. `sum(x)` takes all axes; `sum(x, 1)`, `sum(x, axis<-1>)`,
// `sum(x, {0, 2}, keepdims)` some. bf16 and f16 are summed in f32. Next: ops/cumulative.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/arguments.hpp"

namespace atled {

namespace detail {

/// The element type in which a sum or product is formed.
constexpr dtype sum_type(dtype element) {
  if (element == dtype::boolean) return dtype::i32;
  if (element == dtype::u8) return dtype::u32;
  return is_half(element) ? dtype::f32 : element;
}

/// The reduction, and the dropped axes as axes of size 1 if they are kept.
constexpr ir::operand reduced(op code, const ir::operand& x, std::int64_t mask, bool keep) {
  ir::builder& b = x.builder();
  if (x.is_poison()) return x;
  const ir::operand out(b, b.reduce(code, x.id(), mask));
  return keep ? ir::spread(out, ir::with_ones(x.type().dims, mask), mask) : out;
}

constexpr ir::operand sum_over(const ir::operand& x, std::int64_t mask, bool keep = false) {
  if (x.is_poison()) return x;
  return reduced(op::reduce_sum, x.as(sum_type(x.type().element)), mask, keep);
}

/// `total` by the number of elements of `x` along axes, less `ddof`: of all ranks together, where
/// an axis may be split over a mesh axis whose size is known at run time only.
constexpr ir::operand over_count(const ir::operand& total, const ir::operand& x, std::int64_t mask,
                                 int ddof = 0) {
  ir::builder& b = x.builder();
  if (total.is_poison() || b.mesh.num_open() == 0) {
    return ir::per_element(total, x.type().dims, mask, ddof);
  }
  const ir::operand count(
      b, b.append(op::extent, {x.id()}, ir::attribute_list::of(mask), {total.type().element, {}}));
  return total / (ddof == 0 ? count : count - static_cast<double>(ddof));
}

/// The mean in the type of its sum, which is floating.
constexpr ir::operand mean_over(const ir::operand& x, std::int64_t mask, bool keep = false) {
  if (x.is_poison()) return x;
  const tensor_type in = x.type();
  const dtype element = is_floating(in.element) ? sum_type(in.element) : dtype::f32;
  return over_count(reduced(op::reduce_sum, x.as(element), mask, keep), x, mask);
}

/// The variance in the type of its sum.
constexpr ir::operand var_over(const ir::operand& x, std::int64_t mask, int ddof, bool keep) {
  if (x.is_poison()) return x;
  const shape dims = x.type().dims;
  const ir::operand centre = ir::spread(mean_over(x, mask), dims, mask);
  const ir::operand distance = x - centre;
  return over_count(reduced(op::reduce_sum, distance * distance, mask, keep), x, mask, ddof);
}

/// sqrt(x) with the derivative 0 at 0.
constexpr ir::operand flat_sqrt(const ir::operand& x) {
  const ir::operand is_zero = x == 0.0;
  const ir::operand safe = ir::select(is_zero, x.like(1), x);
  return ir::select(is_zero, x.like(0), safe.apply(op::sqrt));
}

/// `x` after the axes have been read; `mask` is -1 if that or `x` is ill-formed.
struct reduction {
  ir::operand x;
  std::int64_t mask;
  bool keep;

  [[nodiscard]] constexpr bool ok() const { return mask >= 0; }
  [[nodiscard]] constexpr expr failed() const { return {x.builder(), ir::poison}; }
};
constexpr reduction begin_reduction(const expr& in, const axes& along, kept keep,
                                    const call_site& at) {
  const ir::operand x(in, at);
  const bool is_kept = keep.value || along.keep;
  if (x.is_poison()) return {x, -1, is_kept};
  return {x, ir::resolved_axes(x.builder(), x.type(), along), is_kept};
}

constexpr expr extreme(op code, const expr& in, const axes& along, kept keep, const call_site& at) {
  const reduction r = begin_reduction(in, along, keep, at);
  return r.ok() ? expr(reduced(code, r.x, r.mask, r.keep)) : r.failed();
}

/// argmax and argmin: along one axis, or of the flattened tensor.
constexpr expr extreme_index(op code, const expr& in, const axes& along, kept keep,
                             const call_site& at) {
  const reduction r = begin_reduction(in, along, keep, at);
  if (!r.ok()) return r.failed();
  ir::builder& b = r.x.builder();
  const shape dims = r.x.type().dims;
  if (along.all) {
    const ir::operand out = reduced(code, ir::flattened(r.x), 1, false);
    return r.keep ? ir::spread(out, ir::with_ones(dims, r.mask), r.mask) : out;
  }
  if (along.size != 1) {
    text why;
    return ir::fail(b, why << r.x.type() << " along " << along.size << " axes: one axis, or all");
  }
  return reduced(code, r.x, r.mask, r.keep);
}

/// any and all: booleans, of which nothing is false or true.
constexpr expr truth_over(op code, const expr& in, const axes& along, kept keep,
                          const call_site& at) {
  const reduction r = begin_reduction(in, along, keep, at);
  if (!r.ok()) return r.failed();
  ir::builder& b = r.x.builder();
  const ir::operand x = ir::truth_of(r.x);
  const shape dims = x.type().dims;
  if (ir::size_along(dims, r.mask) == 0) {
    shape out{};
    for (int i = 0; i < dims.rank; ++i) {
      if (r.keep || !ir::has_axis(r.mask, i)) out.push(ir::has_axis(r.mask, i) ? 1 : dims[i]);
    }
    return {b, b.splat(code == op::reduce_min ? 1 : 0, {dtype::boolean, out})};
  }
  return reduced(code, x, r.mask, r.keep);
}

}  // namespace detail

/// The sum along axes; booleans are counted as i32, u8 summed as u32.
///
///   x  f32[B, C]     sum(x)  f32[]     sum(x, 1)  f32[B]     sum(x, 1, keepdims)  f32[B, 1]
///
/// Gradient: d_x is d_out repeated along the axes.
/// Sharding: a sharded axis gives a partial sum, then one all_reduce.
/// Ill-formed: an axis out of range or given twice.
[[nodiscard]] constexpr expr sum(const expr& x, axes along = {}, kept keep = {},
                                 call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("sum"));
  if (!r.ok()) return r.failed();
  const ir::operand out = detail::sum_over(r.x, r.mask, r.keep);
  return is_half(r.x.type().element) ? out.as(r.x.type().element) : out;
}

/// The product along axes; of nothing it is 1.
///
/// Gradient: without division, so right where factors are 0.
/// Ill-formed: an axis out of range or given twice.
[[nodiscard]] constexpr expr prod(const expr& x, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("prod"));
  if (!r.ok()) return r.failed();
  const dtype element = r.x.type().element;
  const ir::operand out =
      detail::reduced(op::reduce_prod, r.x.as(detail::sum_type(element)), r.mask, r.keep);
  return is_half(element) ? out.as(element) : out;
}

/// The largest element along axes, NaN if one is: `reduce_max(x, 1)`, or `max(x, axis<1>)`.
///
/// Gradient: to the largest; equal ones share it evenly.
/// Ill-formed: an axis out of range or given twice; nothing to reduce.
[[nodiscard]] constexpr expr reduce_max(const expr& x, axes along = {}, kept keep = {},
                                        call_site at = call_site::here()) {
  return detail::extreme(op::reduce_max, x, along, keep, at.in("reduce_max"));
}
/// The smallest element along axes; all else as `reduce_max`.
[[nodiscard]] constexpr expr reduce_min(const expr& x, axes along = {}, kept keep = {},
                                        call_site at = call_site::here()) {
  return detail::extreme(op::reduce_min, x, along, keep, at.in("reduce_min"));
}

// `max(x, 0)` compares with 0, as everywhere; the reduction along axis 0 is `max(x, axis<0>)`,
// `max(x, {0})` or `reduce_max(x, 0)`.

/// The largest element of all.
[[nodiscard]] constexpr expr max(const expr& x, call_site at = call_site::here()) {
  return detail::extreme(op::reduce_max, x, {}, {}, at.in("max"));
}
[[nodiscard]] constexpr expr max(const expr& x, keepdims_tag, call_site at = call_site::here()) {
  return detail::extreme(op::reduce_max, x, {}, keepdims, at.in("max"));
}
[[nodiscard]] constexpr expr max(const expr& x, std::initializer_list<int> along, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::extreme(op::reduce_max, x, along, keep, at.in("max"));
}
template <axis_label Label>
[[nodiscard]] constexpr expr max(const expr& x, axis_tag<Label, 0> along, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::extreme(op::reduce_max, x, along, keep, at.in("max"));
}
[[nodiscard]] constexpr expr min(const expr& x, call_site at = call_site::here()) {
  return detail::extreme(op::reduce_min, x, {}, {}, at.in("min"));
}
[[nodiscard]] constexpr expr min(const expr& x, keepdims_tag, call_site at = call_site::here()) {
  return detail::extreme(op::reduce_min, x, {}, keepdims, at.in("min"));
}
[[nodiscard]] constexpr expr min(const expr& x, std::initializer_list<int> along, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::extreme(op::reduce_min, x, along, keep, at.in("min"));
}
template <axis_label Label>
[[nodiscard]] constexpr expr min(const expr& x, axis_tag<Label, 0> along, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::extreme(op::reduce_min, x, along, keep, at.in("min"));
}

/// The mean along axes; of integers as f32; NaN of nothing.
///
/// Ill-formed: an axis out of range or given twice.
[[nodiscard]] constexpr expr mean(const expr& x, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("mean"));
  if (!r.ok()) return r.failed();
  const ir::operand out = detail::mean_over(r.x, r.mask, r.keep);
  return out.as(ir::floating_type(r.x.type().element));
}

/// The mean squared distance from the mean; the divisor is the count less `ddof`.
///
/// Ill-formed: an axis out of range or given twice.
[[nodiscard]] constexpr expr var(const expr& x, axes along = {}, kept keep = {}, int ddof = 0,
                                 call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("var"));
  if (!r.ok()) return r.failed();
  return detail::var_over(r.x, r.mask, ddof, r.keep).as(ir::floating_type(r.x.type().element));
}

/// The square root of `var`; jnp.std, whose name C++ keeps for itself.
///
/// Gradient: as of `var`, and 0 where the deviation is 0.
[[nodiscard]] constexpr expr std_(const expr& x, axes along = {}, kept keep = {}, int ddof = 0,
                                  call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("std_"));
  if (!r.ok()) return r.failed();
  const ir::operand variance = detail::var_over(r.x, r.mask, ddof, r.keep);
  return detail::flat_sqrt(variance).as(ir::floating_type(r.x.type().element));
}

/// The Euclidean length along axes.
///
/// Gradient: x / norm(x) d_out, and 0 where the length is 0; the second order is finite as well.
[[nodiscard]] constexpr expr norm(const expr& x, axes along = {}, kept keep = {},
                                  call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("norm"));
  if (!r.ok()) return r.failed();
  const dtype element = ir::floating_type(r.x.type().element);
  const ir::operand in = r.x.as(detail::sum_type(element));
  const ir::operand squares = detail::reduced(op::reduce_sum, in * in, r.mask, r.keep);
  return detail::flat_sqrt(squares).as(element);
}

/// Whether one element along the axes is true (not 0); false of nothing.
[[nodiscard]] constexpr expr any(const expr& x, axes along = {}, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::truth_over(op::reduce_max, x, along, keep, at.in("any"));
}
/// Whether all elements along the axes are true (not 0); true of nothing.
[[nodiscard]] constexpr expr all(const expr& x, axes along = {}, kept keep = {},
                                 call_site at = call_site::here()) {
  return detail::truth_over(op::reduce_min, x, along, keep, at.in("all"));
}

/// The index of the largest element along one axis, or of the flattened tensor; of equal ones the
/// first. The result is i32.
///
/// Ill-formed: an axis out of range; more than one axis; nothing to compare.
[[nodiscard]] constexpr expr argmax(const expr& x, axes along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  return detail::extreme_index(op::argmax, x, along, keep, at.in("argmax"));
}
/// The index of the smallest element; all else as `argmax`.
[[nodiscard]] constexpr expr argmin(const expr& x, axes along = {}, kept keep = {},
                                    call_site at = call_site::here()) {
  return detail::extreme_index(op::argmin, x, along, keep, at.in("argmin"));
}

}  // namespace atled
