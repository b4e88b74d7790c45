// atled/ops/collective.hpp: what combines the lanes of an axis that has a name: psum, pmean, pmax,
// all_gather, ppermute ... Reads: ops/reshape.hpp. `vmap(f, axis_name<"batch">)` names an axis of
// lanes on one process, transform/shard_map.hpp those of a mesh, where each lane is a rank.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tree.hpp"
#include "atled/ops/reshape.hpp"

#include <initializer_list>
#include <utility>

namespace atled {

/// Pairs of lanes, each sends to the other: `{{0, 1}, {1, 2}}`.
using lane_pairs = std::initializer_list<std::pair<int, int>>;

namespace detail {

/// The axis of this name, or -1 after the sentence has been kept.
constexpr int found_axis(ir::builder& b, const axis_by_name& axis) {
  const int out = b.axis_named(axis.name);
  if (out >= 0) return out;
  text why = "axis ";
  why << axis.name << ": no vmap around this call names it by axis_name";
  for (int i = 0; i < b.num_open_axes(); ++i) {
    why << (i == 0 ? "; named are " : ", ") << b.g.axes[b.open_axis_at(i)].view();
  }
  b.fail(b.site.function, why);
  return -1;
}

/// Lanes are ranks, which all hold this value: nothing needs to be sent.
constexpr bool is_replicated(const ir::builder& b, int x, int named) {
  const ir::named_axis& axis = b.g.axes[named];
  return axis.is_of_ranks() && b.depth() == 0 && ((b.varies(x) >> axis.bit) & 1U) == 0;
}

/// The number of lanes as an i32: a constant, or what is known at run time only.
constexpr int size_of_axis(ir::builder& b, int named) {
  const std::int64_t size = b.g.axes[named].size;
  if (is_bounded(size)) return b.size_of(size, dtype::i32);
  if (!b.g.axes[named].is_open()) return b.integer_constant(size, dtype::i32);
  return b.append(op::axis_size, {}, ir::attribute_list::of(named), {dtype::i32, {}});
}

constexpr expr collective(op code, const ir::operand& x, const axis_by_name& axis) {
  ir::builder& b = x.builder();
  const int at = found_axis(b, axis);
  if (at < 0 || x.is_poison()) return {b, ir::poison};
  if (is_replicated(b, x.id(), at)) {
    if (code != op::psum) return {b, x.id()};
    const ir::operand times(b, b.convert(size_of_axis(b, at), x.type().element));
    return ir::operand(b, x.id()) * times;
  }
  return {b, b.append(code, {x.id()}, ir::attribute_list::of(at))};
}

/// The axis of this name, whose size must be known; -1 after the sentence has been kept.
constexpr int found_sized_axis(ir::builder& b, const axis_by_name& axis) {
  const int at = found_axis(b, axis);
  if (at < 0 || !b.g.axes[at].is_open()) return at;
  text why = "axis ";
  b.fail(b.site.function, why << axis.name
                              << " has as many ranks as the communicator: its size must be known "
                                 "when the program is built; give it one in the mesh");
  return -1;
}

/// A collective that takes an axis of the value as well, and gives a value of these sizes.
constexpr expr collective_along(op code, const ir::operand& x, int named, int first, int second,
                                const shape& dims) {
  ir::attribute_list attributes = ir::attribute_list::of(named);
  attributes.push(first);
  if (code == op::all_to_all) attributes.push(second);
  ir::builder& b = x.builder();
  return {b, b.append(code, {x.id()}, attributes, {x.type().element, dims})};
}

/// `dims` without one axis.
constexpr shape without_axis(const shape& dims, int axis) {
  shape out{};
  for (int i = 0; i < dims.rank; ++i) {
    if (i != axis) out.push(dims[i]);
  }
  return out;
}
/// `dims` with a new axis.
constexpr shape with_axis(const shape& dims, int axis, std::int64_t size) {
  shape out{};
  for (int i = 0; i <= dims.rank; ++i) {
    if (i == axis) out.push(size);
    if (i < dims.rank) out.push(dims[i]);
  }
  return out;
}

/// The axis of a value that has one place for each lane, or -1 after the sentence has been kept.
constexpr int axis_of_lanes(ir::builder& b, const tensor_type& type, int along, int named) {
  const int at = ir::resolved_axis(b, type, along);
  if (at < 0 || type.dims[at] == b.g.axes[named].size) return at;
  text why;
  why << type << ": axis " << at << " must have one place for each lane of "
      << b.g.axes[named].view() << ", " << b.g.axes[named].size;
  b.fail(b.site.function, why);
  return -1;
}

}  // namespace detail

/// The sum over all lanes of a named axis, which they share then.
///
///   vmap([](auto x) { return x / psum(x, axis<"batch">); }, axis_name<"batch">)
///
/// Of a value that lanes share already it is as many times that value, and between ranks nothing is
/// sent. Booleans are counted.
/// Gradient: d_out, to each lane.
/// Ill-formed: no axis of that name.
[[nodiscard]] constexpr expr psum(const expr& x, const axis_by_name& over,
                                  call_site at = call_site::here()) {
  const ir::operand in(x, at.in("psum"));
  const bool is_truth = !in.is_poison() && in.type().element == dtype::boolean;
  return detail::collective(op::psum, is_truth ? in.as(dtype::i32) : in, over);
}
/// The mean over all lanes; of integers as f32. All else as `psum`.
[[nodiscard]] constexpr expr pmean(const expr& x, const axis_by_name& over,
                                   call_site at = call_site::here()) {
  const ir::operand in = ir::floating_operand(x, at.in("pmean"));
  ir::builder& b = in.builder();
  const int named = detail::found_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  if (detail::is_replicated(b, in.id(), named)) return {b, in.id()};
  const expr total = detail::collective(op::psum, in, over);
  if (total.is_poison()) return total;
  const ir::operand sum(b, total.id());
  const std::int64_t lanes = b.g.axes[named].size;
  if (b.g.axes[named].is_open() || is_bounded(lanes)) {
    const int size = detail::size_of_axis(b, named);
    return sum / ir::operand(b, b.convert(size, in.type().element));
  }
  return sum / static_cast<double>(lanes);
}
/// The sum, or mean, of each leaf of a tree.
template <class Tree>
  requires is_branch_v<Tree>
[[nodiscard]] constexpr Tree psum(const Tree& tree, const axis_by_name& over,
                                  call_site at = call_site::here()) {
  return tree_map([&](const expr& x) { return psum(x, over, at); }, tree);
}
template <class Tree>
  requires is_branch_v<Tree>
[[nodiscard]] constexpr Tree pmean(const Tree& tree, const axis_by_name& over,
                                   call_site at = call_site::here()) {
  return tree_map([&](const expr& x) { return pmean(x, over, at); }, tree);
}

/// The largest of all lanes, which they share then.
///
/// Gradient: to the lane of the largest; equal ones share it evenly.
/// Ill-formed: no axis of that name.
[[nodiscard]] constexpr expr pmax(const expr& x, const axis_by_name& over,
                                  call_site at = call_site::here()) {
  return detail::collective(op::pmax, ir::operand(x, at.in("pmax")), over);
}
/// The smallest of all lanes; all else as `pmax`.
[[nodiscard]] constexpr expr pmin(const expr& x, const axis_by_name& over,
                                  call_site at = call_site::here()) {
  return detail::collective(op::pmin, ir::operand(x, at.in("pmin")), over);
}

/// The number of this lane: 0, 1 ... of the program of `x`.
[[nodiscard]] constexpr expr axis_index(const expr& x, const axis_by_name& over,
                                        call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  b.site = at.in("axis_index");
  const int named = detail::found_axis(b, over);
  if (named < 0) return {b, ir::poison};
  return {b, b.append(op::axis_index, {}, ir::attribute_list::of(named), {dtype::i32, {}})};
}
/// The number of lanes, in the program of `x`: an i32, which is a constant unless the axis is one
/// of ranks whose number is known at run time only.
[[nodiscard]] constexpr expr axis_size(const expr& x, const axis_by_name& over,
                                       call_site at = call_site::here()) {
  ir::builder& b = x.builder();
  b.site = at.in("axis_size");
  const int named = detail::found_axis(b, over);
  return {b, named < 0 ? ir::poison : detail::size_of_axis(b, named)};
}

/// The same value, which from here on counts as one that may differ between lanes: what a loop
/// begins with whose trips make it differ.
///
/// Gradient: the sum of d_out over all lanes.
[[nodiscard]] constexpr expr pvary(const expr& x, const axis_by_name& over,
                                   call_site at = call_site::here()) {
  const ir::operand in(x, at.in("pvary"));
  ir::builder& b = in.builder();
  const int named = detail::found_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  const int index = b.append(op::axis_index, {}, ir::attribute_list::of(named), {dtype::i32, {}});
  const ir::operand zero(b, b.convert(b.mul(index, b.constant(0, dtype::i32)), in.type().element));
  return in + zero;
}

/// The value of one lane, which all share then.
///
/// Gradient: to that lane, the sum of d_out.
/// Ill-formed: no axis of that name; no such lane.
[[nodiscard]] constexpr expr pbroadcast(const expr& x, const axis_by_name& over, int source = 0,
                                        call_site at = call_site::here()) {
  const ir::operand in(x, at.in("pbroadcast"));
  ir::builder& b = in.builder();
  const int named = detail::found_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  if (source < 0 || (!b.g.axes[named].is_open() && source >= b.g.axes[named].size)) {
    text why = "lane ";
    return ir::fail(b, why << source << " of " << over.name << ": it has " << b.g.axes[named].size);
  }
  const int index = b.append(op::axis_index, {}, ir::attribute_list::of(named), {dtype::i32, {}});
  const int is_source = b.binary(op::eq, index, b.constant(source, dtype::i32));
  const int value = in.type().element == dtype::boolean ? b.convert(in.id(), dtype::i32) : in.id();
  const tensor_type type = b.type(value);
  const int kept = b.select(b.broadcast(is_source, type.dims, 0), value, b.splat(0, type));
  return {b,
          b.convert(b.append(op::psum, {kept}, ir::attribute_list::of(named)), in.type().element)};
}

/// The values of all lanes side by side along a new axis, or with `tiled` one after the other along
/// one that is there. Lanes share the result.
///
///   x  f32[C] in each of B lanes     all_gather(x, axis<"batch">)  f32[B, C]     tiled  f32[B * C]
///
/// Gradient: to each lane its own place.
/// Ill-formed: no axis of that name; `along` is out of range.
[[nodiscard]] constexpr expr all_gather(const expr& x, const axis_by_name& over, int along = 0,
                                        bool tiled = false, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("all_gather"));
  ir::builder& b = in.builder();
  const int named = detail::found_sized_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  const tensor_type type = in.type();
  const std::int64_t size = b.g.axes[named].size;
  const tensor_type range =
      tiled ? type : tensor_type{type.element, detail::with_axis(type.dims, 0, size)};
  const int dim = ir::resolved_axis(b, range, along);
  if (dim < 0) return {b, ir::poison};
  const expr out = detail::collective_along(op::all_gather, in, named, dim, 0,
                                            detail::with_axis(type.dims, dim, size));
  if (!tiled) return out;
  shape joined = type.dims;
  joined[dim] *= size;
  return {b, b.reshape(out.id(), joined)};
}

/// The sum over all lanes, of which lane i keeps place i along an axis; with `tiled` part i.
///
///   x  f32[B, C] in each of B lanes     psum_scatter(x, axis<"batch">)  f32[C]
///
/// Gradient: d_out of all lanes, gathered.
/// Ill-formed: no axis of that name; the axis `along` has not one place (or part) for each lane.
[[nodiscard]] constexpr expr psum_scatter(const expr& x, const axis_by_name& over, int along = 0,
                                          bool tiled = false, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("psum_scatter"));
  ir::builder& b = in.builder();
  const int named = detail::found_sized_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  const tensor_type type = in.type();
  const std::int64_t size = b.g.axes[named].size;
  if (!tiled) {
    const int dim = detail::axis_of_lanes(b, type, along, named);
    if (dim < 0) return {b, ir::poison};
    return detail::collective_along(op::psum_scatter, in, named, dim, 0,
                                    detail::without_axis(type.dims, dim));
  }
  const int dim = ir::resolved_axis(b, type, along);
  if (dim < 0) return {b, ir::poison};
  if (size == 0 || type.dims[dim] % size != 0) {
    text why;
    return ir::fail(b, why << type << ": axis " << dim << " must be divisible by the " << size
                           << " lanes of " << over.name);
  }
  shape part = type.dims;
  part[dim] /= size;
  const ir::operand split(b, b.reshape(in.id(), detail::with_axis(part, dim, size)));
  return detail::collective_along(op::psum_scatter, split, named, dim, 0, part);
}

/// Lane i sends place j of axis `split` to lane j, which keeps it as place i of a new axis
/// `concat`.
///
///   x  f32[B, C] in each of B lanes     all_to_all(x, axis<"batch">, 0, 1)  f32[C, B]
///
/// Gradient: all_to_all again, the other way.
/// Ill-formed: no axis of that name; axis `split` has not one place for each lane.
[[nodiscard]] constexpr expr all_to_all(const expr& x, const axis_by_name& over, int split = 0,
                                        int concat = 0, call_site at = call_site::here()) {
  const ir::operand in(x, at.in("all_to_all"));
  ir::builder& b = in.builder();
  const int named = detail::found_sized_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  const int from = detail::axis_of_lanes(b, in.type(), split, named);
  const int to = ir::resolved_axis(b, in.type(), concat);
  if (from < 0 || to < 0) return {b, ir::poison};
  const shape rest = detail::without_axis(in.type().dims, from);
  return detail::collective_along(op::all_to_all, in, named, from, to,
                                  detail::with_axis(rest, to, b.g.axes[named].size));
}

/// Sends the value of one lane to another, for each pair; a lane that receives nothing has zeros.
///
///   ppermute(x, axis<"ring">, {{0, 1}, {1, 2}, {2, 0}})
///
/// Gradient: d_out, the other way.
/// Ill-formed: no axis of that name; a lane is not there, or sends or receives twice.
[[nodiscard]] constexpr expr ppermute(const expr& x, const axis_by_name& over, lane_pairs pairs,
                                      call_site at = call_site::here()) {
  const ir::operand in(x, at.in("ppermute"));
  ir::builder& b = in.builder();
  const int named = detail::found_sized_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  const std::int64_t size = b.g.axes[named].size;
  text why;
  if (size > ir::lane_sources::capacity) {
    return ir::fail(b, why << over.name << " has " << size << " lanes: at most "
                           << ir::lane_sources::capacity << " can be permuted");
  }
  ir::lane_sources sources{};
  bool sends[ir::lane_sources::capacity]{};
  while (sources.size < size) sources.of[sources.size++] = ir::no_node;
  for (const auto& [from, to] : pairs) {
    if (from < 0 || to < 0 || from >= size || to >= size || sends[from] || sources.of[to] >= 0) {
      return ir::fail(b, why << "lane " << from << " to lane " << to << " of " << size
                             << ": each lane may send once and receive once");
    }
    sends[from] = true;
    sources.of[to] = from;
  }
  return {b, b.append(op::ppermute, {in.id()}, sources.packed(named))};
}

/// Each lane receives the value of the lane `shift` before it, around the ring.
///
/// Gradient, errors: as `ppermute`.
[[nodiscard]] constexpr expr pshift(const expr& x, const axis_by_name& over, int shift = 1,
                                    call_site at = call_site::here()) {
  const ir::operand in(x, at.in("pshift"));
  ir::builder& b = in.builder();
  const int named = detail::found_axis(b, over);
  if (named < 0 || in.is_poison()) return {b, ir::poison};
  if (b.g.axes[named].is_open()) {  // around as many as there are
    ir::attribute_list attributes = ir::attribute_list::of(named);
    attributes.push(shift);
    return {b, b.append(op::ppermute, {in.id()}, attributes)};
  }
  const auto size = static_cast<int>(b.g.axes[named].size);
  if (size > ir::lane_sources::capacity) {
    text why;
    return ir::fail(b, why << over.name << " has " << size << " lanes: at most "
                           << ir::lane_sources::capacity << " can be permuted");
  }
  ir::lane_sources sources{};
  while (sources.size < size) {
    const int lane = sources.size;
    sources.of[sources.size++] = ((lane - shift) % size + size) % size;
  }
  return {b, b.append(op::ppermute, {in.id()}, sources.packed(named))};
}

}  // namespace atled
