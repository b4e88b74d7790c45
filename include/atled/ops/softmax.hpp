// atled/ops/softmax.hpp: softmax, log_softmax, logsumexp: safe for huge logits and masked rows.
// Reads: ops/reduce.hpp. Plain operations along a row, which passes/fuse_rows.hpp makes one kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"

namespace atled {

namespace detail {

/// What all three are made of: each row less its largest element, the logarithm of the sum of its
/// exponentials, and the level that the row is measured from: the same, but 0 in a row that is all
/// -inf. bf16 and f16 are computed in f32.
struct row_levels {
  ir::operand shift;    ///< the largest element; 0 where that is not finite
  ir::operand shifted;  ///< f32[..., C]
  ir::operand sum;      ///< logsumexp(shifted), one a row
  ir::operand is_empty;
  ir::operand level;

  constexpr row_levels(const ir::operand& x, std::int64_t mask)
      : shift(x), shifted(x), sum(x), is_empty(x), level(x) {
    const ir::operand in = x.as(sum_type(ir::floating_type(x.type().element)));
    const ir::operand most = reduced(op::reduce_max, in, mask, false).apply(op::stop_gradient);
    if (most.is_poison()) {
      sum = most;
      return;
    }
    shift = ir::select(most.apply(op::is_finite), most, most.like(0));
    shifted = in - ir::spread(shift, x.type().dims, mask);
    sum = reduced(op::reduce_logsumexp, shifted, mask, false);
    is_empty = sum == -__builtin_inf();
    // As the tangent rule of the op writes it: forward and backward share the softmax.
    level = ir::select(is_empty, sum.like(0), sum);
  }
};

}  // namespace detail

/// exp(x) / sum(exp(x)) along an axis.
///
///   x  f32[..., C]     out  f32[..., C], each row positive with the sum 1
///
/// Masked entries are -inf; a row that is all -inf gives 0, with gradient 0.
/// Gradient: d_x = out (d_out - sum(out d_out)).
/// Ill-formed: an axis out of range; a row without elements.
[[nodiscard]] constexpr expr softmax(const expr& x, axes along = -1,
                                     call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, {}, at.in("softmax"));
  if (!r.ok()) return r.failed();
  const detail::row_levels row(r.x, r.mask);
  if (row.sum.is_poison()) return row.sum;
  const ir::operand out =
      (row.shifted - ir::spread(row.level, r.x.type().dims, r.mask)).apply(op::exp);
  return out.as(ir::floating_type(r.x.type().element));
}

/// log(softmax(x)) along an axis: x - logsumexp(x).
///
/// A row that is all -inf gives -inf, with gradient 0.
/// Gradient: d_x = d_out - softmax(x) sum(d_out).
/// Ill-formed: an axis out of range; a row without elements.
[[nodiscard]] constexpr expr log_softmax(const expr& x, axes along = -1,
                                         call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, {}, at.in("log_softmax"));
  if (!r.ok()) return r.failed();
  const detail::row_levels row(r.x, r.mask);
  if (row.sum.is_poison()) return row.sum;
  const shape dims = r.x.type().dims;
  const ir::operand out = row.shifted - ir::spread(row.level, dims, r.mask);
  const ir::operand empty = ir::spread(row.is_empty, dims, r.mask);
  return ir::select(empty, out.like(-__builtin_inf()), out)
      .as(ir::floating_type(r.x.type().element));
}

/// log(sum(exp(x))) along an axis (all axes: `axes{}`).
///
///   x  f32[..., C]     out  f32[...]
///
/// A row that is all -inf gives -inf, with gradient 0.
/// Gradient: d_x = softmax(x) d_out.
/// Ill-formed: an axis out of range; a row without elements.
[[nodiscard]] constexpr expr logsumexp(const expr& x, axes along = -1, kept keep = {},
                                       call_site at = call_site::here()) {
  const auto r = detail::begin_reduction(x, along, keep, at.in("logsumexp"));
  if (!r.ok()) return r.failed();
  const detail::row_levels row(r.x, r.mask);
  if (row.sum.is_poison()) return row.sum;
  ir::operand out = row.sum + row.shift;
  if (r.keep) out = ir::spread(out, ir::with_ones(r.x.type().dims, r.mask), r.mask);
  return out.as(ir::floating_type(r.x.type().element));
}

// --- with a mask -----------------------------------------------------------------------------
// What the mask, which broadcasts to x, does not hold is left out; so is its gradient.

namespace detail {
/// `x` with -inf where the mask is not; poison where they do not broadcast.
constexpr expr masked(const expr& x, const expr& mask, const call_site& at) {
  const ir::operand in = ir::floating_operand(x, at);
  const ir::operand held(in.builder(), mask.id());
  return ir::broadcast_select(ir::truth_of(held), in, in.like(-__builtin_inf()));
}
}  // namespace detail

/// The softmax of what the mask holds, and 0 elsewhere.
[[nodiscard]] constexpr expr softmax(const expr& x, const axes& along, const expr& mask,
                                     call_site at = call_site::here()) {
  at = at.in("softmax");
  return softmax(detail::masked(x, mask, at), along, at);
}
/// The logarithm of `softmax(x, along, mask)`: -inf where the mask is not.
[[nodiscard]] constexpr expr log_softmax(const expr& x, const axes& along, const expr& mask,
                                         call_site at = call_site::here()) {
  at = at.in("log_softmax");
  return log_softmax(detail::masked(x, mask, at), along, at);
}
/// The logsumexp of what the mask holds; -inf where it holds nothing.
[[nodiscard]] constexpr expr logsumexp(const expr& x, const axes& along, const expr& mask,
                                       kept keep = {}, call_site at = call_site::here()) {
  at = at.in("logsumexp");
  return logsumexp(detail::masked(x, mask, at), along, keep, at);
}

}  // namespace atled
