// atled/ops/scatter.hpp: elements written by index: set, added to, compared with; segments, counts.
// Reads: ops/index.hpp, whose scatter_add and segment_sum are the first of these;
// ops/scatter_product.hpp. Next: ops/indexing.hpp, at(x, ids).set(y).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/cumulative.hpp"
#include "atled/ops/index.hpp"
#include "atled/ops/scatter_product.hpp"

namespace atled {

namespace detail {

/// What happens where a value meets an element.
enum class meeting : std::uint8_t { set, add, multiply, divide, max, min };

constexpr ir::operand met(meeting how, const ir::operand& x, const ir::operand& value) {
  switch (how) {
    case meeting::set:
      return value;
    case meeting::add:
      return x + value;
    case meeting::multiply:
      return x * value;
    case meeting::divide:
      return ir::operand::combine(op::div, x, value);
    case meeting::max:
      return ir::operand::combine(op::max, x, value);
    case meeting::min:
      return ir::operand::combine(op::min, x, value);
  }
  __builtin_unreachable();
}

/// `updates` with the axes of `indices` made one.
constexpr ir::operand flat_updates(const ir::operand& updates, const ir::operand& indices,
                                   int axis_id) {
  ir::builder& b = updates.builder();
  const shape dims = updates.type().dims;
  const int rank = indices.type().rank();
  if (rank == 1) return updates;
  shape flat{};
  for (int i = 0; i < axis_id; ++i) flat.push(dims[i]);
  flat.push(indices.type().size());
  for (int i = axis_id + rank; i < dims.rank; ++i) flat.push(dims[i]);
  return {b, b.reshape(updates.id(), flat)};
}

/// `x` where each update has met the element at its index; updates are as `take` would read them.
constexpr ir::operand scattered(meeting how, const ir::operand& x, const ir::operand& indices,
                                const ir::operand& updates, int axis_id, index_mode mode) {
  ir::builder& b = x.builder();
  if (x.is_poison() || indices.is_poison() || updates.is_poison()) return {b, ir::poison};
  switch (how) {
    case meeting::add:
      return {b, b.scatter_add(x.id(), indices.id(), updates.id(), axis_id, 0, mode)};
    case meeting::multiply:
    case meeting::divide: {
      const std::int64_t places = x.type().dims[axis_id];
      if (indices.type().size() == 0) return x;
      const ir::operand flat = flat_updates(updates, indices, axis_id);
      if (is_bounded(flat.type().dims[axis_id])) {
        text why;
        return {b, b.fail(b.site.function, why << "indices " << indices.type()
                                               << ": products of them need a fixed size")};
      }
      return met(how, x, products_at(flat, ir::flattened(indices), places, axis_id, mode));
    }
    case meeting::max:
      return {b, b.scatter_max(x.id(), indices.id(), updates.id(), axis_id, 0, mode)};
    case meeting::min: {  // the order turned round: -x, and ~x of integers, which cannot overflow
      const op turn = is_floating(x.type().element) ? op::neg : op::logical_not;
      const int most = b.scatter_max(x.apply(turn).id(), indices.id(), updates.apply(turn).id(),
                                     axis_id, 0, mode);
      return ir::operand(b, most).apply(turn);
    }
    case meeting::set: {
      const shape dims = x.type().dims;
      if (indices.type().size() == 0) return x;
      const ir::operand last = last_updates(indices, dims[axis_id], mode);
      const ir::operand flat = flat_updates(updates, indices, axis_id);
      const ir::operand chosen(b, b.gather(flat.id(), last.id(), axis_id, 0, index_mode::fill));
      const ir::operand is_set(b,
                               b.broadcast((!(last < 0.0)).id(), dims, std::int64_t{1} << axis_id));
      return ir::select(is_set, chosen, x);
    }
  }
  __builtin_unreachable();
}

constexpr expr scatter_along(meeting how, const expr& x, const expr& indices,
                             const located& updates, int along, index_mode mode,
                             const call_site& at) {
  const scatter_operands s = begin_scatter(x, indices, updates, along, at);
  if (s.updates.is_poison()) return s.updates;
  return scattered(how, s.x, s.indices, s.updates, s.axis_id, mode);
}

}  // namespace detail

/// `x` with `updates` written along an axis at `indices`; of several at one place the last stays.
///
///   x  f32[V, C]     indices  i32[N]     updates  f32[N, C]     out  f32[V, C]
///
/// An index outside writes nothing, or with `index_mode::clip` to the nearest element.
/// Gradient: d_x is d_out where x was kept; d_updates is d_out where an update was.
/// Ill-formed: updates do not broadcast to the shape that `take` would give.
[[nodiscard]] constexpr expr scatter(const expr& x, const expr& indices, const located& updates,
                                     int along = 0, index_mode mode = index_mode::fill,
                                     call_site at = call_site::here()) {
  return detail::scatter_along(detail::meeting::set, x, indices, updates, along, mode,
                               at.in("scatter"));
}
/// `x` times all updates at their indices: the updates of one place are multiplied.
///
/// Cost: N C log N for N updates of C elements.
/// Gradient: to each factor the product of the others, and nothing is divided by a factor, which
/// may be 0.
/// Ill-formed: as `scatter`; N is a bounded size.
[[nodiscard]] constexpr expr scatter_multiply(const expr& x, const expr& indices,
                                              const located& updates, int along = 0,
                                              index_mode mode = index_mode::fill,
                                              call_site at = call_site::here()) {
  return detail::scatter_along(detail::meeting::multiply, x, indices, updates, along, mode,
                               at.in("scatter_multiply"));
}
/// `x` with the larger of its elements and the updates at their indices, NaN where one is.
///
/// Gradient: to the largest; equal ones share it evenly.
/// Ill-formed: as `scatter`.
[[nodiscard]] constexpr expr scatter_max(const expr& x, const expr& indices, const located& updates,
                                         int along = 0, index_mode mode = index_mode::fill,
                                         call_site at = call_site::here()) {
  return detail::scatter_along(detail::meeting::max, x, indices, updates, along, mode,
                               at.in("scatter_max"));
}
/// `x` with the smaller of its elements and the updates at their indices; else as `scatter_max`.
[[nodiscard]] constexpr expr scatter_min(const expr& x, const expr& indices, const located& updates,
                                         int along = 0, index_mode mode = index_mode::fill,
                                         call_site at = call_site::here()) {
  return detail::scatter_along(detail::meeting::min, x, indices, updates, along, mode,
                               at.in("scatter_min"));
}

namespace detail {
constexpr expr segment_extreme(meeting how, const expr& data, const expr& ids,
                               std::int64_t num_segments, const call_site& at) {
  const segment_operands s = begin_segments(data, ids, num_segments, at);
  if (s.data.is_poison()) return s.data;
  ir::builder& b = s.data.builder();
  const double neutral = lowest_of(s.out.element, how == meeting::max);
  return scattered(how, ir::operand(b, b.splat(neutral, s.out)), s.ids, s.data, 0,
                   index_mode::fill);
}
}  // namespace detail

/// The largest of the rows of `data` that have the same id, element by element; the lowest value
/// of the type (-inf) for an id that no row has.
///
/// Gradient: to the largest; equal ones share it evenly.
/// Ill-formed: as `segment_sum`.
[[nodiscard]] constexpr expr segment_max(const expr& data, const expr& ids,
                                         std::int64_t num_segments,
                                         call_site at = call_site::here()) {
  return detail::segment_extreme(detail::meeting::max, data, ids, num_segments,
                                 at.in("segment_max"));
}
/// The smallest of the rows of `data` that have the same id; else as `segment_max`.
[[nodiscard]] constexpr expr segment_min(const expr& data, const expr& ids,
                                         std::int64_t num_segments,
                                         call_site at = call_site::here()) {
  return detail::segment_extreme(detail::meeting::min, data, ids, num_segments,
                                 at.in("segment_min"));
}

/// The product of the rows of `data` that have the same id, element by element; 1 for an id that
/// no row has.
///
/// Gradient: as `scatter_multiply`. Ill-formed: as `segment_sum`; a bounded number of rows.
[[nodiscard]] constexpr expr segment_prod(const expr& data, const expr& ids,
                                          std::int64_t num_segments,
                                          call_site at = call_site::here()) {
  const detail::segment_operands s =
      detail::begin_segments(data, ids, num_segments, at.in("segment_prod"));
  if (s.data.is_poison()) return s.data;
  ir::builder& b = s.data.builder();
  return detail::scattered(detail::meeting::multiply, ir::operand(b, b.splat(1, s.out)), s.ids,
                           s.data, 0, index_mode::fill);
}

/// How often each of 0 ... length - 1 stands in `x`; or the sums of the weights that stand there.
///
///   x  i32[...]     out  i32[length], or of the type of the weights
///
/// Ill-formed: x is not integers; weights of another shape.
[[nodiscard]] constexpr expr bincount(const expr& x, std::int64_t length,
                                      const located& weights = 1,
                                      call_site at = call_site::here()) {
  at = at.in("bincount");
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  if (!detail::are_indices(b, in)) return {b, ir::poison};
  const ir::operand given = ir::as_operand(b, weights, dtype::i32);
  if (given.is_poison()) return given;
  const tensor_type wanted{given.type().element, in.type().dims};
  if (given.type().rank() > 0 && !(given.type().dims == wanted.dims)) {
    text why;
    return ir::fail(
        b, why << in.type() << " with weights " << given.type() << ": shapes must be equal");
  }
  const ir::operand spread(b, ir::broadcast_to(b, given.id(), wanted.dims));
  const int zeros = b.splat(0, {wanted.element, shape::of({length})});
  return {b, b.scatter_add(zeros, ir::flattened(in).id(), ir::flattened(spread).id(), 0, 0,
                           index_mode::fill)};
}

}  // namespace atled
