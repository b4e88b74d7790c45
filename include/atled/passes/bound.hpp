// atled/passes/bound.hpp: sizes known at the call become their bounds, and what lies beyond a size
// is kept out of results. Reads: passes/rewrite.hpp. Runs first, after all transformations.
//
// Before this pass a bounded axis is one of a size that nobody knows, and a graph with such axes
// means what it says for each size: so derivatives and lanes need no rule of their own. Here every
// axis takes its bound, the sizes become parameters of the program (i32, behind the user's), and an
// op that combines elements along such an axis gets, beyond the size, what changes nothing:
//
//   reduce, reverse_cumsum, dot    the neutral element; a sum of equal numbers is a product
//   argsort                        what comes last
//   gather, scatter                the index of an element beyond the size becomes one outside of
//                                  the bound (fill), or of the last element (clip); updates beyond
//                                  it change nothing
//   windows at computed places     the start is clamped by the size
//   reverse                        a gather
//   x - max(x)                     the x that was masked for the maximum, so that a softmax is the
//                                  one kernel that it is for fixed sizes
//   loop                           as many trips as the size
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"
#include "atled/passes/rewrite.hpp"

#include <limits>

namespace atled::passes {

/// The distinct bounded sizes of a program's parameters, in the order of their first appearance.
struct size_list {
  static constexpr int capacity = 64;
  std::int64_t values[capacity];
  int size;

  [[nodiscard]] constexpr int find(std::int64_t wanted) const {
    int at = 0;
    while (at < size && values[at] != wanted) ++at;
    return at;
  }
  [[nodiscard]] static constexpr size_list of(const ir::graph& g) {
    size_list out{};
    for (int i = 0; i < g.num_parameters; ++i) {
      const shape& dims = g.type(g.parameters[i]).dims;
      for (int axis = 0; axis < dims.rank; ++axis) {
        if (!is_bounded(dims[axis]) || out.find(dims[axis]) < out.size) continue;
        if (out.size < capacity) out.values[out.size++] = dims[axis];
      }
    }
    return out;
  }
};

namespace detail {

/// The smallest value of a type, beside which every other wins; or the largest.
constexpr std::int64_t integer_limit(dtype element, bool smallest) {
  switch (element) {
    case dtype::i32:
      return smallest ? std::numeric_limits<std::int32_t>::min()
                      : std::numeric_limits<std::int32_t>::max();
    case dtype::i64:
      return smallest ? std::numeric_limits<std::int64_t>::min()
                      : std::numeric_limits<std::int64_t>::max();
    case dtype::u8:
      return smallest ? 0 : std::numeric_limits<std::uint8_t>::max();
    case dtype::u32:
      return smallest ? 0 : std::numeric_limits<std::uint32_t>::max();
    default:
      return smallest ? 0 : 1;  // a boolean
  }
}

class bounder {
 public:
  constexpr explicit bounder(const ir::graph& from) : from_(from), sizes_(size_list::of(from)) {}

  constexpr int operator()(ir::builder& b, const moving_node& n) {
    add_parameters(b);
    if (!has_known_sizes(b, n.type.dims)) return ir::poison;
    moving_node plain = n;
    plain.type = n.type.bounds();
    switch (n.code) {
      case op::reduce_sum:
        return reduce_sum(b, plain);
      case op::reduce_prod:
        return masked_op(b, plain, 0, n.attributes.values[0], filler::one);
      case op::reduce_max:
        return reduce_max(b, plain);
      case op::reduce_logsumexp:
        if (lowest_[n[0] < 0 ? 0 : n[0]] == n.attributes.values[0]) return keep(b, plain);
        return masked_op(b, plain, 0, n.attributes.values[0], filler::smallest);
      case op::sub:
        return sub(b, plain);
      case op::argmax:
        return masked_op(b, plain, 0, n.attributes.values[0], filler::smallest);
      case op::reduce_min:
      case op::argmin:
        return masked_op(b, plain, 0, n.attributes.values[0], filler::largest);
      case op::reverse_cumsum:
        return masked_op(b, plain, 0, axis_mask(n), filler::zero);
      case op::cumprod:
        return masked_op(b, plain, 0, reversed_axis(n), filler::one);
      case op::cummax:
      case op::cumlogsumexp:
        return masked_op(b, plain, 0, reversed_axis(n), filler::smallest);
      case op::cummin:
        return masked_op(b, plain, 0, reversed_axis(n), filler::largest);
      case op::argsort:
        plain.attributes.values[2] = bound_of(n.attributes.values[2]);
        return masked_op(b, plain, 0, axis_mask(n),
                         n.attributes.values[1] != 0 ? filler::smallest : filler::last);
      case op::dot:
        return dot(b, plain);
      case op::gather:
        plain.operands[1] = index_inside(b, n);
        return keep(b, plain);
      case op::scatter_add:
      case op::scatter_max:
        plain.operands[1] = index_inside(b, n);
        return masked_op(b, plain, 2, updated_axes(n),
                         n.code == op::scatter_add ? filler::zero : filler::smallest);
      case op::dynamic_slice:
      case op::dynamic_update_slice:
        return window(b, plain);
      case op::reverse:
        return reverse(b, plain);
      case op::loop:
        return loop(b, plain);

      case op::parameter:  // elements stay what they are, wherever they go
      case op::variable:
      case op::constant:
      case op::iota:
      case op::neg:
      case op::exp:
      case op::expm1:
      case op::log:
      case op::log1p:
      case op::tanh:
      case op::logistic:
      case op::sin:
      case op::cos:
      case op::sqrt:
      case op::rsqrt:
      case op::erf:
      case op::erfc:
      case op::erf_inv:
      case op::sinh:
      case op::cosh:
      case op::cbrt:
      case op::lgamma:
      case op::polygamma:
      case op::abs:
      case op::sign:
      case op::floor:
      case op::ceil:
      case op::round:
      case op::is_finite:
      case op::logical_not:
      case op::convert:
      case op::stop_gradient:
      case op::checkpoint_name:
      case op::add:
      case op::mul:
      case op::strong_mul:
      case op::div:
      case op::rem:
      case op::pow:
      case op::max:
      case op::min:
      case op::atan2:
      case op::bit_and:
      case op::bit_or:
      case op::bit_xor:
      case op::shift_left:
      case op::shift_right:
      case op::eq:
      case op::ne:
      case op::lt:
      case op::le:
      case op::gt:
      case op::ge:
      case op::select:
      case op::threefry:
      case op::broadcast:
      case op::reshape:
      case op::transpose:
      case op::slice:
      case op::pad:
      case op::concatenate:
      case op::cumsum:
      case op::cholesky:  // of fixed rows and columns, as the type rules want them
      case op::triangular_solve:
      case op::lu:
      case op::qr:
      case op::eigh:
      case op::svd:
      case op::custom:
      case op::custom_linear:
      case op::custom_part:
      case op::external:
      case op::external_result:
      case op::barrier:
      case op::sharding_constraint:
      case op::extent:
      case op::psum:
      case op::pmax:
      case op::pmin:
      case op::all_gather:
      case op::psum_scatter:
      case op::all_to_all:
      case op::ppermute:
      case op::axis_index:
      case op::axis_size:
      case op::carry:
      case op::item:
      case op::enter:
      case op::cond:
      case op::result_of:
        return keep(b, plain);
    }
    __builtin_unreachable();
  }

  /// What a parameter of this type becomes.
  [[nodiscard]] static constexpr tensor_type parameter_type(const tensor_type& type) {
    return type.bounds();
  }
  /// The sizes as parameters, behind those of the user.
  constexpr void add_parameters(ir::builder& b) {
    if (has_parameters_) return;
    has_parameters_ = true;
    for (int i = 0; i < sizes_.size; ++i) parameters_[i] = b.parameter({dtype::i32, {}});
  }
  [[nodiscard]] constexpr const size_list& sizes() const { return sizes_; }

 private:
  enum class filler : std::uint8_t { zero, one, smallest, largest, last };

  const ir::graph& from_;
  size_list sizes_;
  int masked_of_[ir::graph::max_nodes]{};        // + 1: what a maximum was taken of
  std::int64_t lowest_[ir::graph::max_nodes]{};  // axes beyond whose sizes it is -inf
  bool has_parameters_ = false;
  int parameters_[size_list::capacity]{};

  /// The shape that operand `i` had, with bounded sizes in it.
  [[nodiscard]] constexpr const shape& dims_of(const moving_node& n, int i) const {
    return from_.type(from_.operand(n.id, i)).dims;
  }
  static constexpr std::int64_t axis_mask(const moving_node& n) {
    return std::int64_t{1} << n.attributes.values[0];
  }
  static constexpr std::int64_t reversed_axis(const moving_node& n) {
    return n.attributes.values[1] != 0 ? axis_mask(n) : 0;
  }

  /// Sizes come from parameters; what is computed from one is none.
  constexpr bool has_known_sizes(ir::builder& b, const shape& dims) const {
    for (int i = 0; i < dims.rank; ++i) {
      if (!is_bounded(dims[i]) || sizes_.find(dims[i]) < sizes_.size) continue;
      text why;
      b.fail("jit", why << dims << ": no argument has the size " << size_text{dims[i]}
                        << " of axis " << i);
      return false;
    }
    return true;
  }

  /// A size as a scalar.
  constexpr int size_of(ir::builder& b, std::int64_t size, dtype element) const {
    if (!is_bounded(size)) return b.integer_constant(size, element);
    return b.convert(parameters_[sizes_.find(size)], element);
  }

  /// Which elements of a shape lie inside the sizes of some of its axes; no node for all.
  constexpr int inside(ir::builder& b, const shape& dims, std::int64_t axes) const {
    int out = ir::no_node;
    axes &= dims.bounded_axes();
    for (int i = 0; i < dims.rank; ++i) {
      if (!ir::has_axis(axes, i)) continue;
      const tensor_type row{dtype::i32, shape::of({bound_of(dims[i])})};
      const int size = b.broadcast(size_of(b, dims[i], dtype::i32), row.dims, 0);
      const int here =
          b.broadcast(b.binary(op::lt, b.iota(row, 0), size), dims.bounds(), std::int64_t{1} << i);
      out = out == ir::no_node ? here : b.binary(op::bit_and, out, here);
    }
    return out;
  }

  static constexpr int filled(ir::builder& b, filler with, const tensor_type& type) {
    const bool floats = is_floating(type.element);
    const double infinity = std::numeric_limits<double>::infinity();
    const auto splat = [&](int scalar) { return b.broadcast(scalar, type.dims, 0); };
    switch (with) {
      case filler::zero:
        return b.splat(0, type);
      case filler::one:
        return b.splat(1, type);
      case filler::smallest:
        return floats ? b.splat(-infinity, type)
                      : splat(b.integer_constant(integer_limit(type.element, true), type.element));
      case filler::largest:
        return floats ? b.splat(infinity, type)
                      : splat(b.integer_constant(integer_limit(type.element, false), type.element));
      case filler::last:  // a NaN stands behind all, and equal elements keep their order
        return floats ? b.splat(std::numeric_limits<double>::quiet_NaN(), type)
                      : splat(b.integer_constant(integer_limit(type.element, false), type.element));
    }
    __builtin_unreachable();
  }

  /// `x`, of the shape `dims`, with another value beyond the sizes of some axes.
  constexpr int masked(ir::builder& b, int x, const shape& dims, std::int64_t axes,
                       filler with) const {
    const int where = inside(b, dims, axes);
    if (where == ir::no_node || x < 0) return x;
    return b.select(where, x, filled(b, with, b.type(x)));
  }
  constexpr int masked_op(ir::builder& b, const moving_node& n, int operand, std::int64_t axes,
                          filler with) const {
    moving_node out = n;
    out.operands[operand] = masked(b, n[operand], dims_of(n, operand), axes, with);
    return keep(b, out);
  }

  constexpr int reduce_max(ir::builder& b, const moving_node& n) {
    const std::int64_t axes = n.attributes.values[0];
    const int x = masked(b, n[0], dims_of(n, 0), axes, filler::smallest);
    if (x < 0) return ir::poison;
    if (x != n[0] && is_floating(b.type(x).element)) {
      masked_of_[n[0]] = x + 1;
      lowest_[x] = axes;
    }
    return b.reduce(op::reduce_max, x, axes);
  }
  /// What lies beyond the sizes may be anything, -inf too.
  constexpr int sub(ir::builder& b, const moving_node& n) {
    if (n[0] < 0 || n[1] < 0 || masked_of_[n[0]] == 0) return keep(b, n);
    const int x = masked_of_[n[0]] - 1;
    const int out = b.sub(x, n[1]);
    if (is_finite_along(b.g, n[1], lowest_[x])) lowest_[out] = lowest_[x];
    return out;
  }
  /// The same finite number along these axes, as softmax writes its shift.
  static constexpr bool is_finite_along(const ir::graph& g, int id, std::int64_t axes) {
    if (g[id].code != op::broadcast || (g.attribute(id) & axes) != 0) return false;
    const int chosen = g.operand(id, 0);
    return g[chosen].code == op::select && g[g.operand(chosen, 0)].code == op::is_finite &&
           g.operand(g.operand(chosen, 0), 0) == g.operand(chosen, 1);
  }

  /// A sum of equal numbers is one of them times their count: so a mean divides by the size.
  constexpr int reduce_sum(ir::builder& b, const moving_node& n) const {
    const shape& dims = dims_of(n, 0);
    const std::int64_t axes = n.attributes.values[0];
    const splat_value all = splat_of(b.g, n[0]);
    if (!all.known || (dims.bounded_axes() & axes) == 0) {
      return masked_op(b, n, 0, axes, filler::zero);
    }
    int out = b.constant(all.value, n.type.element);
    for (int i = 0; i < dims.rank; ++i) {
      if (ir::has_axis(axes, i)) out = b.mul(out, size_of(b, dims[i], n.type.element));
    }
    return b.broadcast(out, n.type.dims, 0);
  }

  constexpr int dot(ir::builder& b, const moving_node& n) const {
    const auto axes = ir::dot_axes::unpacked(n.attributes);
    std::int64_t left = 0;
    std::int64_t right = 0;
    for (int i = 0; i < axes.num_contract; ++i) {
      left |= std::int64_t{1} << axes.lhs_contract[i];
      right |= std::int64_t{1} << axes.rhs_contract[i];
    }
    return b.dot(masked(b, n[0], dims_of(n, 0), left, filler::zero),
                 masked(b, n[1], dims_of(n, 1), right, filler::zero), axes);
  }

  /// The indices of a gather or scatter, none of which names an element beyond the size.
  constexpr int index_inside(ir::builder& b, const moving_node& n) const {
    const std::int64_t size = dims_of(n, 0)[static_cast<int>(n.attributes.values[0])];
    if (!is_bounded(size) || n[1] < 0) return n[1];
    const int indices = b.type(n[1]).element == dtype::u8 ? b.convert(n[1], dtype::i32) : n[1];
    const tensor_type type = b.type(indices);
    const int limit = b.broadcast(size_of(b, size, type.element), type.dims, 0);
    if (n.attributes.values[2] == static_cast<std::int64_t>(index_mode::clip)) {
      const int one = b.broadcast(b.integer_constant(1, type.element), type.dims, 0);
      return b.binary(op::min, indices, b.sub(limit, one));
    }
    const int outside = b.integer_constant(bound_of(size), type.element);
    return b.select(b.binary(op::lt, indices, limit), indices, b.broadcast(outside, type.dims, 0));
  }
  /// The axes of the updates of a scatter that count its indices.
  [[nodiscard]] constexpr std::int64_t updated_axes(const moving_node& n) const {
    const auto axis = static_cast<int>(n.attributes.values[0]);
    const auto batch_dims = static_cast<int>(n.attributes.values[1]);
    std::int64_t out = 0;
    for (int i = batch_dims; i < dims_of(n, 1).rank; ++i) {
      out |= std::int64_t{1} << (axis + i - batch_dims);
    }
    return out;
  }

  /// A window begins where all of it lies inside the value; of one that is larger than a bounded
  /// axis, what is not there is read as zeros. Along a fixed axis a bounded window is read by a
  /// gather, and written by a selection.
  constexpr int window(ir::builder& b, const moving_node& n) const {
    const shape& dims = dims_of(n, 0);
    const bool reads = n.code == op::dynamic_slice;
    const int starts = reads ? 1 : 2;
    const shape& part = reads ? from_.type(n.id).dims : dims_of(n, 1);
    moving_node out = n;
    int outside = ir::no_node;  // elements of the window that are not there
    int written[max_rank]{};    // + 1: places of an axis where the window is
    bool is_selected = false;
    for (int i = 0; i < dims.rank; ++i) {
      if (part[i] == dims[i] || !(is_bounded(dims[i]) || is_bounded(part[i]))) continue;
      int start = n[starts + i];
      if (start < 0 || out[0] < 0) return ir::poison;
      const dtype given = b.type(start).element;
      if (given == dtype::u8 || given == dtype::u32) start = b.convert(start, dtype::i64);
      const dtype element = b.type(start).element;
      const int zero = b.integer_constant(0, element);
      const int size = size_of(b, dims[i], element);
      const int count = size_of(b, part[i], element);
      start = b.binary(op::max, b.binary(op::min, start, b.sub(size, count)), zero);
      out.operands[starts + i] = is_bounded(part[i]) ? zero : start;
      const tensor_type row{element, shape::of({reads ? bound_of(part[i]) : bound_of(dims[i])})};
      const auto all = [&](int scalar) { return b.broadcast(scalar, row.dims, 0); };
      if (is_bounded(part[i]) && reads) {
        const int places = b.add(b.iota(row, 0), all(start));
        out.operands[0] = b.gather(out[0], places, i, 0, index_mode::clip);
      } else if (is_bounded(part[i])) {
        const int place = b.sub(b.iota(row, 0), all(start));  // in the window
        out.operands[1] = b.gather(out[1], place, i, 0, index_mode::clip);
        written[i] = b.binary(op::bit_and, b.binary(op::ge, place, all(zero)),
                              b.binary(op::lt, place, all(count))) +
                     1;
        is_selected = true;
      } else if (reads) {
        const int beyond = b.binary(op::ge, b.add(b.iota(row, 0), all(start)), all(size));
        const int here = b.broadcast(beyond, n.type.dims, std::int64_t{1} << i);
        outside = outside == ir::no_node ? here : b.binary(op::bit_or, outside, here);
      }
    }
    if (is_selected) out.operands[1] = selected_window(b, out, written);
    const int made = keep(b, out);
    if (outside == ir::no_node || made < 0) return made;
    return b.select(outside, b.splat(0, n.type), made);
  }
  /// The update of `n` where it is written, and else what stands there.
  static constexpr int selected_window(ir::builder& b, const moving_node& n, const int* written) {
    const int update = n[1];
    if (update < 0) return ir::poison;
    const tensor_type type = b.type(update);
    int operands[max_rank + 1]{n[0]};
    int chosen = ir::no_node;
    for (int i = 0; i < type.rank(); ++i) {
      operands[1 + i] = n[2 + i];
      if (written[i] == 0) continue;
      const int here = b.broadcast(written[i] - 1, type.dims, std::int64_t{1} << i);
      chosen = chosen == ir::no_node ? here : b.binary(op::bit_and, chosen, here);
    }
    const int before = b.append(op::dynamic_slice, operands, type.rank() + 1, {}, type);
    return b.select(chosen, update, before);
  }

  /// Element i from the end of the size and not of the bound.
  constexpr int reverse(ir::builder& b, const moving_node& n) const {
    const shape& dims = dims_of(n, 0);
    const std::int64_t axes = n.attributes.values[0];
    const std::int64_t fixed = axes & ~dims.bounded_axes();
    int out = n[0];
    if (fixed != 0) out = b.append(op::reverse, {out}, ir::attribute_list::of(fixed));
    for (int i = 0; i < dims.rank; ++i) {
      if (!ir::has_axis(axes & dims.bounded_axes(), i)) continue;
      const tensor_type row{dtype::i32, shape::of({bound_of(dims[i])})};
      const int last = b.sub(size_of(b, dims[i], dtype::i32), b.integer_constant(1, dtype::i32));
      const int places = b.sub(b.broadcast(last, row.dims, 0), b.iota(row, 0));
      out = b.gather(out, places, i, 0, index_mode::clip);
    }
    return out;
  }

  /// As many trips as the size, or as its count where that is smaller.
  constexpr int loop(ir::builder& b, const moving_node& n) const {
    const auto was = ir::loop_parts::of(from_, n.id);
    if (!is_bounded(was.trips)) return keep(b, n);
    moving_node out = n;
    out.attributes.values[2] = bound_of(was.trips);
    const int size = size_of(b, was.trips, dtype::i32);
    const int at = was.num_carries + was.num_items;
    if (was.has(ir::loop_parts::has_count)) {
      out.operands[at] = n[at] < 0 ? ir::poison : b.binary(op::min, n[at], size);
      return keep(b, out);
    }
    out.attributes.values[3] |= ir::loop_parts::has_count;
    for (int i = n.num_operands; i > at; --i) out.operands[i] = n[i - 1];
    out.operands[at] = size;
    ++out.num_operands;
    return keep(b, out);
  }
};

}  // namespace detail

/// Rewrites a graph with bounded sizes into an empty builder, in which they are their bounds.
///
/// Post: no size is bounded; behind the parameters of `from` there is one, an i32, for each of
/// `size_list::of(from)`. Given a size n for each, an output is, up to the sizes of its type, what
/// `from` computes for these sizes; what lies beyond the sizes of a parameter does not matter.
/// Cost: O(nodes + edges).
/// Ill-formed: a size that no parameter has.
constexpr void bound(const ir::graph& from, ir::builder& into) {
  detail::bounder rule(from);
  rewrite(from, into, rule);
  rule.add_parameters(into);
}

}  // namespace atled::passes
