// atled/ops/index.hpp: elements by index: take, scatter_add, segment_sum, one_hot.
// Reads: ops/reshape.hpp. Next: ops/scatter.hpp. An index outside its axis does what `index_mode`
// says, the same forward and backward. The default is fill: it reads 0 and adds nothing. Indices
// count from 0; a negative one is outside.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/reshape.hpp"

namespace atled {

namespace detail {

/// The result of a gather in which an index outside reads `filler` instead of 0.
constexpr ir::operand filled(const ir::operand& gathered, const ir::operand& indices,
                             std::int64_t size, int axis, int batch_dims, double filler) {
  ir::builder& b = gathered.builder();
  if (gathered.is_poison() || filler == 0) return gathered;
  const auto inside = ir::operand::combine(op::ge, indices, indices.like(0)) &
                      (indices < ir::size_beside(indices, size));
  const shape dims = gathered.type().dims;
  std::int64_t mask = (std::int64_t{1} << batch_dims) - 1;  // result axes that indices span
  for (int i = batch_dims; i < indices.type().rank(); ++i) {
    mask |= std::int64_t{1} << (axis + i - batch_dims);
  }
  const ir::operand chosen(b, b.broadcast(inside.id(), dims, mask));
  return ir::select(chosen, gathered, gathered.like(filler));
}

constexpr bool are_indices(ir::builder& b, const ir::operand& indices) {
  if (indices.is_poison()) return false;
  if (is_integer(indices.type().element)) return true;
  text why;
  b.fail(b.site.function, why << "indices " << indices.type() << ": they must be integers");
  return false;
}

}  // namespace detail

/// The elements, rows, ... of `x` along an axis at `indices`, whose axes replace that axis.
///
///   x  f32[V, C]     indices  i32[B, T]     take(x, indices, 0)  f32[B, T, C]
///
/// An index outside reads `filler`, or with `index_mode::clip` the nearest element.
/// Gradient: d_x is d_out added at the indices; repeated ones add up, those outside add nothing
/// (clip: to the nearest).
/// Ill-formed: the axis is out of range; indices are no integers.
[[nodiscard]] constexpr expr take(const expr& x, const expr& indices, int along,
                                  index_mode mode = index_mode::fill, double filler = 0,
                                  call_site at = call_site::here()) {
  const ir::operand in(x, at.in("take"));
  ir::builder& b = in.builder();
  const ir::operand where_from(b, indices.id());
  if (in.is_poison() || !detail::are_indices(b, where_from)) return {b, ir::poison};
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  if (in.type().rank() + where_from.type().rank() - 1 > max_rank) {
    text why;
    return ir::fail(b, why << in.type() << " at indices " << where_from.type()
                           << ": the result would have more than 8 axes");
  }
  const ir::operand out(b, b.gather(in.id(), where_from.id(), axis_id, 0, mode));
  if (mode == index_mode::clip) return out;
  return detail::filled(out, where_from, in.type().dims[axis_id], axis_id, 0, filler);
}
/// The elements of the flattened `x` at `indices`, whose shape is that of the result.
[[nodiscard]] constexpr expr take(const expr& x, const expr& indices,
                                  call_site at = call_site::here()) {
  at = at.in("take");
  return take(ir::flattened(ir::operand(x, at)), indices, 0, index_mode::fill, 0, at);
}

/// One element a place along an axis: out[i, j] = x[i, indices[i, j]] along the last.
///
///   x  f32[B, V]     indices  i32[B, K]     out  f32[B, K]
///
/// The other axes are shared, and those of size 1 repeat.
/// Ill-formed: the ranks differ; the other axes neither agree nor are 1; indices are no integers.
[[nodiscard]] constexpr expr take_along_axis(const expr& x, const expr& indices, int along = -1,
                                             index_mode mode = index_mode::fill, double filler = 0,
                                             call_site at = call_site::here()) {
  at = at.in("take_along_axis");
  ir::operand in(x, at);
  ir::builder& b = in.builder();
  ir::operand where_from(b, indices.id());
  if (in.is_poison() || !detail::are_indices(b, where_from)) return {b, ir::poison};
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  if (axis_id < 0) return {b, ir::poison};
  const int rank = in.type().rank();
  const auto failed = [&](std::string_view law) {
    text why;
    return ir::fail(b, why << in.type() << " at indices " << where_from.type() << ": " << law);
  };
  if (where_from.type().rank() != rank) return failed("the ranks must be equal");

  if (axis_id != rank - 1) {  // its inner axes become batch axes in front of it
    in = ir::operand(moveaxis(in, axis_id, rank - 1, at), at);
    where_from = ir::operand(moveaxis(where_from, axis_id, rank - 1, at), at);
  }
  shape lead{};
  for (int i = 0; i + 1 < rank; ++i) {
    const std::int64_t l = in.type().dims[i];
    const std::int64_t r = where_from.type().dims[i];
    if (l != r && l != 1 && r != 1) return failed("all other axes must be equal or 1");
    lead.push(l == 1 ? r : l);
  }
  const auto fit = [&](const ir::operand& y) {
    shape dims = lead;
    dims.push(y.type().dims[rank - 1]);
    return ir::operand(b, ir::broadcast_to(b, y.id(), dims));
  };
  in = fit(in);
  where_from = fit(where_from);
  ir::operand out(b, b.gather(in.id(), where_from.id(), rank - 1, rank - 1, mode));
  if (mode == index_mode::fill) {
    out = detail::filled(out, where_from, in.type().dims[rank - 1], rank - 1, rank - 1, filler);
  }
  return axis_id == rank - 1 ? expr(out) : moveaxis(out, rank - 1, axis_id, at);
}

namespace detail {

/// The operands of a scatter, updates broadcast to the shape that `take` would give; poison where
/// a sentence has been kept.
struct scatter_operands {
  ir::operand x;
  ir::operand indices;
  ir::operand updates;
  int axis_id;
};
constexpr scatter_operands begin_scatter(const expr& x, const expr& indices, const located& updates,
                                         int along, const call_site& at) {
  const ir::operand in(x, at);
  ir::builder& b = in.builder();
  const ir::operand where_to(b, indices.id());
  const ir::operand failed(b, ir::poison);
  if (in.is_poison() || !are_indices(b, where_to)) return {in, where_to, failed, -1};
  const int axis_id = ir::resolved_axis(b, in.type(), along);
  const dtype element = in.type().element;
  const ir::operand given = ir::as_operand(b, updates, element);
  if (axis_id < 0 || given.is_poison()) return {in, where_to, failed, -1};
  shape wanted = in.type().dims;
  wanted.rank = axis_id;
  for (int i = 0; i < where_to.type().rank(); ++i) {
    if (wanted.rank < max_rank) wanted.push(where_to.type().dims[i]);
  }
  for (int i = axis_id + 1; i < in.type().rank(); ++i) {
    if (wanted.rank < max_rank) wanted.push(in.type().dims[i]);
  }
  const ir::typed fits = ir::broadcast_type(given.type(), {element, wanted});
  if (!fits.ok() || !(fits.type.dims == wanted)) {
    text why;
    ir::fail(b, why << in.type() << " with updates " << given.type() << " at indices "
                    << where_to.type() << ": updates must be " << tensor_type{element, wanted});
    return {in, where_to, failed, -1};
  }
  const int fitted = ir::broadcast_to(b, b.convert(given.id(), element), wanted);
  return {in, where_to, ir::operand(b, fitted), axis_id};
}

/// The operands of a sum by segments and the type of its result; data is poison where a sentence
/// has been kept.
struct segment_operands {
  ir::operand data;
  ir::operand ids;
  tensor_type out;
};
constexpr segment_operands begin_segments(const expr& data, const expr& ids,
                                          std::int64_t num_segments, const call_site& at) {
  const ir::operand in(data, at);
  ir::builder& b = in.builder();
  const ir::operand segment(b, ids.id());
  const ir::operand failed(b, ir::poison);
  if (in.is_poison() || !are_indices(b, segment)) return {failed, segment, {}};
  tensor_type out = in.type();
  const tensor_type of = segment.type();
  if (out.rank() == 0 || of.rank() != 1 || of.dims[0] != out.dims[0]) {
    text why;
    ir::fail(b,
             why << "data " << out << " and ids " << of << ": there must be one id for each row");
    return {failed, segment, {}};
  }
  out.dims[0] = num_segments;
  return {in, segment, out};
}

}  // namespace detail

/// `x` with `updates` added along an axis at `indices`; repeated indices add up.
///
///   x  f32[V, C]     indices  i32[N]     updates  f32[N, C]     out  f32[V, C]
///
/// An index outside adds nothing, or with `index_mode::clip` to the nearest element.
/// Gradient: d_x = d_out; d_updates is d_out taken at the indices in the same mode.
/// Ill-formed: updates do not broadcast to the shape that `take` would give.
[[nodiscard]] constexpr expr scatter_add(const expr& x, const expr& indices, const located& updates,
                                         int along = 0, index_mode mode = index_mode::fill,
                                         call_site at = call_site::here()) {
  const auto s = detail::begin_scatter(x, indices, updates, along, at.in("scatter_add"));
  if (s.updates.is_poison()) return s.updates;
  ir::builder& b = s.x.builder();
  return {b, b.scatter_add(s.x.id(), s.indices.id(), s.updates.id(), s.axis_id, 0, mode)};
}

/// The sums of the rows of `data` that have the same id; ids outside 0 ... num_segments - 1 are
/// dropped.
///
///   data  f32[N, ...]     ids  i32[N]     out  f32[num_segments, ...]
///
/// Gradient: d_data is d_out taken at the ids, 0 for those dropped.
/// Ill-formed: data is a scalar; ids do not have one axis of N.
[[nodiscard]] constexpr expr segment_sum(const expr& data, const expr& ids,
                                         std::int64_t num_segments,
                                         call_site at = call_site::here()) {
  const auto s = detail::begin_segments(data, ids, num_segments, at.in("segment_sum"));
  if (s.data.is_poison()) return s.data;
  ir::builder& b = s.data.builder();
  return {b, b.scatter_add(b.splat(0, s.out), s.ids.id(), s.data.id(), 0, 0, index_mode::fill)};
}

/// 1 at the index and 0 elsewhere, along a new last axis; all 0 for an index outside.
///
///   indices  i32[...]     out  f32[..., size]
///
/// Ill-formed: indices are no integers; more than 8 axes.
[[nodiscard]] constexpr expr one_hot(const expr& indices, std::int64_t size,
                                     dtype element = dtype::f32, call_site at = call_site::here()) {
  const ir::operand in(indices, at.in("one_hot"));
  ir::builder& b = in.builder();
  if (!detail::are_indices(b, in)) return {b, ir::poison};
  tensor_type wide = in.type();
  if (wide.rank() == max_rank) {
    text why;
    return ir::fail(b, why << wide << ": the result would have more than 8 axes");
  }
  wide.dims.push(size);
  const int last = wide.rank() - 1;
  const ir::operand counted(b, b.iota(wide, last));
  return (ir::spread(in, wide.dims, std::int64_t{1} << last) == counted).as(element);
}

}  // namespace atled
