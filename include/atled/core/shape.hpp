// atled/core/shape.hpp: dimensions and element type of a tensor, as values.
// Reads: core/bounded.hpp, core/dtype.hpp. Printed as f32[8,16], bounded sizes as f32[upto<8>,16].
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bounded.hpp"
#include "atled/core/dtype.hpp"
#include "atled/core/text.hpp"

#include <cstdint>
#include <initializer_list>

namespace atled {

inline constexpr int max_rank = 8;

/// The sizes of a tensor's axes, outermost first.
///
/// Invariants: 0 <= rank <= max_rank; sizes are >= 0; unused sizes are 0. A size may be bounded
/// (`upto<8>`): then it is a token, equal to itself and to no number, until passes/bound.hpp puts
/// its bound there.
struct shape {
  std::int64_t dims[max_rank];
  int rank;

  [[nodiscard]] static constexpr shape of(std::initializer_list<std::int64_t> sizes) {
    shape out{};
    for (const std::int64_t size : sizes) out.dims[out.rank++] = size;
    return out;
  }

  constexpr std::int64_t& operator[](int axis) { return dims[axis]; }
  constexpr std::int64_t operator[](int axis) const { return dims[axis]; }
  constexpr void push(std::int64_t size) { dims[rank++] = size; }

  [[nodiscard]] constexpr shape without_first() const {
    shape out{};
    for (int i = 1; i < rank; ++i) out.push(dims[i]);
    return out;
  }

  /// Number of elements, or of those that there is room for; 1 for a scalar.
  [[nodiscard]] constexpr std::int64_t size() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= bound_of(dims[i]);
    return product;
  }

  /// The axes whose size is known at the call only, as a mask.
  [[nodiscard]] constexpr std::int64_t bounded_axes() const {
    std::int64_t mask = 0;
    for (int i = 0; i < rank; ++i) mask |= is_bounded(dims[i]) ? std::int64_t{1} << i : 0;
    return mask;
  }
  /// The largest shape that it may be.
  [[nodiscard]] constexpr shape bounds() const {
    shape out{{}, rank};
    for (int i = 0; i < rank; ++i) out.dims[i] = bound_of(dims[i]);
    return out;
  }

  friend constexpr bool operator==(const shape& lhs, const shape& rhs) {
    if (lhs.rank != rhs.rank) return false;
    for (int i = 0; i < lhs.rank; ++i) {
      if (lhs.dims[i] != rhs.dims[i]) return false;
    }
    return true;
  }
};

constexpr text& operator<<(text& out, const shape& s) {
  out << '[';
  for (int i = 0; i < s.rank; ++i) {
    if (i > 0) out << ',';
    out << size_text{s.dims[i]};
  }
  return out << ']';
}

/// Row-major strides of a shape, of a bounded one as for its bounds. Units: elements.
[[nodiscard]] constexpr shape row_major_strides(const shape& s) {
  shape out{};
  out.rank = s.rank;
  std::int64_t step = 1;
  for (int i = s.rank - 1; i >= 0; --i) {
    out.dims[i] = step;
    step *= bound_of(s.dims[i]);
  }
  return out;
}

/// The type of a traced value: what it holds and how it is shaped.
struct tensor_type {
  dtype element;
  atled::shape dims;

  [[nodiscard]] constexpr int rank() const { return dims.rank; }
  [[nodiscard]] constexpr std::int64_t size() const { return dims.size(); }
  [[nodiscard]] constexpr tensor_type bounds() const { return {element, dims.bounds()}; }
  /// Units: bytes.
  [[nodiscard]] constexpr std::int64_t bytes() const { return size() * size_of(element); }

  friend constexpr bool operator==(const tensor_type& lhs, const tensor_type& rhs) {
    return lhs.element == rhs.element && lhs.dims == rhs.dims;
  }
};

constexpr text& operator<<(text& out, const tensor_type& type) {
  return out << name_of(type.element) << type.dims;
}

}  // namespace atled
