// atled/nn/loss.hpp: how far a prediction is off: cross_entropy, mean_squared_error.
// Reads: ops/softmax.hpp, ops/index.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/creation.hpp"
#include "atled/ops/softmax.hpp"

namespace atled::nn {

/// -log(softmax(logits)) at the label, for each row.
///
///   logits  f32[..., V]     labels  i32[...]     out  f32[...]
///
/// Written as logsumexp less the label's logit, so that it is exact for huge logits and one kernel.
/// Gradient: d_logits = d_out (softmax(logits) - one_hot(labels)).
/// Ill-formed: labels are no integers; they have not the shape of logits without its last axis.
/// Units: nats.
[[nodiscard]] constexpr expr softmax_cross_entropy(const expr& logits, const expr& labels,
                                                   call_site at = call_site::here()) {
  at = at.in("softmax_cross_entropy");
  const ir::operand in = ir::floating_operand(logits, at);
  ir::builder& b = in.builder();
  if (in.is_poison() || labels.is_poison()) return {b, ir::poison};
  const shape dims = in.type().dims;
  tensor_type wanted{dtype::i32, dims};
  if (wanted.dims.rank > 0) wanted.dims[--wanted.dims.rank] = 0;
  if (dims.rank == 0 || !(labels.dims() == wanted.dims) || !is_integer(labels.element())) {
    text why;
    return ir::fail(b, why << "logits " << in.type() << " and labels " << labels.type()
                           << ": labels must be " << wanted);
  }
  const int last = dims.rank - 1;
  const std::int64_t last_axis = std::int64_t{1} << last;
  const ir::operand label = ir::spread(ir::operand(labels, at), dims, last_axis);
  const ir::operand column(b, b.iota({labels.element(), dims}, last));
  const ir::operand at_label = ir::select(label == column, in, in.like(0));
  return ir::operand(logsumexp(in, -1, {}, at), at) - ir::operand(sum(at_label, -1, {}, at), at);
}

/// The mean of `softmax_cross_entropy` over all rows.
[[nodiscard]] constexpr expr cross_entropy(const expr& logits, const expr& labels,
                                           call_site at = call_site::here()) {
  at = at.in("cross_entropy");
  return mean(softmax_cross_entropy(logits, labels, at), {}, {}, at);
}

/// The mean over rows weighted by `weights`, 0 for rows that do not count: sum(w loss) / sum(w).
///
///   logits  f32[..., V]     labels  i32[...]     weights  f32[...]     out  f32[]
[[nodiscard]] constexpr expr cross_entropy(const expr& logits, const expr& labels,
                                           const expr& weights, call_site at = call_site::here()) {
  at = at.in("cross_entropy");
  const ir::operand losses(softmax_cross_entropy(logits, labels, at), at);
  const ir::operand counted = losses * ir::operand(weights, at);
  return ir::operand(sum(counted, {}, {}, at), at) / ir::operand(sum(weights, {}, {}, at), at);
}

/// The mean of (prediction - target)^2.
[[nodiscard]] constexpr expr mean_squared_error(const expr& prediction, const expr& target,
                                                call_site at = call_site::here()) {
  at = at.in("mean_squared_error");
  const ir::operand difference = ir::operand(prediction, at) - ir::operand(target, at);
  return mean(difference * difference, {}, {}, at);
}

}  // namespace atled::nn
