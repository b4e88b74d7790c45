// atled/passes/emit_loop.hpp: a loop group as instructions, in phases.
// Reads: passes/kernel_writer.hpp, passes/store.hpp. Next: passes/emit_dot.hpp.
//
// A loop kernel works row by row. Reductions along a row split its work into phases: what depends
// on a row's maximum, say, runs in a later phase. Cheap values are computed again in each phase
// that needs them; dear ones are parked in the memory of a result of the same kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/kernel_writer.hpp"
#include "atled/passes/store.hpp"

namespace atled::passes::detail {

/// Writes elementwise nodes and reductions, those of a loop and those behind a product.
class loop_emitter : protected kernel_writer {
 public:
  constexpr loop_emitter(const ir::graph& g, const layout& views, const grouping& groups,
                         const storage& kept, const donation& donated, plan& out)
      : kernel_writer(g, views, out), groups_(groups), kept_(kept) {
    // Results too large for any cache are written past it, unless they take over what is read.
    constexpr std::int64_t large = 16 << 20;
    bool is_read[ir::graph::max_nodes]{};
    for (int i = 0; i < g.num_operands; ++i) is_read[g.operands[i]] = true;
    for (int i = 0; i < g.num_outputs; ++i) {
      const int id = g.outputs[i];
      const int donor = donated.parameter_of[i];
      const bool is_free = donor == -1 || (donor >= 0 && !is_read[g.parameters[donor]]);
      streams_[id] = is_free && g.type(id).bytes() >= large;
    }
  }

 protected:
  const grouping& groups_;
  const storage& kept_;
  bool streams_[ir::graph::max_nodes]{};
  bool is_streamable_ = false;

  struct local_node {
    int node;
    bool per_row;
    bool is_after;
    int phase;           // in which its value exists first
    std::uint64_t need;  // element values: the phases that use it
    bool needed;
    bool is_written;
    int park;      // the local node in whose memory it is parked; -1: computed again
    int inner[4];  // the local node that gives each operand, or -1 if it is read from memory
    int from[4];   // else its slot, or -1 for a constant
    int to;        // the slot of the result, if it is written
  };
  static constexpr int max_locals = 256;
  local_node locals_[max_locals]{};
  int num_locals_ = 0;
  int local_of_[ir::graph::max_nodes]{};  // index + 1, valid if the stamp is right
  int stamp_[ir::graph::max_nodes]{};
  int stamp_now_ = 0;

  int row_value_[max_locals]{};
  int element_value_[max_locals]{};
  int slot_row_value_[64]{};      // + 1
  int slot_element_value_[64]{};  // + 1, of this stage
  int num_reductions_ = 0;

  [[nodiscard]] constexpr int local(int node) const {
    return stamp_[node] == stamp_now_ ? local_of_[node] - 1 : -1;
  }

  constexpr void begin_kernel(const shape& domain) {
    begin_code(domain);
    ++stamp_now_;
    num_locals_ = 0;
    num_reductions_ = 0;
    is_streamable_ = false;
  }

  // The slot through which `consumer` sees `operand`.
  constexpr int operand_slot(int consumer, int operand) {
    const view& v = views_.of[operand];
    const int rank = g_[consumer].type.dims == domain_ || is_reducing(consumer)
                         ? domain_.rank
                         : domain_.rank - 1;  // a row's value: no step along the row
    return add_slot(v.base, v.offset, v.strides, rank, false);
  }
  [[nodiscard]] constexpr bool is_reducing(int id) const {
    return info(g_[id].code).kind == op_kind::reduction;
  }

  constexpr int output_slot(int id) {
    if (kept_.moved[id]) {
      const view& home = kept_.home[id];
      return add_slot(home.base, home.offset, home.strides, domain_.rank, true);
    }
    shape strides{};
    strides.rank = domain_.rank;
    std::int64_t step = 1;
    const int l = local(id);
    const bool is_after = l >= 0 && locals_[l].is_after;
    const bool per_row = l >= 0 && locals_[l].per_row;
    for (int a = domain_.rank - 1; a >= 0; --a) {
      const bool dropped =
          (is_after && ir::has_axis(g_.attribute(id), a)) || (per_row && a == domain_.rank - 1);
      if (dropped) continue;
      strides[a] = step;
      step *= domain_[a];
    }
    return add_slot(id, 0, strides.dims, domain_.rank, true);
  }

  constexpr void add_local(int node, bool per_row, bool is_after) {
    if (stamp_[node] == stamp_now_) return;
    stamp_[node] = stamp_now_;
    local_of_[node] = num_locals_ + 1;
    local_node& n = locals_[num_locals_++];
    n = local_node{};
    n.node = node;
    n.per_row = per_row;
    n.is_after = is_after;
    n.is_written = kept_.stored[node] && groups_.of(node) == group_now_;
    n.park = -1;
  }

  // Members and repeated nodes, operands first.
  constexpr void gather_locals(int at) {
    int members[max_locals]{};
    int count = 0;
    const auto insert = [&](int node) {
      int at_place = count;
      while (at_place > 0 && members[at_place - 1] > node) --at_place;
      if (at_place > 0 && members[at_place - 1] == node) return;  // repeated for several readers
      for (int i = count++; i > at_place; --i) members[i] = members[i - 1];
      members[at_place] = node;
    };
    for (int m = kept_.members_begin[at]; m < kept_.members_begin[at + 1]; ++m) {
      insert(kept_.members[m]);
    }
    for (int c = kept_.clones_begin[at]; c < kept_.clones_end[at]; ++c) insert(kept_.clones[c]);
    for (int i = 0; i < count; ++i) {
      const bool own = groups_.of(members[i]) == at;
      add_local(members[i], own && groups_.per_row[members[i]], own && groups_.after[members[i]]);
    }
  }

  // The local node that gives `consumer` its operand, or -1 if it is read from memory.
  [[nodiscard]] constexpr int inner_operand(int consumer, int operand) const {
    const view& v = views_.of[operand];
    const int l = local(v.base);
    if (l < 0 || locals_[l].is_after) return -1;
    const shape& dims = g_.type(operand).dims;
    if (locals_[l].per_row) return l;
    const bool whole = g_[consumer].type.dims == domain_ || is_reducing(consumer);
    return whole && is_contiguous(v, dims) ? l : -1;
  }

  // A product's operands are slots of their own; see emit_dot.
  [[nodiscard]] constexpr int num_operands(const local_node& n) const {
    return g_[n.node].code == op::dot ? 0 : g_[n.node].num_operands;
  }

  constexpr void find_phases() {
    for (int i = 0; i < num_locals_; ++i) {
      local_node& n = locals_[i];
      for (int k = 0; k < num_operands(n); ++k) {
        const int from = inner_operand(n.node, g_.operand(n.node, k));
        n.inner[k] = from;
        if (from >= 0 && locals_[from].phase > n.phase) n.phase = locals_[from].phase;
      }
      if (is_reducing(n.node) && n.per_row) {
        ++n.phase;
        has_row_reduce_ = true;
      }
    }
  }

  [[nodiscard]] constexpr bool is_dear(int node) const {
    return storer::cost_of(g_[node].code) >= 4;
  }

  // A result of this kernel, of the same type, that is written no earlier than `last` is read.
  [[nodiscard]] constexpr int parking_place(int node, int last) const {
    const int own = local(node);
    if (locals_[own].is_written) return own;
    for (int i = 0; i < num_locals_; ++i) {
      const local_node& n = locals_[i];
      if (n.per_row || n.is_after || n.phase < last || !n.is_written) continue;
      if (g_[n.node].type == g_[node].type && !is_taken(i)) return i;
    }
    return -1;
  }
  [[nodiscard]] constexpr bool is_taken(int place) const {
    for (int i = 0; i < num_locals_; ++i) {
      if (i != place && locals_[i].park == place) return true;
    }
    return false;
  }
  int group_now_ = -1;

  constexpr void find_needs() {
    for (int i = 0; i < num_locals_; ++i) {
      if (!locals_[i].is_written) continue;
      locals_[i].needed = true;
      if (!locals_[i].per_row && !locals_[i].is_after) {
        locals_[i].need |= std::uint64_t{1} << locals_[i].phase;
      }
    }
    for (int i = num_locals_ - 1; i >= 0; --i) {
      local_node& n = locals_[i];
      if (n.need != 0) n.needed = true;
      if (!n.needed) continue;
      if (n.need >> (n.phase + 1) != 0 && is_dear(n.node)) {
        const int last = 63 - std::countl_zero(n.need);
        n.park = parking_place(n.node, last);
        if (n.park >= 0) n.need |= std::uint64_t{1} << n.phase;
      }
      const bool reduces = is_reducing(n.node);
      std::uint64_t phases = n.need;
      if (n.park >= 0) phases = std::uint64_t{1} << n.phase;
      if (reduces) phases = std::uint64_t{1} << (n.per_row ? n.phase - 1 : n.phase);
      for (int k = 0; k < num_operands(n); ++k) {
        const int from = n.inner[k];
        if (from < 0) continue;
        locals_[from].needed = true;
        if (!locals_[from].per_row) locals_[from].need |= phases;
      }
    }
  }

  constexpr void find_slots() {
    for (int i = 0; i < num_locals_; ++i) {
      local_node& n = locals_[i];
      if (!n.needed) continue;
      for (int k = 0; k < num_operands(n); ++k) {
        if (n.inner[k] >= 0) continue;
        const int operand = g_.operand(n.node, k);
        const bool is_constant = g_[views_.of[operand].base].code == op::constant;
        n.from[k] = is_constant ? -1 : operand_slot(n.node, operand);
      }
    }
    for (int i = 0; i < num_locals_; ++i) {
      if (locals_[i].is_written) locals_[i].to = output_slot(locals_[i].node);
    }
  }

  constexpr void emit_loop(int at) {
    group_now_ = at;
    begin_kernel(groups_.groups[at].domain);
    gather_locals(at);
    find_phases();
    bool any = false;
    for (int i = 0; i < num_locals_; ++i) any = any || locals_[i].is_written;
    if (!any) return;
    find_needs();
    find_slots();

    slot merged[64]{};
    const shape merged_domain = merge_axes(merged);
    classify(merged, merged_domain);
    // A row is written once and in order, from an aligned place on: rows are whole cache lines.
    const std::int64_t row = merged_domain.rank == 0 ? 1 : merged_domain[merged_domain.rank - 1];
    is_streamable_ = !has_row_reduce_ && (merged_domain.rank == 1 || row % 64 == 0);
    emit_stages(merged);
    finish_loop(merged, merged_domain);
  }

  constexpr void emit_stages(const slot* merged) {
    int last_phase = 0;
    for (int i = 0; i < num_locals_; ++i) {
      if (locals_[i].needed && locals_[i].phase > last_phase) last_phase = locals_[i].phase;
    }
    for (int s = 0; s < num_slots_; ++s) {
      slot_row_value_[s] = 0;
      if (!slots_[s].is_output && merged[s].walk == access::splat) {
        slot_row_value_[s] = emit_load(merged, s, 0) + 1;
      }
    }
    for (int phase = 0; phase <= last_phase; ++phase) {
      for (int i = 0; i < num_locals_; ++i) {
        if (locals_[i].needed && locals_[i].per_row && locals_[i].phase == phase) {
          emit_row_node(merged, i, 2 * phase);
        }
      }
      for (int s = 0; s < num_slots_; ++s) slot_element_value_[s] = 0;
      for (int i = 0; i < num_locals_; ++i) emit_element_node(merged, i, phase);
    }
  }

  constexpr void emit_row_node(const slot* merged, int l, int stage) {
    const local_node& n = locals_[l];
    // A reduction was emitted in the phase before; its value is already named.
    if (!is_reducing(n.node)) row_value_[l] = emit_compute(merged, l, stage);
    if (n.is_written) emit_store(merged, n.to, row_value_[l], l, stage);
  }

  constexpr void emit_element_node(const slot* merged, int l, int phase) {
    const local_node& n = locals_[l];
    const int stage = 2 * phase + 1;
    if (!n.needed) return;
    if (is_reducing(n.node)) {
      if (n.per_row ? n.phase - 1 == phase : n.phase == phase) {
        emit_reduction(merged, l, stage);
      }
      return;
    }
    if (n.per_row || ((n.need >> phase) & 1) == 0) return;
    if (phase > n.phase && n.park >= 0) {
      instruction i{};
      i.kind = instruction_kind::load;
      i.element = g_[n.node].type.element;
      i.slot = locals_[n.park].to;
      i.walk = merged[i.slot].walk;
      i.stage = stage;
      element_value_[l] = emit(i);
      return;
    }
    element_value_[l] =
        g_[n.node].code == op::dot ? emit_accumulator(l, stage) : emit_compute(merged, l, stage);
    if (phase != n.phase) return;
    if (n.is_written) {
      emit_store(merged, n.to, element_value_[l], l, stage);
    } else if (n.park >= 0) {
      emit_store(merged, locals_[n.park].to, element_value_[l], l, stage);
    }
  }

  constexpr int emit_accumulator(int l, int stage) {
    instruction i{};
    i.kind = instruction_kind::accumulator;
    i.code = op::dot;
    i.element = g_[locals_[l].node].type.element;
    i.stage = stage;
    return emit(i);
  }

  constexpr int operand_value(const slot* merged, const local_node& n, int k, int stage) {
    if (const int from = n.inner[k]; from >= 0) {
      return locals_[from].per_row ? row_value_[from] : element_value_[from];
    }
    const int s = n.from[k];
    if (s < 0) {
      const int base = views_.of[g_.operand(n.node, k)].base;
      instruction i{};
      i.kind = instruction_kind::constant;
      i.element = g_[base].type.element;
      i.bits = g_.attribute(base);
      i.stage = stage;
      return emit(i);
    }
    if (slot_row_value_[s] != 0) return slot_row_value_[s] - 1;
    if (slot_element_value_[s] == 0) slot_element_value_[s] = emit_load(merged, s, stage) + 1;
    return slot_element_value_[s] - 1;
  }

  constexpr int emit_compute(const slot* merged, int l, int stage) {
    const int id = locals_[l].node;
    instruction i{};
    i.kind = instruction_kind::compute;
    i.code = g_[id].code;
    i.element = g_[id].type.element;
    i.num_operands = g_[id].num_operands;
    i.stage = stage;
    if (i.code == op::threefry || i.code == op::polygamma) i.bits = g_.attribute(id);
    for (int k = 0; k < i.num_operands; ++k) {
      i.operands[k] = operand_value(merged, locals_[l], k, stage);
    }
    return emit(i);
  }

  constexpr void emit_store(const slot* merged, int s, int value, int l, int stage) {
    instruction i{};
    i.kind = instruction_kind::store;
    i.element = g_[locals_[l].node].type.element;
    i.walk = merged[s].walk;
    const bool is_home = slots_[s].base == locals_[l].node;
    if (is_home && streams_[slots_[s].base] && is_streamable_) i.walk = access::stream;
    i.operands[0] = value;
    i.num_operands = 1;
    i.slot = s;
    i.stage = stage;
    emit(i);
  }

  constexpr void emit_reduction(const slot* merged, int l, int stage) {
    const int id = locals_[l].node;
    instruction i{};
    i.code = g_[id].code;
    i.element = g_[id].type.element;
    i.num_operands = 1;
    i.stage = stage;
    i.operands[0] = operand_value(merged, locals_[l], 0, stage);
    if (locals_[l].per_row) {
      i.kind = instruction_kind::row_reduce;
      row_value_[l] = emit(i);
      return;
    }
    i.kind = instruction_kind::partial;
    i.slot = locals_[l].to;
    i.walk = merged[i.slot].walk;
    i.per_row = i.walk == access::splat || g_[id].type.size() == 1;
    emit(i);
    ++num_reductions_;
  }

  constexpr void finish_loop(const slot* merged, const shape& dims) {
    step s{};
    s.domain = dims;
    s.node = locals_[num_locals_ - 1].node;
    s.reductions = num_reductions_;
    for (int i = 0; i < num_locals_; ++i) {
      const local_node& n = locals_[i];
      if (n.needed) out_.flops += g_[n.node].type.size();
    }
    s.kernel = find_kernel(kernel{kernel_kind::loop, op::add, dtype::f32, dtype::i32, 0, 0, 0});
    push_step(s, merged);
  }
};

}  // namespace atled::passes::detail
