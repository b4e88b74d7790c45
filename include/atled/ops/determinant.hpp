// atled/ops/determinant.hpp: the determinant, whose derivatives are right where it is 0 as well.
// Reads: ops/solve.hpp, ir/custom_rule.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/custom_rule.hpp"
#include "atled/ops/solve.hpp"

namespace atled::linalg {

namespace detail {

constexpr ir::operand determinant_by_lu(const ir::operand& a, const call_site& at) {
  const lu_parts lu = lu_of(a);
  return over_last(op::reduce_prod, pivots_of(lu, at)) * parity_of(lu, a.type().element);
}

/// The cofactors of matrices of 3 rows: the derivative of `small_det`.
constexpr ir::operand small_cofactors(const ir::operand& a, const call_site& at) {
  const auto row = [&](std::int64_t i) { return block_of(a, i, 1, 0, 3); };
  const auto turned = [&](const ir::operand& x, int by) {
    return ir::operand(roll(x, by, -1, at), at);
  };
  const auto crossed = [&](std::int64_t i, std::int64_t j) {
    return turned(row(i), -1) * turned(row(j), -2) - turned(row(i), -2) * turned(row(j), -1);
  };
  return {concatenate({crossed(1, 2), crossed(2, 0), crossed(0, 1)}, -2, at), at};
}

/// The derivative of a determinant.
///
/// With orthogonal U and V, B = U^T A V is near the singular values, largest first. Its first N - 3
/// rows and columns make the block C, and det B = det C det S, S = B22 - B21 C^-1 B12. Of 3 x 3,
/// det S is a polynomial: nothing is divided by what may be 0. Where C is singular too, the
/// derivatives up to the third are 0.
class determinant_rule final : public ir::custom_rule {
 public:
  constexpr determinant_rule() = default;
  constexpr ~determinant_rule() override {}  // NOLINT: g++ 12 finds no defaulted one in time

  constexpr void differentiate(ir::builder& b, const int* inputs, const int* tangents,
                               int* out) const override {
    out[0] = ir::no_node;
    if (tangents[0] == ir::no_node) return;
    const call_site at = b.site;
    const expr given(b, inputs[0]);
    const ir::operand a(given, at);
    const ir::operand d_a(expr(b, tangents[0]), at);
    const std::int64_t size = rows_of(a);
    const std::int64_t r = size - 3;
    const auto turned = [&](const ir::operand& x) {
      return ir::operand(matrix_transpose(x, at), at);
    };
    const ir::operand kept = a.apply(op::stop_gradient);
    const svd_parts parts = svd_of(kept, at);
    const auto stopped = [](const ir::operand& x) { return x.apply(op::stop_gradient); };
    const ir::operand u = stopped(parts.u);
    const ir::operand v = stopped(parts.v);
    const ir::operand s = stopped(parts.s);
    const auto in_basis = [&](const ir::operand& x) {
      return product(product(turned(u), x, at), v, at);
    };
    const ir::operand sign =
        stopped(determinant_by_lu(u, at) * determinant_by_lu(v, at)).apply(op::sign);
    const ir::operand x = in_basis(a);
    const ir::operand dx = in_basis(d_a);

    const ir::operand large = significant(s, default_cut(a));
    const ir::operand is_known =
        over_last(op::reduce_min,
                  ir::operand(slice_in_dim(large.as(dtype::i32), 0, r, 1, -1, at), at)) == 1.0;
    const std::int64_t lead = (std::int64_t{1} << (a.type().rank() - 2)) - 1;
    const auto where_known = [&](const ir::operand& yes, const ir::operand& no) {
      const ir::operand all(b, b.broadcast(is_known.id(), yes.type().dims, lead));
      return ir::select(all, yes, no);
    };
    const ir::operand c = block_of(x, 0, r, 0, r);
    const ir::operand safe = where_known(c, identity_like(c, at));
    const lu_parts lu = lu_of(safe);
    const ir::operand right = lu_solved(lu, block_of(x, 0, r, r, 3));        // C^-1 B12
    const ir::operand inverse = lu_solved(lu, identity_like(c, at));         // C^-1
    const ir::operand left = product(block_of(x, r, 3, 0, r), inverse, at);  // B21 C^-1
    const ir::operand rest = block_of(x, r, 3, r, 3) - product(block_of(x, r, 3, 0, r), right, at);
    const ir::operand d_c = block_of(dx, 0, r, 0, r);
    const ir::operand d_rest =
        block_of(dx, r, 3, r, 3) - product(block_of(dx, r, 3, 0, r), right, at) -
        product(left, block_of(dx, 0, r, r, 3), at) + product(left, product(d_c, right, at), at);
    const ir::operand det_c =
        over_last(op::reduce_prod, pivots_of(lu, at)) * parity_of(lu, a.type().element);
    const ir::operand by_rest = over_last(op::reduce_sum, small_cofactors(rest, at) * d_rest, 2);
    const ir::operand by_c = over_last(op::reduce_sum, turned(inverse) * d_c, 2);
    const ir::operand whole = sign * det_c * (by_rest + small_det(rest) * by_c);
    out[0] = where_known(whole, whole.like(0)).id();
  }
  [[nodiscard]] constexpr const char* name() const override { return "det"; }
};

}  // namespace detail

/// The determinant. Up to 3 x 3 by its definition; of larger matrices by LU, and its derivatives by
/// the singular values, so that they are right where it is 0, or nearly.
///
///   a  f32[..., N, N]     out  f32[...]
///
/// Gradient: the cofactors, d_out adj(a)^T. Where four singular values or more are 0, the fourth
/// derivative and those after it are taken as 0.
/// Ill-formed: a is no square matrix.
[[nodiscard]] constexpr expr det(const expr& a, call_site at = call_site::here()) {
  at = at.in("det");
  const ir::operand in = detail::begin_matrix(a, at, true);
  if (in.is_poison()) return in;
  const std::int64_t size = detail::rows_of(in);
  if (size >= 1 && size <= 3) return detail::small_det(in);
  const ir::operand value = detail::determinant_by_lu(in.apply(op::stop_gradient), at);
  if (size == 0 || value.is_poison()) return value;
  ir::builder& b = in.builder();
  auto* rule = new detail::determinant_rule();
  rule->num_outputs = 1;
  ir::attribute_list attributes = ir::attribute_list::of(b.keep_rule(rule));
  attributes.push(0);
  b.site = at;
  return {b, b.append(op::custom, {value.id(), in.id()}, attributes)};
}

}  // namespace atled::linalg
