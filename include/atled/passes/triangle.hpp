// atled/passes/triangle.hpp: which values a mask such as the causal one makes 0, and which nobody
// reads: half of a product's work that need not be done.
// Reads: passes/ids.hpp. Used by passes/emit_dot.hpp; kernels/gemm.hpp leaves the work out.
//
// A value is a matrix along two of its axes, `row` and `column`; above its diagonal, where column >
// row, it may be
//
//   is_false       a mask: column <= row, and what is combined with it by `and`
//   is_minus_inf   select(mask, x, -inf), less or plus a number a row, times a positive constant
//   is_zero        exp of that, select(mask, x, 0), and products with what is finite there
//   unread         each use is select(mask, x, ...), a strong product with zeros, or is itself
//   unread
//
// Nothing is assumed of attention: the facts follow from the nodes one by one.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"

namespace atled::passes {

enum class above_diagonal : std::uint8_t { anything, is_false, is_minus_inf, is_zero };

/// What is known of one node above the diagonal of two of its axes.
struct upper_half {
  above_diagonal value;
  bool unread;
  std::int8_t row, column;                ///< axes that `value` speaks of
  std::int8_t unread_row, unread_column;  ///< axes that `unread` speaks of
};

struct upper_halves {
  upper_half of[ir::graph::max_nodes];
};

namespace detail {

class triangle_finder {
 public:
  constexpr triangle_finder(const ir::graph& g, upper_halves& out) : g_(g), out_(out) {}

  constexpr void run() {
    for (int id = 0; id < g_.num_nodes; ++id) find_value(id);
    for (int i = 0; i < g_.num_outputs; ++i) is_read_[g_.outputs[i]] = true;
    for (int id = g_.num_nodes - 1; id >= 0; --id) {
      upper_half& t = out_.of[id];
      t.unread = t.unread && !is_read_[id];
      for (int k = 0; k < g_[id].num_operands; ++k) find_use(id, k);
    }
  }

 private:
  const ir::graph& g_;
  upper_halves& out_;
  bool is_read_[ir::graph::max_nodes]{};

  [[nodiscard]] constexpr const upper_half& of_operand(int id, int index) const {
    return out_.of[g_.operand(id, index)];
  }
  [[nodiscard]] constexpr bool is(int id, int index, above_diagonal value) const {
    return of_operand(id, index).value == value;
  }
  constexpr void set(int id, above_diagonal value, int row, int column) {
    upper_half& t = out_.of[id];
    t.value = value;
    t.row = static_cast<std::int8_t>(row);
    t.column = static_cast<std::int8_t>(column);
  }
  constexpr void set_as(int id, int index, above_diagonal value) {
    set(id, value, of_operand(id, index).row, of_operand(id, index).column);
  }

  // The axis along which an operand counts from 0, or -1.
  [[nodiscard]] constexpr int counted_axis(int id, int index) const {
    const int x = g_.operand(id, index);
    return g_[x].code == op::iota ? static_cast<int>(g_.attribute(x)) : -1;
  }
  // One value for all columns of `axis`: it is NaN or infinite in the whole row, or nowhere.
  [[nodiscard]] constexpr bool is_per_row(int x, int axis) const {
    if (g_[x].code != op::broadcast) return false;
    return !ir::has_axis(g_.attribute(x), axis) || g_.type(g_.operand(x, 0)).rank() == 0;
  }
  [[nodiscard]] constexpr bool is_splat(int x, double value) const {
    return splat_of(g_, x).is(value);
  }

  constexpr void compare(int id, int column, int row) {
    if (row >= 0 && column >= 0 && row != column) set(id, above_diagonal::is_false, row, column);
  }

  // z = x y or x / y, with y the same for all columns of a row.
  constexpr void scale(int id, int x, int y) {
    const upper_half& t = of_operand(id, x);
    const int factor = g_.operand(id, y);
    if (t.value == above_diagonal::is_zero && is_per_row(factor, t.column)) set_as(id, x, t.value);
    const splat_value constant = splat_of(g_, factor);
    if (t.value == above_diagonal::is_minus_inf && constant.is_finite_nonzero() &&
        constant.value > 0) {
      set_as(id, x, t.value);
    }
  }

  constexpr void find_value(int id) {
    using enum above_diagonal;
    const ir::node& n = g_[id];
    switch (n.code) {
      case op::le:
      case op::lt:
        return compare(id, counted_axis(id, 0), counted_axis(id, 1));
      case op::ge:
      case op::gt:
        return compare(id, counted_axis(id, 1), counted_axis(id, 0));
      case op::bit_and:
        for (int k = 0; k < 2; ++k) {
          if (is(id, k, is_false)) set_as(id, k, is_false);
        }
        return;
      case op::broadcast:
        return broadcast(id);
      case op::select:
        return select(id);
      case op::exp:
        if (is(id, 0, is_minus_inf)) set_as(id, 0, is_zero);
        return;
      case op::neg:
      case op::convert:
        if (is(id, 0, is_zero)) set_as(id, 0, is_zero);
        return;
      case op::add:
      case op::sub:
        if (is(id, 0, is_minus_inf) && is_per_row(g_.operand(id, 1), of_operand(id, 0).column)) {
          set_as(id, 0, is_minus_inf);
        }
        if (is(id, 0, is_zero) && agrees(id, 0, 1)) set_as(id, 0, is_zero);
        return;
      case op::mul:
        scale(id, 0, 1);
        scale(id, 1, 0);
        return;
      case op::div:
        return scale(id, 0, 1);
      case op::strong_mul:
        for (int k = 0; k < 2; ++k) {
          if (is(id, k, is_zero)) set_as(id, k, is_zero);
        }
        return;
      default:  // nothing is known
        return;
    }
  }

  [[nodiscard]] constexpr bool agrees(int id, int x, int y) const {
    const upper_half& a = of_operand(id, x);
    const upper_half& b = of_operand(id, y);
    return a.value == b.value && a.row == b.row && a.column == b.column;
  }

  constexpr void select(int id) {
    if (!is(id, 0, above_diagonal::is_false)) return;
    const int otherwise = g_.operand(id, 2);
    if (is_splat(otherwise, 0)) set_as(id, 0, above_diagonal::is_zero);
    if (is_splat(otherwise, -std::numeric_limits<double>::infinity())) {
      set_as(id, 0, above_diagonal::is_minus_inf);
    }
  }

  constexpr void broadcast(int id) {
    const upper_half& t = of_operand(id, 0);
    if (t.value == above_diagonal::anything) return;
    int axes[max_rank]{};
    int count = 0;
    for (int a = 0; a < g_.type(id).rank(); ++a) {
      if (ir::has_axis(g_.attribute(id), a)) axes[count++] = a;
    }
    const auto& from = g_.type(g_.operand(id, 0)).dims;
    const auto& to = g_.type(id).dims;
    if (from[t.row] != to[axes[t.row]] || from[t.column] != to[axes[t.column]]) return;
    set(id, t.value, axes[t.row], axes[t.column]);
  }

  // Operand `index` of `id` is read above the diagonal, or this use does not.
  constexpr void find_use(int id, int index) {
    const op code = g_[id].code;
    const upper_half& t = out_.of[id];
    if (code == op::select && index == 1 && is(id, 0, above_diagonal::is_false)) {
      return spare(id, index, of_operand(id, 0).row, of_operand(id, 0).column);
    }
    if (code == op::strong_mul && is(id, 1 - index, above_diagonal::is_zero)) {
      return spare(id, index, of_operand(id, 1 - index).row, of_operand(id, 1 - index).column);
    }
    if (is_elementwise(code) && t.unread) {
      return spare(id, index, t.unread_row, t.unread_column);
    }
    is_read_[g_.operand(id, index)] = true;
  }
  constexpr void spare(int id, int index, int row, int column) {
    const int x = g_.operand(id, index);
    upper_half& t = out_.of[x];
    const bool is_first = !t.unread;
    if (!is_first && (t.unread_row != row || t.unread_column != column)) is_read_[x] = true;
    t.unread = true;
    t.unread_row = static_cast<std::int8_t>(row);
    t.unread_column = static_cast<std::int8_t>(column);
  }
};

}  // namespace detail

/// What is known of each value above a diagonal.
///
/// Post: a value with `is_zero` is 0 there, one with `unread` may be anything there and no output
/// changes. Exception: a row that holds a NaN or an infinity may have it in fewer places.
/// Cost: O(nodes + edges).
constexpr void find_triangles(const ir::graph& g, upper_halves& out) {
  detail::triangle_finder(g, out).run();
}

}  // namespace atled::passes
