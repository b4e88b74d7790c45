// atled/ops/indexing.hpp: x(1, range(0, 3), newaxis, ids) reads, at(x, ...).set(y) writes, as
// NumPy's and JAX's brackets do. Reads: ops/scatter.hpp, trace/index.hpp.
//
//   an integer      one place; the axis is dropped, -1 is the last
//   range(2, 5)     places of an axis: range(), range(n), range(a, b), range(a, to_end, step)
//   newaxis         a new axis of size 1
//   ellipsis        range() for each axis that is not named; without one they follow at the end
//   an expression   integers computed by the program: its axes replace the axis; several stand side
//                   by side and are broadcast together. They count from 0, and what lies outside
//                   does as `index_mode` says: by default it reads 0 and writes nothing.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/scatter.hpp"
#include "atled/ops/slice.hpp"

namespace atled {

namespace detail {

/// An index beside the tensor it stands at: a window, then indices along neighbouring axes of it.
struct index_reading {
  ir::operand x;
  shape starts{};  ///< of the window, one number an axis; indexed axes are whole
  shape sizes{};
  shape strides{};
  shape dims{};  ///< of the result
  int traced[max_rank]{};
  int num_traced = 0;
  int traced_axis = 0;  ///< the first of them
  bool ok = false;

  [[nodiscard]] constexpr ir::builder& b() const { return x.builder(); }
  [[nodiscard]] constexpr expr failed() const { return {b(), ir::poison}; }
  constexpr bool fail(const text& why) const { return b().fail(b().site.function, why) >= 0; }

  [[nodiscard]] constexpr bool add_places(const index_item& item);
  [[nodiscard]] constexpr bool add_traced(const index_item& item);
};

/// Reads a place or a range of the next axis.
constexpr bool index_reading::add_places(const index_item& item) {
  const tensor_type type = x.type();
  const int axis = starts.rank;
  const std::int64_t size = type.dims[axis];
  const auto from_start = [&](std::int64_t place) { return place < 0 ? place + size : place; };
  text why;
  range places = item.places();
  if (item.what() == index_item::kind::place) {
    places = {from_start(item.place()), from_start(item.place()) + 1};
    if (places.start < 0 || places.start >= size) {
      return fail(why << type << " at " << item.place() << " of axis " << axis
                      << ": the place must be from " << -size << " to " << size - 1);
    }
  } else {
    places = {from_start(places.start), places.stop == to_end ? size : from_start(places.stop),
              places.step};
  }
  if (places.start < 0 || places.stop < places.start || places.stop > size || places.step < 1) {
    return fail(why << type << ": axis " << axis << " from " << places.start << " to "
                    << places.stop << " in steps of " << places.step
                    << ": it must go up from 0 or more to " << size << " or less");
  }
  starts.push(places.start);
  sizes.push((places.stop - places.start + places.step - 1) / places.step);
  strides.push(places.step);
  return true;
}

/// Reads an index tensor along the next axis.
constexpr bool index_reading::add_traced(const index_item& item) {
  const int axis = starts.rank;
  text why;
  if (item.id() < 0) return false;
  if (!is_integer(b().type(item.id()).element)) {
    return fail(why << "index " << b().type(item.id())
                    << ": it must be integers; for conditions see where");
  }
  if (num_traced > 0 && traced_axis + num_traced != axis) {
    return fail(why << "index tensors at axes " << traced_axis << " and " << axis
                    << ": they must stand side by side; use transpose");
  }
  if (num_traced == 0) traced_axis = axis;
  traced[num_traced++] = item.id();
  return add_places(range());
}

constexpr index_reading read_index(const ir::operand& x, const index_item* const* items) {
  using kind = index_item::kind;
  index_reading out{x};
  if (x.is_poison()) return out;
  const tensor_type type = x.type();
  int count = 0;
  int named = 0;
  int ellipses = 0;
  for (; count < max_rank && items[count]->what() != kind::absent; ++count) {
    const kind what = items[count]->what();
    named += what == kind::new_axis || what == kind::all_other ? 0 : 1;
    ellipses += what == kind::all_other ? 1 : 0;
  }
  text why;
  if (named > type.rank() || ellipses > 1) {
    out.fail(why << type << " at " << named << " places: it has " << type.rank()
                 << " axes, and there is one ellipsis at most");
    return out;
  }
  std::int64_t dims[4 * max_rank]{};
  int rank = 0;
  int indexed_at = 0;  // where the axes of the index tensors stand
  const auto add_whole = [&](int axes) {
    for (; axes > 0; --axes) {
      if (!out.add_places(range())) return;
      dims[rank++] = out.sizes[out.sizes.rank - 1];
    }
  };
  for (int i = 0; i < count; ++i) {
    const index_item& item = *items[i];
    switch (item.what()) {
      case kind::new_axis:
        dims[rank++] = 1;
        break;
      case kind::all_other:
        add_whole(type.rank() - named);
        break;
      case kind::place:
        if (!out.add_places(item)) return out;
        break;
      case kind::places:
        if (!out.add_places(item)) return out;
        dims[rank++] = out.sizes[out.sizes.rank - 1];
        break;
      case kind::traced:
        if (out.num_traced == 0) indexed_at = rank;
        if (!out.add_traced(item)) return out;
        break;
      case kind::absent:
        break;
    }
  }
  add_whole(type.rank() - out.starts.rank);

  ir::typed indices{};
  for (int i = 0; i < out.num_traced; ++i) {
    const tensor_type next = out.b().type(out.traced[i]);
    indices = i == 0 ? ir::typed::of(next) : ir::broadcast_type(indices.type, next);
    if (!indices.ok()) {
      out.fail(indices.problem);
      return out;
    }
  }
  const shape& indexed = indices.type.dims;
  if (rank + indexed.rank > max_rank) {
    out.fail(why << type << " at " << count << " places: the result would have more than 8 axes");
    return out;
  }
  for (int i = 0; i < indexed_at; ++i) out.dims.push(dims[i]);
  for (int i = 0; i < indexed.rank; ++i) out.dims.push(indexed[i]);
  for (int i = indexed_at; i < rank; ++i) out.dims.push(dims[i]);
  out.ok = true;
  return out;
}

/// The window, with the axes that are indexed made one.
constexpr ir::operand index_window(const index_reading& r) {
  ir::builder& b = r.b();
  ir::operand out = r.x;
  if (!(r.sizes == r.x.type().dims)) {
    out = ir::operand(b, b.slice(r.x.id(), r.starts, r.sizes, r.strides));
  }
  if (r.num_traced < 2) return out;
  shape merged{};
  std::int64_t places = 1;
  for (int i = 0; i < r.sizes.rank; ++i) {
    const bool is_indexed = i >= r.traced_axis && i < r.traced_axis + r.num_traced;
    if (!is_indexed) merged.push(r.sizes[i]);
    if (is_indexed) places *= r.sizes[i];
    if (i == r.traced_axis + r.num_traced - 1) merged.push(places);
  }
  return {b, b.reshape(out.id(), merged)};
}

/// The index tensors as places of the one axis of `index_window`.
constexpr ir::operand joined_indices(const index_reading& r, index_mode mode) {
  ir::builder& b = r.b();
  ir::operand place(b, r.traced[0]);
  if (r.num_traced == 1) return place;
  ir::operand inside = place;
  for (int i = 0; i < r.num_traced; ++i) {
    ir::operand at(b, r.traced[i]);
    at = at.as(promote(at.type().element, dtype::i32));
    const ir::operand size = ir::size_beside(at, r.sizes[r.traced_axis + i]);
    const ir::operand last(b, ir::broadcast_to(b, (size - 1.0).id(), at.type().dims));
    const ir::operand is_in = !ir::operand::combine(op::bit_or, at<0.0, at> last);
    if (mode == index_mode::clip) {
      at = ir::select(at < 0.0, at.like(0), ir::select(at > last, last, at));
    }
    place = i == 0 ? at : place * size + at;
    inside = i == 0 ? is_in : inside & is_in;
  }
  if (mode == index_mode::clip) return place;
  return ir::select(inside, place, place.like(-1));
}

constexpr expr read_at(const index_reading& r, index_mode mode) {
  if (!r.ok) return r.failed();
  ir::builder& b = r.b();
  ir::operand out = index_window(r);
  if (r.num_traced > 0) {
    const ir::operand places = joined_indices(r, mode);
    out = ir::operand(b, b.gather(out.id(), places.id(), r.traced_axis, 0, mode));
  }
  return {b, b.reshape(out.id(), r.dims)};
}

/// `x` with `window` in place of its window.
constexpr ir::operand window_written(const index_reading& r, const ir::operand& window) {
  ir::builder& b = r.b();
  const shape whole = r.x.type().dims;
  const ir::operand part(b, b.reshape(window.id(), r.sizes));
  if (r.sizes == whole) return part;
  bool is_dense = true;
  for (int i = 0; i < whole.rank; ++i) is_dense = is_dense && r.strides[i] == 1;
  if (is_dense) {
    int ids[max_rank + 2]{r.x.id(), part.id()};
    for (int i = 0; i < whole.rank; ++i) {
      ids[i + 2] = b.integer_constant(r.starts[i], dtype::i32);
    }
    return {b, b.append(op::dynamic_update_slice, ids, whole.rank + 2, {}, r.x.type())};
  }
  shape gaps = r.strides;
  for (int i = 0; i < gaps.rank; ++i) --gaps[i];
  const ir::operand ones(b, b.splat(1, {dtype::i32, r.sizes}));
  const auto spread = [&](const ir::operand& y) {
    const int zero = b.constant(0, y.type().element);
    return ir::operand(b, b.pad(y.id(), zero, r.starts, gaps, whole));
  };
  return ir::select(spread(ones) != 0.0, spread(part), r.x);
}

}  // namespace detail

/// Places of a tensor, made by `at(x, ...)`, that a new tensor differs in.
///
/// Each function gives `x` with other elements at these places; x itself stays as it is. Values
/// broadcast to the shape that `get` has, and take the element type of x.
/// Gradient: d_x is d_out where x was kept, d_values what `get` reads of d_out; of products and
/// quotients as `scatter_multiply`, by nothing divided that is a factor.
/// Ill-formed: an index that does not fit; values that do not broadcast.
class indexed {
 public:
  constexpr explicit indexed(const detail::index_reading& reading) : reading_(reading) {}

  /// The elements themselves, as `x(...)`, in a mode of choice.
  [[nodiscard]] constexpr expr get(index_mode mode = index_mode::fill) const {
    return detail::read_at(reading_, mode);
  }
  /// The values there; of several at one place the last.
  [[nodiscard]] constexpr expr set(const located& values,
                                   index_mode mode = index_mode::fill) const {
    return written(detail::meeting::set, values, mode);
  }
  /// The values added; several at one place add up.
  [[nodiscard]] constexpr expr add(const located& values,
                                   index_mode mode = index_mode::fill) const {
    return written(detail::meeting::add, values, mode);
  }
  /// The larger of what is there and the values.
  [[nodiscard]] constexpr expr max(const located& values,
                                   index_mode mode = index_mode::fill) const {
    return written(detail::meeting::max, values, mode);
  }
  /// The smaller of what is there and the values.
  [[nodiscard]] constexpr expr min(const located& values,
                                   index_mode mode = index_mode::fill) const {
    return written(detail::meeting::min, values, mode);
  }
  /// The product of what is there and of all values at that place.
  [[nodiscard]] constexpr expr multiply(const located& values,
                                        index_mode mode = index_mode::fill) const {
    return written(detail::meeting::multiply, values, mode);
  }
  /// The quotient of what is there by the product of all values at that place; integers towards
  /// zero.
  [[nodiscard]] constexpr expr divide(const located& values,
                                      index_mode mode = index_mode::fill) const {
    return written(detail::meeting::divide, values, mode);
  }

 private:
  constexpr expr written(detail::meeting how, const located& values, index_mode mode) const;

  detail::index_reading reading_;
};

constexpr expr indexed::written(detail::meeting how, const located& values, index_mode mode) const {
  const detail::index_reading& r = reading_;
  if (!r.ok) return r.failed();
  ir::builder& b = r.b();
  const tensor_type wanted{r.x.type().element, r.dims};
  const ir::operand given = ir::as_operand(b, values, wanted.element);
  if (given.is_poison()) return r.failed();
  const ir::typed fits = ir::broadcast_type(given.type(), wanted);
  if (!fits.ok() || !(fits.type.dims == wanted.dims)) {
    text why;
    return ir::fail(
        b, why << r.x.type() << " with " << given.type() << ": the values must be " << wanted);
  }
  const int spread = ir::broadcast_to(b, b.convert(given.id(), wanted.element), wanted.dims);
  const ir::operand window = detail::index_window(r);
  if (r.num_traced == 0) {
    const ir::operand part(b, b.reshape(spread, r.sizes));
    return detail::window_written(r, detail::met(how, window, part));
  }
  const ir::operand places = detail::joined_indices(r, mode);
  const ir::typed updates = ir::detail::gather_type(window.type(), places.type(), r.traced_axis, 0);
  const ir::operand parts(b, b.reshape(spread, updates.type.dims));
  return detail::window_written(r,
                                detail::scattered(how, window, places, parts, r.traced_axis, mode));
}

/// The places of `x` that the rest names, to be written: `at(x, 0, range(2, 5)).set(1)`.
///
/// x  f32[8, 16]     at(x, range(0, 4), -1).add(y)  f32[8, 16], y  f32[4]
[[nodiscard]] constexpr indexed at(const expr& x, const index_item& i0, const index_item& i1 = {},
                                   const index_item& i2 = {}, const index_item& i3 = {},
                                   const index_item& i4 = {}, const index_item& i5 = {},
                                   const index_item& i6 = {}, const index_item& i7 = {}) {
  const index_item* const items[max_rank] = {&i0, &i1, &i2, &i3, &i4, &i5, &i6, &i7};
  return indexed(detail::read_index(ir::operand(x, i0.at().in("at")), items));
}

constexpr expr expr::operator()(const index_item& i0, const index_item& i1, const index_item& i2,
                                const index_item& i3, const index_item& i4, const index_item& i5,
                                const index_item& i6, const index_item& i7) const {
  const index_item* const items[max_rank] = {&i0, &i1, &i2, &i3, &i4, &i5, &i6, &i7};
  return detail::read_at(detail::read_index(ir::operand(*this, i0.at().in("index")), items),
                         index_mode::fill);
}

}  // namespace atled
