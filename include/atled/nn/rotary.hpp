// atled/nn/rotary.hpp: positions as rotations of queries and keys.
// Reads: ops/creation.hpp, ops/slice.hpp. Next: nn/attention.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/slice.hpp"

namespace atled::nn {

/// Queries or keys turned by their positions: products of both then depend on distances alone.
///
///   x  f32[B, T, H, D]     positions  i32[T] or f32[T]     out  f32[B, T, H, D]
///
/// The pair (d, d + D / 2) is turned by the angle position base^(-2 d / D). Without positions they
/// are 0 ... T - 1.
/// Ill-formed: x has not four axes; D is odd; there is not one position for each of T.
/// Source: Su et al., RoFormer, 2021, equation 34; pairs as in GPT-NeoX and LLaMA.
[[nodiscard]] constexpr expr rotary(const expr& x, const expr& positions, double base = 10'000,
                                    call_site at = call_site::here()) {
  at = at.in("rotary");
  const ir::operand in = ir::floating_operand(x, at);
  if (in.is_poison() || positions.is_poison()) return {in.builder(), ir::poison};
  const shape dims = in.type().dims;
  if (dims.rank != 4 || dims[3] % 2 != 0 || !(positions.dims() == shape::of({dims[1]}))) {
    text why;
    return ir::fail(in.builder(), why << in.type() << " at positions " << positions.type()
                                      << ": they must be [B,T,H,D] with an even D, and [T]");
  }
  const std::int64_t half = dims[3] / 2;
  const dtype element = promote(in.type().element, dtype::f32);
  // The logarithm of the base once, in the program: exp(d (-2 / D) log(base)).
  const ir::operand d(iota(x, {half}, 0, dtype::i32, at), at);
  const ir::operand fraction = d.as(element) * (-1 / static_cast<double>(half));
  const ir::operand rates = ir::operand::combine(op::pow, fraction.like(base), fraction);
  const shape column = shape::of({dims[1], 1});
  ir::builder& b = in.builder();
  const ir::operand place(b, b.reshape(ir::operand(positions, at).as(element).id(), column));
  const ir::operand angle(b, b.reshape((place * rates).id(), shape::of({dims[1], 1, half})));
  const ir::operand cosine = angle.apply(op::cos).as(in.type().element);
  const ir::operand sine = angle.apply(op::sin).as(in.type().element);
  const ir::operand first(slice_in_dim(in, 0, half, 1, 3, at), at);
  const ir::operand second(slice_in_dim(in, half, dims[3], 1, 3, at), at);
  return concatenate({expr(first * cosine - second * sine), expr(second * cosine + first * sine)},
                     3, at);
}
[[nodiscard]] constexpr expr rotary(const expr& x, double base = 10'000,
                                    call_site at = call_site::here()) {
  at = at.in("rotary");
  if (x.is_poison() || x.rank() != 4) return rotary(x, x, base, at);
  return rotary(x, arange(x, x.dim(1), dtype::i32, at), base, at);
}

}  // namespace atled::nn
