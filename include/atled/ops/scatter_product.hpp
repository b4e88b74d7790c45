// atled/ops/scatter_product.hpp: the product of all updates that have the same index, of which
// nothing is divided. Reads: ops/sort.hpp. Next: ops/scatter.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/sort.hpp"

namespace atled::detail {

/// `x` moved on by `step` places along an axis, `filler` in front.
constexpr ir::operand moved_on(const ir::operand& x, std::int64_t step, int axis_id,
                               double filler) {
  ir::builder& b = x.builder();
  const tensor_type type = x.type();
  shape zeros{};
  shape ones{};
  for (int i = 0; i < type.rank(); ++i) {
    zeros.push(0);
    ones.push(1);
  }
  shape kept = type.dims;
  kept[axis_id] -= step;
  shape low = zeros;
  low[axis_id] = step;
  const int part = b.slice(x.id(), zeros, kept, ones);
  return {b, b.pad(part, b.constant(filler, type.element), low, zeros, type.dims)};
}

/// Which update is the last at each place of an axis, -1 where there is none.
constexpr ir::operand last_updates(const ir::operand& indices, std::int64_t places,
                                   index_mode mode) {
  ir::builder& b = indices.builder();
  const ir::operand flat = ir::flattened(indices);
  const int none = b.splat(-1, {dtype::i32, shape::of({places})});
  const int numbers = b.iota({dtype::i32, flat.type().dims}, 0);
  return {b, b.scatter_max(none, flat.id(), numbers, 0, 0, mode)};
}

/// Indices as places from 0 on; what is outside counts as one place more.
constexpr ir::operand as_places(const ir::operand& indices, std::int64_t places, index_mode mode) {
  ir::operand at = indices.as(promote(indices.type().element, dtype::i32));
  const ir::operand end(
      at.builder(),
      ir::broadcast_to(at.builder(), ir::size_beside(at, places).id(), at.type().dims));
  const ir::operand last = end - 1.0;
  if (mode == index_mode::clip) {
    return ir::select(at < 0.0, at.like(0), ir::operand::combine(op::min, at, last));
  }
  return ir::select(ir::operand::combine(op::bit_or, at<0.0, at> last), end, at);
}

/// The product of the updates at each of `places` along an axis, 1 where there is none.
///
///   updates  f32[N, C]     indices  i32[N]     out  f32[V, C]
///
/// Updates are put in the order of their indices; then those of one index are multiplied in pairs,
/// pairs of pairs and so on, as a product is along an axis. Cost: N C log N. So the derivative by
/// an update is the product of the others, whatever they are.
constexpr ir::operand products_at(const ir::operand& updates, const ir::operand& indices,
                                  std::int64_t places, int axis_id, index_mode mode) {
  ir::builder& b = updates.builder();
  const shape dims = updates.type().dims;
  const std::int64_t count = dims[axis_id];
  const std::int64_t mask = std::int64_t{1} << axis_id;
  const ir::operand unsorted = as_places(indices, places, mode);
  const ir::operand order = places_in_order(unsorted, 0, false, count);
  const ir::operand at(b, b.gather(unsorted.id(), order.id(), 0, 0, index_mode::clip));
  ir::operand out(b, b.gather(updates.id(), order.id(), axis_id, 0, index_mode::clip));
  for (std::int64_t step = 1; step < count; step *= 2) {
    const ir::operand is_same = at == moved_on(at, step, 0, -1);
    const ir::operand before = moved_on(out, step, axis_id, 1);
    const ir::operand chosen(b, b.broadcast(is_same.id(), dims, mask));
    out = out * ir::select(chosen, before, before.like(1));
  }
  const ir::operand last = last_updates(at, places, index_mode::fill);
  const ir::operand product(b, b.gather(out.id(), last.id(), axis_id, 0, index_mode::fill));
  const ir::operand is_met(b, b.broadcast((!(last < 0.0)).id(), product.type().dims, mask));
  return ir::select(is_met, product, product.like(1));
}

}  // namespace atled::detail
