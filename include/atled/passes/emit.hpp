// atled/passes/emit.hpp: groups become steps: instructions, slots, and kernels shared by equal
// ones. Reads: passes/emit_loop.hpp, passes/emit_dot.hpp. Next: passes/schedule.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/emit_dot.hpp"

namespace atled::passes {

namespace detail {

/// Writes the steps of a plan, one group after the other; copies and kernels of one op itself.
class emitter : public dot_emitter {
 public:
  using dot_emitter::dot_emitter;

  constexpr void run() {
    for (int id = 0; id < g_.num_nodes; ++id) {
      out_.stored[id] = kept_.stored[id] && !kept_.moved[id];
    }
    for (int i = 0; i < kept_.num_groups; ++i) emit_group(kept_.by_level[i]);
  }

 private:
  constexpr void emit_group(int at) {
    const group& in = groups_.groups[at];
    switch (in.kind) {
      case group_kind::loop:
        emit_loop(at);
        break;
      case group_kind::dot:
        emit_dot(at);
        break;
      case group_kind::copy:
        if (kept_.stored[in.lead]) emit_copy_of_operand(in.lead, in.domain);
        break;
      case group_kind::opaque:
        if (kept_.stored[in.lead]) emit_opaque(in.lead);
        break;
    }
  }

  constexpr void emit_copy_of_operand(int id, const shape& domain) {
    view to{};
    reshape_view(place_of(g_, kept_, id), g_.type(id).dims, domain, to);
    emit_copy(to, groups_.copies[groups_.copy_of[id]], domain);
  }

  constexpr void emit_copy(const view& to, const view& from, const shape& domain) {
    if (kept_.moved[from.base]) return;  // it was computed there
    const int id = to.base;
    begin_kernel(domain);
    const op base = g_[from.base].code;
    int in = -1;
    if (base != op::constant) {
      in = add_slot(from.base, from.offset, from.strides, domain.rank, false);
    }
    const int result = add_slot(id, to.offset, to.strides, domain.rank, true);
    slot merged[64]{};
    const shape dims = merge_axes(merged);
    classify(merged, dims);
    instruction i{};
    i.element = g_[from.base].type.element;
    i.stage = 1;
    int value = 0;
    if (in >= 0) {
      value = emit_load(merged, in, merged[in].walk == access::splat ? 0 : 1);
    } else {
      i.kind = instruction_kind::constant;
      i.bits = g_.attribute(from.base);
      value = emit(i);
    }
    instruction out{};
    out.kind = instruction_kind::store;
    out.element = g_[id].type.element;
    out.walk = merged[result].walk;
    out.operands[0] = value;
    out.num_operands = 1;
    out.slot = result;
    out.stage = 1;
    emit(out);
    step s{};
    s.domain = dims;
    s.node = id;
    s.kernel = find_kernel(kernel{kernel_kind::loop, op::add, dtype::f32, dtype::i32, 0, 0, 0});
    push_step(s, merged);
  }

  constexpr void emit_opaque(int id) {
    const ir::node& n = g_[id];
    switch (n.code) {
      case op::concatenate: {
        const auto axis = static_cast<int>(g_.attribute(id));
        view to = place_of(g_, kept_, id);
        for (int k = 0; k < n.num_operands; ++k) {
          const int x = g_.operand(id, k);
          emit_copy(to, views_.of[x], g_.type(x).dims);
          to.offset += g_.type(x).dims[axis] * to.strides[axis];
        }
        return;
      }
      case op::pad:
        emit_pad(id);
        return;
      case op::loop:
      case op::cond:
        emit_region(id);
        return;
      case op::scatter_add:
      case op::scatter_max:
      case op::dynamic_update_slice: {
        const int x = g_.operand(id, 0);
        emit_copy(contiguous_view(id, n.type.dims), views_.of[x], n.type.dims);
        emit_generic(id, 1);
        return;
      }
      default:
        emit_generic(id, 0);
        return;
    }
  }

  constexpr void emit_pad(int id) {
    const int x = g_.operand(id, 0);
    const int filler = g_.operand(id, 1);
    const shape& to = g_[id].type.dims;
    const view whole = contiguous_view(id, to);
    emit_copy(whole, view{views_.of[filler].base, views_.of[filler].offset, {}}, to);
    view from = views_.of[x];
    shape domain = g_.type(x).dims;
    view part = whole;
    for (int a = 0; a < to.rank; ++a) {
      const std::int64_t low = g_.attribute(id, a);
      const std::int64_t apart = g_.attribute(id, to.rank + a) + 1;
      const std::int64_t first = low < 0 ? (-low + apart - 1) / apart : 0;  // the first kept one
      const std::int64_t room = to[a] - 1 - low;
      std::int64_t end = room < 0 ? 0 : room / apart + 1;
      if (end > domain[a]) end = domain[a];
      part.offset += (low + first * apart) * whole.strides[a];
      from.offset += first * from.strides[a];
      part.strides[a] = whole.strides[a] * apart;
      domain[a] = end > first ? end - first : 0;
    }
    if (domain.size() > 0) emit_copy(part, from, domain);
  }

  // One step that runs the bodies; its results are the nodes that follow.
  constexpr void emit_region(int id) {
    step s{};
    s.node = id;
    begin_kernel({});
    s.kernel = find_kernel(kernel{kernel_kind::region, op::loop, dtype::f32, dtype::i32, 0, 0, 0});
    s.slots_begin = out_.num_slots;
    for (int k = 0; k < g_[id].num_operands; ++k) {
      const view& v = views_.of[g_.operand(id, k)];
      out_.slots[out_.num_slots++] = slot{v.base, v.offset, {}, access::unit, false};
    }
    for (int r = id + 1; r < g_.num_nodes; ++r) {
      if (g_[r].code != op::result_of || g_.operand(r, 0) != id) break;
      out_.slots[out_.num_slots++] = slot{r, 0, {}, access::unit, true};
    }
    s.num_slots = out_.num_slots - s.slots_begin;
    out_.steps[out_.num_steps++] = s;
  }

  // A kernel of its own for one op, with contiguous operands (from `first` on) and result.
  constexpr void emit_generic(int id, int first) {
    begin_kernel(g_[id].type.dims);
    for (int k = first; k < g_[id].num_operands; ++k) {
      slots_[num_slots_++] = slot{views_.of[g_.operand(id, k)].base,
                                  views_.of[g_.operand(id, k)].offset,
                                  {},
                                  access::unit,
                                  false};
    }
    slots_[num_slots_++] = slot{id, 0, {}, access::unit, true};
    const op code = g_[id].code;
    const int first_operand = g_[id].num_operands > 0 ? g_.operand(id, 0) : id;
    kernel k{kernel_kind::generic, code, g_.type(first_operand).element, dtype::i32, 0, 0, 0};
    if (is_collective(code)) {
      k.kind = kernel_kind::collective;
    } else if (code == op::gather || code == op::scatter_add || code == op::scatter_max) {
      k.kind = code == op::gather ? kernel_kind::gather : kernel_kind::scatter;
      k.index = g_.type(g_.operand(id, 1)).element;
    } else if (code == op::dynamic_slice || code == op::dynamic_update_slice) {
      const int start = code == op::dynamic_slice ? 1 : 2;
      if (g_[id].num_operands > start) k.index = g_.type(g_.operand(id, start)).element;
    } else if (code == op::external) {
      instruction which{};
      which.kind = instruction_kind::constant;
      which.element = dtype::i64;
      which.bits = g_.attribute(id);
      emit(which);
    }
    step s{};
    s.domain = g_[id].type.dims;
    s.node = id;
    s.kernel = find_kernel(k);
    push_step(s, slots_);
  }
};

}  // namespace detail

/// Writes the steps and kernels of all groups that store something.
///
/// Cost: O(nodes + edges) for groups of bounded size.
constexpr void emit(const ir::graph& g, const layout& views, const grouping& groups,
                    const storage& kept, const donation& donated, plan& out) {
  detail::emitter writer(g, views, groups, kept, donated, out);
  writer.run();
  out.unsupported = writer.unsupported;
}

}  // namespace atled::passes
