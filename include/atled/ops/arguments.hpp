// atled/ops/arguments.hpp: how ops read axes and sizes, and the sentences when they do not fit.
// Reads: core/axis.hpp, ops/operand.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/axis.hpp"
#include "atled/ops/operand.hpp"

namespace atled {

/// Sizes given to an op, `{8, -1}` or the shape of another value.
struct sizes {
  shape dims{};
  int count = 0;  ///< more than `dims` holds if more than 8 were given

  constexpr sizes() = default;
  constexpr sizes(std::initializer_list<std::int64_t> list) {  // NOLINT: converts
    for (const std::int64_t size : list) {
      if (count++ < max_rank) dims.push(size);
    }
  }
  constexpr sizes(const shape& s) : dims(s), count(s.rank) {}  // NOLINT: converts

  constexpr std::int64_t operator[](int i) const { return dims[i]; }
};

struct reversed_option {};

/// From the last to the first: `cumsum(x, 0, reversed)`, `scan(f, init, xs, reversed)`.
inline constexpr reversed_option reversed{};

namespace ir {

/// Reports that arguments do not fit: the result of an ill-formed call.
constexpr expr fail(builder& b, const text& why) {
  return {b, b.fail(b.site.function, why)};
}

/// `axis` counted from 0, or -1 after the sentence has been kept.
[[nodiscard]] constexpr int resolved_axis(builder& b, const tensor_type& type, int axis) {
  if (axis >= -type.rank() && axis < type.rank()) return axis < 0 ? axis + type.rank() : axis;
  text why;
  why << type << " along axis " << axis << ": ";
  if (type.rank() == 0) {
    why << "a scalar has no axes";
  } else {
    why << "the axis must be from " << -type.rank() << " to " << type.rank() - 1;
  }
  b.fail(b.site.function, why);
  return -1;
}

/// The axes as a mask, or -1 after the sentence has been kept.
[[nodiscard]] constexpr std::int64_t resolved_axes(builder& b, const tensor_type& type,
                                                   const axes& along) {
  if (along.all) return (std::int64_t{1} << type.rank()) - 1;
  std::int64_t mask = 0;
  for (int i = 0; i < along.size; ++i) {
    const int axis = resolved_axis(b, type, along.list[i]);
    if (axis < 0) return -1;
    if (has_axis(mask, axis)) {
      text why;
      b.fail(b.site.function,
             why << type << ": axis " << axis << " is given twice: each axis once");
      return -1;
    }
    mask |= std::int64_t{1} << axis;
  }
  return mask;
}

/// Number of elements that a reduction over `mask` combines, or of those that there is room for.
[[nodiscard]] constexpr std::int64_t size_along(const shape& dims, std::int64_t mask) {
  std::int64_t product = 1;
  for (int i = 0; i < dims.rank; ++i) product *= has_axis(mask, i) ? bound_of(dims[i]) : 1;
  return product;
}

/// A size as a scalar of the type of `like`; of a bounded axis the value that comes with the call.
[[nodiscard]] constexpr operand size_beside(const operand& like, std::int64_t size) {
  builder& b = like.builder();
  return {b, like.is_poison() ? poison : b.size_of(size, like.type().element)};
}

/// `x` divided by the number of elements along the axes of `mask`, less `ddof`; bounded ones count
/// as many as come with the call.
[[nodiscard]] constexpr operand per_element(const operand& x, const shape& dims, std::int64_t mask,
                                            int ddof = 0) {
  if (x.is_poison()) return x;
  if ((dims.bounded_axes() & mask) == 0)
    return x / static_cast<double>(size_along(dims, mask) - ddof);
  operand count(x.builder(), x.builder().integer_constant(1, x.type().element));
  for (int i = 0; i < dims.rank; ++i) {
    if (has_axis(mask, i)) count = count * size_beside(x, dims[i]);
  }
  return x / (ddof == 0 ? count : count - static_cast<double>(ddof));
}

/// The mask of all axes of `dims` that are not in `mask`.
[[nodiscard]] constexpr std::int64_t other_axes(const shape& dims, std::int64_t mask) {
  return ((std::int64_t{1} << dims.rank) - 1) & ~mask;
}

/// `dims` with size 1 in place of the axes of `mask`.
[[nodiscard]] constexpr shape with_ones(const shape& dims, std::int64_t mask) {
  shape out = dims;
  for (int i = 0; i < out.rank; ++i) out[i] = has_axis(mask, i) ? 1 : out[i];
  return out;
}

/// A reduced value repeated over the axes of `mask` that the reduction dropped from `dims`.
[[nodiscard]] constexpr operand spread(const operand& reduced, const shape& dims,
                                       std::int64_t mask) {
  builder& b = reduced.builder();
  return {b, b.broadcast(reduced.id(), dims, other_axes(dims, mask))};
}

/// `x` as a tensor of one axis.
[[nodiscard]] constexpr operand flattened(const operand& x) {
  if (x.is_poison() || x.type().rank() == 1) return x;
  builder& b = x.builder();
  return {b, b.reshape(x.id(), shape::of({x.type().size()}))};
}

/// Whether the sizes are those of a shape; if not, the sentence has been kept.
[[nodiscard]] constexpr bool are_sizes(builder& b, const sizes& given, bool one_unknown = false) {
  text why;
  if (given.count > max_rank) {
    why << given.count << " sizes: a shape has at most 8 axes";
    b.fail(b.site.function, why);
    return false;
  }
  int unknown = 0;
  for (int i = 0; i < given.dims.rank; ++i) {
    if (given[i] == -1 && one_unknown) {
      ++unknown;
    } else if (given[i] < 0) {
      b.fail(b.site.function, why << given.dims << ": size " << given[i] << " must be 0 or more");
      return false;
    }
  }
  if (unknown > 1) {
    b.fail(b.site.function, why << given.dims << ": at most one size may be -1");
    return false;
  }
  return true;
}

}  // namespace ir
}  // namespace atled
