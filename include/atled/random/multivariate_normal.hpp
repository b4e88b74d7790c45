// atled/random/multivariate_normal.hpp: normal vectors with a covariance.
// Reads: random/distributions.hpp, ops/decompositions.hpp; part of atled/linalg.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/decompositions.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/random/distributions.hpp"

namespace atled::random {

/// Normal vectors with a mean and a covariance: mean + L z, L L^T = covariance.
///
///   mean  f32[N]     covariance  f32[N, N]     dims  [B]     out  f32[B, N]
///
/// Same numbers as jax.random by its default method, cholesky.
/// Gradient: to both.
/// Ill-formed: the key is not u32[2]; the sizes differ.
[[nodiscard]] constexpr expr multivariate_normal(const expr& key, const expr& mean,
                                                 const expr& covariance, const sizes& dims,
                                                 call_site at = call_site::here()) {
  at = at.in("multivariate_normal");
  const ir::operand center = ir::floating_operand(mean, at);
  const ir::operand in = ir::floating_operand(covariance, at);
  ir::builder& b = center.builder();
  if (center.is_poison() || in.is_poison()) return {b, ir::poison};
  if (center.type().rank() != 1 ||
      !(in.type().dims == shape::of({center.type().dims[0], center.type().dims[0]}))) {
    text why;
    return ir::fail(b, why << "mean " << center.type() << " and covariance " << in.type()
                           << ": they must be [N] and [N,N]");
  }
  shape all = dims.dims;
  all.push(center.type().dims[0]);
  const dtype element = promote(center.type().element, in.type().element);
  const expr drawn = normal(key, all, element, at);
  const expr factor = linalg::cholesky(in.as(element), at);
  return center + ir::operand(inner(drawn, factor, at), at);
}

}  // namespace atled::random
