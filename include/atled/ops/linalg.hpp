// atled/ops/linalg.hpp: products that sum: matmul, dot_general and their kin; each one op::dot.
// Reads: ops/arguments.hpp. Next: ops/einsum.hpp, ir/type_rules.hpp (the sentence on axes).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/arguments.hpp"

namespace atled {

namespace detail {

struct product {
  ir::operand lhs;
  ir::operand rhs;

  [[nodiscard]] constexpr ir::builder& builder() const { return lhs.builder(); }
  [[nodiscard]] constexpr bool is_poison() const { return lhs.is_poison() || rhs.is_poison(); }
  [[nodiscard]] constexpr int left_rank() const { return lhs.type().rank(); }
  [[nodiscard]] constexpr int right_rank() const { return rhs.type().rank(); }
  [[nodiscard]] constexpr text given() const {
    text out;
    return out << "lhs " << lhs.type() << " and rhs " << rhs.type() << ": ";
  }
  [[nodiscard]] constexpr expr failed(const text& why) const {
    return ir::fail(builder(), given() << why);
  }
  [[nodiscard]] constexpr expr dot(const ir::dot_axes& pairs) const {
    return {builder(), builder().dot(lhs.id(), rhs.id(), pairs)};
  }
};

/// The operands of a product, promoted to one element type; a scalar is poison with a sentence.
constexpr product begin_product(const expr& lhs, const expr& rhs, const call_site& at) {
  const ir::operand x(lhs, at);
  const ir::operand y(x.builder(), rhs.id());
  const product raw{x, y};
  ir::builder& b = x.builder();
  const product poison{{b, ir::poison}, {b, ir::poison}};
  if (raw.is_poison()) return poison;
  if (raw.left_rank() == 0 || raw.right_rank() == 0) {
    static_cast<void>(raw.failed("an operand must have an axis; multiply by a scalar with *"));
    return poison;
  }
  const dtype element = promote(x.type().element, y.type().element);
  if (element == dtype::boolean) {
    static_cast<void>(raw.failed("it takes numbers, not booleans; convert them first"));
    return poison;
  }
  return {x.as(element), y.as(element)};
}

/// Batch axes broadcast together, [..., M, K] and [..., K, N], both with a batch axis at least.
constexpr expr batched_matmul(const product& p) {
  const shape left = p.lhs.type().dims;
  const shape right = p.rhs.type().dims;
  const int left_batch = left.rank - 2;
  const int right_batch = right.rank - 2;
  const int rank = left_batch > right_batch ? left_batch : right_batch;
  shape batch{};
  for (int i = 0; i < rank; ++i) {
    const int l = i - (rank - left_batch);
    const int r = i - (rank - right_batch);
    const std::int64_t l_size = l >= 0 ? left[l] : 1;
    const std::int64_t r_size = r >= 0 ? right[r] : 1;
    if (l_size != r_size && l_size != 1 && r_size != 1) {
      text why;
      return p.failed(why << "lhs batch axis " << l << " (" << l_size << ") and rhs batch axis "
                          << r << " (" << r_size << ") must be equal or 1");
    }
    batch.push(l_size == 1 ? r_size : l_size);
  }
  const auto fit = [&](const ir::operand& x, std::int64_t rows, std::int64_t columns) {
    shape dims = batch;
    dims.push(rows);
    dims.push(columns);
    return ir::operand(x.builder(), ir::broadcast_to(x.builder(), x.id(), dims));
  };
  ir::dot_axes pairs{};
  for (int i = 0; i < rank; ++i) pairs.batch(i, i);
  pairs.contract(rank + 1, rank);
  const product fitted{fit(p.lhs, left[left_batch], left[left_batch + 1]),
                       fit(p.rhs, right[right_batch], right[right_batch + 1])};
  return fitted.dot(pairs);
}

}  // namespace detail

/// Contracts the last axis of `lhs` with the second to last axis of `rhs`; leading axes broadcast.
///
///   lhs  f32[..., M, K]     rhs  f32[..., K, N]     out  f32[..., M, N]
///
/// A vector is a row on the left, a column on the right, and that axis is dropped. If rhs is a
/// matrix, all leading axes of lhs are rows: x[B, T, C] by w[C, N] is one product of B*T rows.
/// Cost: 2*M*K*N flops for each batch item; one `op::dot`, which takes its epilogue with it.
/// Gradient: d_lhs = d_out * rhs^T, d_rhs = lhs^T * d_out.
/// Sharding: K sharded alike on both sides gives a partial sum, then one all_reduce.
/// Ill-formed: the K axes differ; batch axes do not broadcast; an operand is a scalar.
[[nodiscard]] constexpr expr matmul(const expr& lhs, const expr& rhs,
                                    call_site at = call_site::here()) {
  const detail::product p = detail::begin_product(lhs, rhs, at.in("matmul"));
  if (p.is_poison()) return p.lhs;
  const int left = p.left_rank() - 1;
  const int right = p.right_rank() == 1 ? 0 : p.right_rank() - 2;
  const std::int64_t left_size = p.lhs.type().dims[left];
  if (p.left_rank() > 1 && p.right_rank() > 2 && left_size == p.rhs.type().dims[right]) {
    return detail::batched_matmul(p);
  }
  ir::dot_axes pairs{};
  pairs.contract(left, right);
  return p.dot(pairs);  // also where the sizes differ: the type rule says so
}

/// The scalar product of vectors, the product of matrices: contracts the last axis of `lhs` with
/// the second to last of `rhs` (its only one, if it is a vector); other axes stand side by side.
///
/// Ill-formed: the sizes of the two axes differ.
[[nodiscard]] constexpr expr dot(const expr& lhs, const expr& rhs,
                                 call_site at = call_site::here()) {
  const detail::product p = detail::begin_product(lhs, rhs, at.in("dot"));
  if (p.is_poison()) return p.lhs;
  ir::dot_axes pairs{};
  pairs.contract(p.left_rank() - 1, p.right_rank() == 1 ? 0 : p.right_rank() - 2);
  return p.dot(pairs);
}

/// Contracts the last axes of both: out[i, j] = sum_k lhs[i, k] rhs[j, k].
///
/// Ill-formed: the sizes of the two axes differ.
[[nodiscard]] constexpr expr inner(const expr& lhs, const expr& rhs,
                                   call_site at = call_site::here()) {
  const detail::product p = detail::begin_product(lhs, rhs, at.in("inner"));
  if (p.is_poison()) return p.lhs;
  ir::dot_axes pairs{};
  pairs.contract(p.left_rank() - 1, p.right_rank() - 1);
  return p.dot(pairs);
}

/// All products of two elements: out[i, j] = lhs[i] rhs[j], both flattened.
[[nodiscard]] constexpr expr outer(const expr& lhs, const expr& rhs,
                                   call_site at = call_site::here()) {
  const ir::operand x = ir::flattened(ir::operand(lhs, at.in("outer")));
  ir::builder& b = x.builder();
  const ir::operand y = ir::flattened(ir::operand(b, rhs.id()));
  if (x.is_poison() || y.is_poison()) return {b, ir::poison};
  const shape dims = shape::of({x.type().dims[0], y.type().dims[0]});
  return ir::spread(x, dims, 2) * ir::spread(y, dims, 1);
}

/// Contracts and batches the named axes in pairs; the batch axes lead the result, then the other
/// axes of `lhs` and of `rhs` follow in their order.
///
///   dot_general(q, k, 3, 3, {0, 2}, {0, 2})     q, k  f32[B, T, H, D]     out  f32[B, H, T, T]
///
/// Ill-formed: the lists differ in length; paired axes differ in size; an axis is given twice.
[[nodiscard]] constexpr expr dot_general(const expr& lhs, const expr& rhs, const axes& lhs_contract,
                                         const axes& rhs_contract, const axes& lhs_batch = {},
                                         const axes& rhs_batch = {},
                                         call_site at = call_site::here()) {
  const detail::product p = detail::begin_product(lhs, rhs, at.in("dot_general"));
  if (p.is_poison()) return p.lhs;
  ir::builder& b = p.builder();
  text why;
  if (lhs_contract.size != rhs_contract.size || lhs_batch.size != rhs_batch.size) {
    return p.failed(why << lhs_contract.size << " and " << rhs_contract.size << " contracted, "
                        << lhs_batch.size << " and " << rhs_batch.size
                        << " batch axes: they must pair up");
  }
  axes left = axes{std::initializer_list<int>{}};
  axes right = left;
  ir::dot_axes pairs{};
  const auto resolve = [&](const ir::operand& x, int number, axes& seen) {
    const int found = ir::resolved_axis(b, x.type(), number);
    if (found >= 0) seen.push(found);
    return found;
  };
  for (int i = 0; i < lhs_batch.size + lhs_contract.size; ++i) {
    const bool is_batch = i < lhs_batch.size;
    const int j = is_batch ? i : i - lhs_batch.size;
    const int l = resolve(p.lhs, is_batch ? lhs_batch.list[j] : lhs_contract.list[j], left);
    const int r = resolve(p.rhs, is_batch ? rhs_batch.list[j] : rhs_contract.list[j], right);
    if (l < 0 || r < 0) return {b, ir::poison};
    if (is_batch) {
      pairs.batch(l, r);
    } else {
      pairs.contract(l, r);
    }
  }
  if (ir::resolved_axes(b, p.lhs.type(), left) < 0) return {b, ir::poison};
  if (ir::resolved_axes(b, p.rhs.type(), right) < 0) return {b, ir::poison};
  return p.dot(pairs);
}

/// Contracts the named axes of both operands in pairs, without batch axes.
///
/// Ill-formed: the lists differ in length; paired axes differ in size.
[[nodiscard]] constexpr expr tensordot(const expr& lhs, const expr& rhs, const axes& lhs_axes,
                                       const axes& rhs_axes, call_site at = call_site::here()) {
  const axes no_axes = axes{std::initializer_list<int>{}};
  return dot_general(lhs, rhs, lhs_axes, rhs_axes, no_axes, no_axes, at.in("tensordot"));
}

/// Contracts the last `count` axes of `lhs` with the first `count` axes of `rhs`.
///
/// Ill-formed: an operand has fewer axes; paired axes differ in size.
template <std::same_as<int> Count = int>
[[nodiscard]] constexpr expr tensordot(const expr& lhs, const expr& rhs, Count count = 2,
                                       call_site at = call_site::here()) {
  axes left = axes{std::initializer_list<int>{}};
  axes right = left;
  for (int i = 0; i < count; ++i) {
    left.push(i - count);
    right.push(i);
  }
  return tensordot(lhs, rhs, left, right, at.in("tensordot"));
}

/// The sum of the products of all elements of two tensors of one size, flattened.
///
/// Ill-formed: the numbers of elements differ.
[[nodiscard]] constexpr expr vdot(const expr& lhs, const expr& rhs,
                                  call_site at = call_site::here()) {
  at = at.in("vdot");
  const ir::operand x = ir::flattened(ir::operand(lhs, at));
  const ir::operand y = ir::flattened(ir::operand(x.builder(), rhs.id()));
  return dot(x, y, at);
}

}  // namespace atled
