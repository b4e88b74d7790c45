// atled/ops/softmax.hpp: softmax, log_softmax, logsumexp: safe for huge logits and masked rows.
// Reads: ops/reduce.hpp. Plain operations along a row, which passes/fuse_rows.hpp makes one kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reduce.hpp"

namespace atled {

namespace detail {

/// The parts that all three are made of; bf16 is computed in f32.
struct exponentials {
  ir::operand shifted;   ///< x less the largest element of its row, f32[..., C]
  ir::operand shift;     ///< what was subtracted, one a row; 0 where that would not be finite
  ir::operand is_empty;  ///< rows that are all -inf: their exponentials sum to 0
  ir::operand sum;       ///< of exp(shifted), one a row; 1 for an empty row
  ir::operand exp;
  shape dims;

  constexpr exponentials(const ir::operand& x, std::int64_t mask)
      : shifted(x), shift(x), is_empty(x), sum(x), exp(x), dims(x.type().dims) {
    const ir::operand in = x.as(sum_type(ir::floating_type(x.type().element)));
    const ir::operand most = reduced(op::reduce_max, in, mask, false).apply(op::stop_gradient);
    if (most.is_poison()) {
      shifted = shift = is_empty = sum = exp = most;
      return;
    }
    shift = ir::select(most.apply(op::is_finite), most, most.like(0));
    shifted = in - ir::spread(shift, dims, mask);
    exp = shifted.apply(op::exp);
    const ir::operand total = reduced(op::reduce_sum, exp, mask, false);
    is_empty = total == 0.0;
    sum = ir::select(is_empty, total.like(1), total);
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
  const detail::exponentials e(r.x, r.mask);
  if (e.exp.is_poison()) return e.exp;
  const ir::operand out = e.exp / ir::spread(e.sum, e.dims, r.mask);
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
  const detail::exponentials e(r.x, r.mask);
  if (e.exp.is_poison()) return e.exp;
  const ir::operand out = e.shifted - ir::spread(e.sum.apply(op::log), e.dims, r.mask);
  const ir::operand empty = ir::spread(e.is_empty, e.dims, r.mask);
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
  const detail::exponentials e(r.x, r.mask);
  if (e.exp.is_poison()) return e.exp;
  const ir::operand full = e.sum.apply(op::log) + e.shift;
  ir::operand out = ir::select(e.is_empty, full.like(-__builtin_inf()), full);
  if (r.keep) out = ir::spread(out, ir::with_ones(e.dims, r.mask), r.mask);
  return out.as(ir::floating_type(r.x.type().element));
}

}  // namespace atled
