// atled/passes/ids.hpp: a list of nodes, and small questions that passes ask about one node.
// Reads: ir/builder.hpp. Next: passes/rewrite.hpp, passes/jvp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/make_regions.hpp"

#include <limits>

namespace atled::passes {

/// Nodes by id, in order; `ir::no_node` stands for a symbolic zero.
///
/// All members are plain, so that an unused part costs a constant evaluation nothing.
struct ids {
  static constexpr int capacity = ir::graph::max_outputs;
  int values[capacity];
  int size;

  constexpr void push(int id) { values[size++] = id; }
  constexpr int operator[](int i) const { return values[i]; }
  [[nodiscard]] constexpr const int* begin() const { return values; }
  [[nodiscard]] constexpr const int* end() const { return values + size; }

  /// One of them is the result of an ill-typed operation.
  [[nodiscard]] constexpr bool has_poison() const {
    for (const int id : *this) {
      if (id == ir::poison) return true;
    }
    return false;
  }
  [[nodiscard]] constexpr int highest() const {
    int out = ir::no_node;
    for (const int id : *this) out = id > out ? id : out;
    return out;
  }
  [[nodiscard]] constexpr int lowest() const {
    int out = std::numeric_limits<int>::max();
    for (const int id : *this) out = id >= 0 && id < out ? id : out;
    return out;
  }
};

/// The number that all elements of a node are equal to, if that is known.
struct splat_value {
  bool known;
  double value;

  [[nodiscard]] constexpr bool is(double number) const { return known && value == number; }
  [[nodiscard]] constexpr bool is_zero() const { return is(0); }
  [[nodiscard]] constexpr bool is_finite_nonzero() const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return known && value != 0 && value > -infinity && value < infinity;  // a NaN compares false
  }
};

/// A constant, or a constant that is broadcast.
[[nodiscard]] constexpr splat_value splat_of(const ir::graph& g, int id) {
  if (g[id].code == op::broadcast) id = g.operand(id, 0);
  return g.is_constant(id) ? splat_value{true, g.constant_value(id)} : splat_value{};
}

/// Zeros of the type of `like`.
[[nodiscard]] constexpr int zeros_like(ir::builder& b, int like) {
  return b.splat(0, b.type(like));
}

/// The transpose of `x`, or `x` where the permutation moves nothing.
[[nodiscard]] constexpr int permuted(ir::builder& b, int x, std::int64_t permutation) {
  if (x < 0) return ir::poison;
  for (int i = 0; i < b.type(x).rank(); ++i) {
    if (ir::permuted_axis(permutation, i) != i) return b.transpose(x, permutation);
  }
  return x;
}

}  // namespace atled::passes
