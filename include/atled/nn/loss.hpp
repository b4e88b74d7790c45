// atled/nn/loss.hpp: how far a prediction is off: cross_entropy, sigmoid_binary_cross_entropy,
// kl_divergence, huber_loss, mean_squared_error.
// Reads: ops/softmax.hpp, ops/index.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/activation.hpp"
#include "atled/ops/creation.hpp"
#include "atled/ops/softmax.hpp"

namespace atled::nn {

/// -log(softmax(logits)) at the label, for each row.
///
///   logits  f32[..., V]     labels  i32[...]     out  f32[...]
///
/// Written as logsumexp less the label's logit, so that it is exact for huge logits and one kernel.
/// Gradient: d_logits = d_out (softmax(logits) - one_hot(labels)).
/// Sharding: V may be split: three all_reduces of f32[...]: the largest logit, the sum of
/// exponentials, the logit of the label.
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

/// What `softmax_cross_entropy` may add, as `{.label_smoothing = 0.1}`.
struct cross_entropy_options {
  double label_smoothing = 0;  ///< the part of the target that is spread over all V
  double z_loss = 0;           ///< the weight of logsumexp(logits)^2, which keeps logits small
};

/// The same with smoothed labels and a term that keeps logits small.
///
///   (1 - s) -log(p[label]) + s mean(-log p) + z logsumexp(logits)^2
///
/// Source: Szegedy et al., Rethinking the Inception Architecture, CVPR 2016, section 7; Chowdhery
/// et al., PaLM, 2022, section 5.
[[nodiscard]] constexpr expr softmax_cross_entropy(const expr& logits, const expr& labels,
                                                   const cross_entropy_options& options,
                                                   call_site at = call_site::here()) {
  at = at.in("softmax_cross_entropy");
  const ir::operand plain(softmax_cross_entropy(logits, labels, at), at);
  if (plain.is_poison()) return plain;
  const ir::operand in = ir::floating_operand(logits, at);
  const ir::operand total(logsumexp(in, -1, {}, at), at);
  ir::operand out = plain;
  if (options.label_smoothing != 0) {
    const ir::operand spread = total - ir::operand(mean(in, -1, {}, at), at);
    out = plain * (1 - options.label_smoothing) + spread * options.label_smoothing;
  }
  return options.z_loss != 0 ? out + total * total * options.z_loss : out;
}
/// Its mean over all rows.
[[nodiscard]] constexpr expr cross_entropy(const expr& logits, const expr& labels,
                                           const cross_entropy_options& options,
                                           call_site at = call_site::here()) {
  at = at.in("cross_entropy");
  return mean(softmax_cross_entropy(logits, labels, options, at), {}, {}, at);
}

/// -y log(sigmoid(x)) - (1 - y) log(1 - sigmoid(x)) of logits x and targets y in [0, 1], each.
///
///   logits, targets  f32[...]     out  f32[...]
///
/// Exact for huge logits. Units: nats.
[[nodiscard]] constexpr expr sigmoid_binary_cross_entropy(const expr& logits, const expr& targets,
                                                          call_site at = call_site::here()) {
  at = at.in("sigmoid_binary_cross_entropy");
  const ir::operand x = ir::floating_operand(logits, at);
  const ir::operand y(targets, at);
  if (x.is_poison() || y.is_poison()) return {x.builder(), ir::poison};
  // log(1 - sigmoid(x)) is log_sigmoid(-x), and log_sigmoid(x) that plus x.
  return -(y * x + ir::operand(log_sigmoid(expr(-x), at), at));
}

/// sum(q (log q - log p)) along the last axis, of log p and q; terms with q = 0 are 0.
///
///   log_prediction, target  f32[..., V]     out  f32[...]
///
/// Units: nats.
[[nodiscard]] constexpr expr kl_divergence(const expr& log_prediction, const expr& target,
                                           call_site at = call_site::here()) {
  at = at.in("kl_divergence");
  const ir::operand q = ir::floating_operand(target, at);
  const ir::operand log_p(log_prediction, at);
  if (q.is_poison() || log_p.is_poison()) return {q.builder(), ir::poison};
  const ir::operand own(xlogy(located(expr(q), at), located(expr(q), at), at), at);
  return sum(own - q * log_p, -1, {}, at);
}

/// d^2 / 2 of differences d up to `delta`, delta (|d| - delta / 2) beyond: each.
///
///   prediction, target  f32[...]     out  f32[...]
///
/// Source: Huber, Robust Estimation of a Location Parameter, 1964.
[[nodiscard]] constexpr expr huber_loss(const expr& prediction, const expr& target,
                                        double delta = 1, call_site at = call_site::here()) {
  at = at.in("huber_loss");
  const ir::operand d = (ir::operand(prediction, at) - ir::operand(target, at)).apply(op::abs);
  if (d.is_poison()) return d;
  return ir::select(d <= delta, d * d * 0.5, (d - delta / 2) * delta);
}

/// The mean of (prediction - target)^2.
[[nodiscard]] constexpr expr mean_squared_error(const expr& prediction, const expr& target,
                                                call_site at = call_site::here()) {
  at = at.in("mean_squared_error");
  const ir::operand difference = ir::operand(prediction, at) - ir::operand(target, at);
  return mean(difference * difference, {}, {}, at);
}

}  // namespace atled::nn
