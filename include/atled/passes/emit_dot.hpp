// atled/passes/emit_dot.hpp: a product and its epilogue as a step.
// Reads: passes/emit_loop.hpp. Next: passes/emit.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/emit_loop.hpp"
#include "atled/passes/triangle.hpp"

namespace atled::passes::detail {

/// Brings a product into the form that kernels/gemm.hpp runs: batch axes, rows, columns, one k.
class dot_emitter : protected loop_emitter {
 public:
  /// A product that walks its operands in more ways than five loops can.
  bool unsupported = false;

  constexpr dot_emitter(const ir::graph& g, const layout& views, const grouping& groups,
                        const storage& kept, const donation& donated, plan& out)
      : loop_emitter(g, views, groups, kept, donated, out) {
    find_triangles(g, upper_halves_);
  }

 protected:
  upper_halves upper_halves_{};

  constexpr void emit_dot(int at) {
    group_now_ = at;
    const group& in = groups_.groups[at];
    const int id = in.lead;
    begin_kernel(in.domain);
    const auto axes = ir::dot_axes::unpacked(g_.attributes_of(id));
    const int lhs = g_.operand(id, 0);
    const int rhs = g_.operand(id, 1);
    add_dot_operand(lhs, axes, true);
    add_dot_operand(rhs, axes, false);
    num_slots_ = 2;  // equal operands keep a slot each
    gather_locals(at);
    find_phases();
    find_needs();
    find_slots();

    step s{};
    s.node = locals_[num_locals_ - 1].node;
    s.order = id;  // its epilogue may be of a later time, as the norm of a gradient is
    s.k = 1;
    for (int i = 0; i < axes.num_contract; ++i) s.k *= g_.type(lhs).dims[axes.lhs_contract[i]];
    s.lhs_k = contract_stride(lhs, axes.lhs_contract, axes.num_contract);
    s.rhs_k = contract_stride(rhs, axes.rhs_contract, axes.num_contract);
    s.limits = limits_of(id, axes);
    out_.flops += 2 * g_[id].type.size() * s.k;
    for (int i = 0; i < num_locals_; ++i) {
      if (locals_[i].needed && locals_[i].node != id) out_.flops += g_[locals_[i].node].type.size();
    }
    const int columns = g_.type(rhs).rank() - axes.num_batch - axes.num_contract;
    slot merged[64]{};
    s.domain = merge_dot_axes(merged, axes.num_batch, columns);
    classify_dot(merged, s.domain);
    emit_stages(merged);
    s.kernel =
        find_kernel(kernel{kernel_kind::dot, op::dot, g_.type(lhs).element, dtype::i32, 0, 0, 0});
    push_step(s, merged);
  }

  constexpr void add_dot_operand(int x, const ir::dot_axes& axes, bool is_lhs) {
    const view& v = views_.of[x];
    std::int64_t strides[max_rank]{};
    int free = axes.num_batch;
    if (!is_lhs) {
      free = domain_.rank - (g_.type(x).rank() - axes.num_batch - axes.num_contract);
    }
    for (int a = 0; a < g_.type(x).rank(); ++a) {
      const char role = is_lhs ? axes.role_of_lhs(a) : axes.role_of_rhs(a);
      if (role == 'f') strides[free++] = v.strides[a];
    }
    for (int b = 0; b < axes.num_batch; ++b) {
      strides[b] = v.strides[is_lhs ? axes.lhs_batch[b] : axes.rhs_batch[b]];
    }
    slots_[num_slots_] = slot{v.base, v.offset, {}, access::unit, false};
    for (int a = 0; a < domain_.rank; ++a) slots_[num_slots_].strides[a] = strides[a];
    ++num_slots_;
  }

  // What the triangles of operands and result spare. Rows, columns and k must be one axis each.
  [[nodiscard]] constexpr dot_limits limits_of(int id, const ir::dot_axes& axes) const {
    const int lhs = g_.operand(id, 0);
    const int rhs = g_.operand(id, 1);
    const int last = g_[id].type.rank() - 1;
    const bool is_plain = axes.num_contract == 1 && last == axes.num_batch + 1 &&
                          g_.type(lhs).rank() == axes.num_batch + 2 &&
                          g_.type(rhs).rank() == axes.num_batch + 2;
    if (!is_plain) return {};
    dot_limits out{};
    const upper_half& left = upper_halves_.of[lhs];
    if (left.value == above_diagonal::is_zero) {
      const char row = axes.role_of_lhs(left.row);
      const char column = axes.role_of_lhs(left.column);
      if (row == 'f' && column == 'c') out.k_by_row = 1;
      if (row == 'c' && column == 'f') out.k_by_row = -1;
    }
    const upper_half& right = upper_halves_.of[rhs];
    if (right.value == above_diagonal::is_zero) {
      const char row = axes.role_of_rhs(right.row);
      const char column = axes.role_of_rhs(right.column);
      if (row == 'f' && column == 'c') out.k_by_column = 1;
      if (row == 'c' && column == 'f') out.k_by_column = -1;
    }
    const upper_half& sums = upper_halves_.of[id];
    if (sums.unread && sums.unread_row == last - 1 && sums.unread_column == last) {
      out.column_by_row = 1;
    }
    if (sums.unread && sums.unread_row == last && sums.unread_column == last - 1) {
      out.column_by_row = -1;
    }
    return out;
  }

  [[nodiscard]] constexpr std::int64_t contract_stride(int x, const int* axes, int count) const {
    for (int i = count - 1; i >= 0; --i) {
      if (g_.type(x).dims[axes[i]] != 1) return views_.of[x].strides[axes[i]];
    }
    return 1;
  }

  // The result is three batch axes, rows and columns: neighbours are merged inside each class, and
  // what is left over in rows and columns becomes a batch axis.
  constexpr shape merge_dot_axes(slot* merged, int num_batch, int num_columns) {
    shape classes[3]{};
    int axis_of[3][max_rank]{};
    for (int a = 0; a < domain_.rank; ++a) {
      const int c = a < num_batch ? 0 : a < domain_.rank - num_columns ? 1 : 2;
      if (domain_[a] == 1) continue;
      axis_of[c][classes[c].rank] = a;
      classes[c].push(domain_[a]);
    }
    for (int c = 0; c < 3; ++c) {
      for (int i = classes[c].rank - 2; i >= 0; --i) {
        bool together = true;
        for (int s = 0; s < num_slots_; ++s) {
          const auto outer = slots_[s].strides[axis_of[c][i]];
          const auto inner = slots_[s].strides[axis_of[c][i + 1]];
          together = together && outer == inner * classes[c][i + 1];
        }
        if (!together) continue;
        classes[c][i] *= classes[c][i + 1];
        axis_of[c][i] = axis_of[c][i + 1];
        for (int j = i + 1; j + 1 < classes[c].rank; ++j) {
          classes[c][j] = classes[c][j + 1];
          axis_of[c][j] = axis_of[c][j + 1];
        }
        --classes[c].rank;
      }
    }
    shape dims = shape::of({1, 1, 1, 1, 1});
    int from[5] = {-1, -1, -1, -1, -1};
    int batch = 2;
    const auto push_batch = [&](int c, int i) {
      if (batch < 0) {
        unsupported = true;
        return;
      }
      dims[batch] = classes[c][i];
      from[batch--] = axis_of[c][i];
    };
    for (int c = 1; c < 3; ++c) {
      const int last = classes[c].rank - 1;
      if (last >= 0) {
        dims[2 + c] = classes[c][last];
        from[2 + c] = axis_of[c][last];
      }
      for (int i = last - 1; i >= 0; --i) push_batch(c, i);
    }
    for (int i = classes[0].rank - 1; i >= 0; --i) push_batch(0, i);
    for (int s = 0; s < num_slots_; ++s) {
      merged[s] = slots_[s];
      for (int a = 0; a < max_rank; ++a) merged[s].strides[a] = 0;
      for (int a = 0; a < 5; ++a) {
        if (from[a] >= 0) merged[s].strides[a] = slots_[s].strides[from[a]];
      }
    }
    return dims;
  }

  constexpr void classify_dot(slot* merged, const shape& dims) const {
    for (int s = 2; s < num_slots_; ++s) {
      std::int64_t& step_along = merged[s].strides[4];
      if (dims[4] == 1) step_along = 1;
      merged[s].walk = step_along == 0   ? access::splat
                       : step_along == 1 ? access::unit
                                         : access::strided;
    }
  }
};

}  // namespace atled::passes::detail
