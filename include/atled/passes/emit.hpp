// atled/passes/emit.hpp: groups become steps: instructions, slots, and kernels shared by equal
// ones. Reads: passes/store.hpp, passes/plan.hpp. Next: passes/schedule.hpp.
//
// A loop kernel works row by row. Reductions along a row split its work into phases: what depends
// on a row's maximum, say, runs in a later phase. Cheap values are computed again in each phase
// that needs them; dear ones are parked in the memory of a result of the same kernel.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/plan.hpp"
#include "atled/passes/store.hpp"

namespace atled::passes {

namespace detail {

/// Writes the steps of a plan, one group after the other.
class emitter {
 public:
  constexpr emitter(const ir::graph& g, const layout& views, const grouping& groups,
                    const storage& kept, const donation& donated, plan& out)
      : g_(g), views_(views), groups_(groups), kept_(kept), out_(out) {
    // Results too large for any cache are written past it, unless they take over what was read.
    constexpr std::int64_t large = 16 << 20;
    for (int i = 0; i < g.num_outputs; ++i) {
      const int id = g.outputs[i];
      streams_[id] = donated.parameter_of[i] < 0 && g.type(id).bytes() >= large;
    }
  }

  constexpr void run() {
    for (int id = 0; id < g_.num_nodes; ++id) out_.stored[id] = kept_.stored[id];
    for (int i = 0; i < kept_.num_groups; ++i) emit_group(kept_.by_level[i]);
  }

 private:
  const ir::graph& g_;
  const layout& views_;
  const grouping& groups_;
  const storage& kept_;
  plan& out_;
  bool streams_[ir::graph::max_nodes]{};

  // --- the kernel at hand ------------------------------------------------------------------

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

  shape domain_{};
  bool has_row_reduce_ = false;
  bool is_streamable_ = false;
  slot slots_[64]{};
  int num_slots_ = 0;
  instruction code_[512]{};
  int num_code_ = 0;
  int row_value_[max_locals]{};
  int element_value_[max_locals]{};
  int slot_row_value_[64]{};      // + 1
  int slot_element_value_[64]{};  // + 1, of this stage
  int num_reductions_ = 0;

  [[nodiscard]] constexpr int local(int node) const {
    return stamp_[node] == stamp_now_ ? local_of_[node] - 1 : -1;
  }

  constexpr void begin_kernel(const shape& domain) {
    ++stamp_now_;
    num_locals_ = 0;
    num_slots_ = 0;
    num_code_ = 0;
    num_reductions_ = 0;
    has_row_reduce_ = false;
    is_streamable_ = false;
    domain_ = domain;
  }

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
        if (kept_.stored[in.lead]) {
          emit_copy(in.lead, groups_.copies[groups_.copy_of[in.lead]], in.domain, 0,
                    row_major_strides(in.domain));
        }
        break;
      case group_kind::opaque:
        if (kept_.stored[in.lead]) emit_opaque(in.lead);
        break;
    }
  }

  // --- slots -------------------------------------------------------------------------------

  constexpr int add_slot(int base, std::int64_t offset, const std::int64_t* strides, int rank,
                         bool is_output) {
    for (int i = 0; i < num_slots_; ++i) {
      const slot& s = slots_[i];
      if (s.base != base || s.offset != offset || s.is_output != is_output) continue;
      bool same = true;
      for (int a = 0; a < domain_.rank; ++a) {
        same = same && (domain_[a] == 1 || s.strides[a] == (a < rank ? strides[a] : 0));
      }
      if (same) return i;
    }
    slot& s = slots_[num_slots_];
    s = slot{base, offset, {}, access::unit, is_output};
    for (int a = 0; a < rank; ++a) s.strides[a] = strides[a];
    return num_slots_++;
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

  // --- loops -------------------------------------------------------------------------------

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
    // A row is written once and in order, from an aligned place on.
    is_streamable_ = !has_row_reduce_ && merged_domain.rank == 1;
    emit_stages(merged);
    finish_loop(merged, merged_domain);
  }

  // Merges neighbouring axes that every slot walks as one; the row of a reduction stays alone.
  constexpr shape merge_axes(slot* merged) const {
    shape dims{};
    int kept[max_rank]{};
    for (int a = 0; a < domain_.rank; ++a) {
      if (domain_[a] == 1 && !(has_row_reduce_ && a == domain_.rank - 1)) continue;
      kept[dims.rank] = a;
      dims.push(domain_[a]);
    }
    for (int s = 0; s < num_slots_; ++s) {
      merged[s] = slots_[s];
      for (int a = 0; a < max_rank; ++a) merged[s].strides[a] = 0;
      for (int a = 0; a < dims.rank; ++a) merged[s].strides[a] = slots_[s].strides[kept[a]];
    }
    for (int a = dims.rank - 2; a >= 0; --a) {
      if (has_row_reduce_ && a == dims.rank - 2) continue;
      if (mergeable(merged, dims, a)) merge_pair(merged, dims, a);
    }
    if (dims.rank == 0) dims.push(1);
    return dims;
  }
  [[nodiscard]] constexpr bool mergeable(const slot* merged, const shape& dims, int a) const {
    for (int s = 0; s < num_slots_; ++s) {
      if (merged[s].strides[a] != merged[s].strides[a + 1] * dims[a + 1]) return false;
    }
    return true;
  }
  constexpr void merge_pair(slot* merged, shape& dims, int a) const {
    dims[a] *= dims[a + 1];
    for (int s = 0; s < num_slots_; ++s) merged[s].strides[a] = merged[s].strides[a + 1];
    for (int b = a + 1; b + 1 < dims.rank; ++b) {
      dims[b] = dims[b + 1];
      for (int s = 0; s < num_slots_; ++s) merged[s].strides[b] = merged[s].strides[b + 1];
    }
    --dims.rank;
    dims[dims.rank] = 0;
    for (int s = 0; s < num_slots_; ++s) merged[s].strides[dims.rank] = 0;
  }

  constexpr void classify(slot* merged, const shape& dims) const {
    const int last = dims.rank - 1;
    for (int s = 0; s < num_slots_; ++s) {
      if (dims[last] == 1 && !has_row_reduce_) merged[s].strides[last] = 1;
      const std::int64_t step = merged[s].strides[last];
      merged[s].walk = step == 0 ? access::splat : step == 1 ? access::unit : access::strided;
    }
  }

  constexpr int emit(const instruction& i) {
    code_[num_code_] = i;
    return num_code_++;
  }

  constexpr int emit_load(const slot* merged, int s, int stage) {
    instruction i{};
    const op base = g_[slots_[s].base].code;
    i.kind = base == op::iota ? instruction_kind::index : instruction_kind::load;
    i.element = g_[slots_[s].base].type.element;
    i.walk = merged[s].walk;
    i.slot = s;
    i.stage = stage;
    return emit(i);
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
    if (i.code == op::threefry) i.bits = g_.attribute(id);
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
    if (streams_[slots_[s].base] && is_streamable_) i.walk = access::stream;
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

  // --- products ----------------------------------------------------------------------------

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
    s.k = 1;
    for (int i = 0; i < axes.num_contract; ++i) s.k *= g_.type(lhs).dims[axes.lhs_contract[i]];
    s.lhs_k = contract_stride(lhs, axes.lhs_contract, axes.num_contract);
    s.rhs_k = contract_stride(rhs, axes.rhs_contract, axes.num_contract);
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

 public:
  /// A product that walks its operands in more ways than five loops can.
  bool unsupported = false;

 private:
  constexpr void classify_dot(slot* merged, const shape& dims) const {
    for (int s = 2; s < num_slots_; ++s) {
      std::int64_t& step_along = merged[s].strides[4];
      if (dims[4] == 1) step_along = 1;
      merged[s].walk = step_along == 0   ? access::splat
                       : step_along == 1 ? access::unit
                                         : access::strided;
    }
  }

  // --- copies and the rest -----------------------------------------------------------------

  constexpr void emit_copy(int id, const view& from, const shape& domain, std::int64_t offset,
                           const shape& strides) {
    begin_kernel(domain);
    const op base = g_[from.base].code;
    int in = -1;
    if (base != op::constant) {
      in = add_slot(from.base, from.offset, from.strides, domain.rank, false);
    }
    const int to = add_slot(id, offset, strides.dims, domain.rank, true);
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
    out.walk = merged[to].walk;
    out.operands[0] = value;
    out.num_operands = 1;
    out.slot = to;
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
    const shape strides = row_major_strides(n.type.dims);
    switch (n.code) {
      case op::concatenate: {
        const auto axis = static_cast<int>(g_.attribute(id));
        std::int64_t at = 0;
        for (int k = 0; k < n.num_operands; ++k) {
          const int x = g_.operand(id, k);
          emit_copy(id, views_.of[x], g_.type(x).dims, at * strides[axis], strides);
          at += g_.type(x).dims[axis];
        }
        return;
      }
      case op::pad:
        emit_pad(id, strides);
        return;
      case op::scatter_add:
      case op::dynamic_update_slice: {
        const int x = g_.operand(id, 0);
        emit_copy(id, views_.of[x], n.type.dims, 0, strides);
        emit_generic(id, 1);
        return;
      }
      default:
        emit_generic(id, 0);
        return;
    }
  }

  constexpr void emit_pad(int id, const shape& strides) {
    const int x = g_.operand(id, 0);
    const int filler = g_.operand(id, 1);
    const shape& to = g_[id].type.dims;
    emit_copy(id, view{views_.of[filler].base, views_.of[filler].offset, {}}, to, 0, strides);
    view from = views_.of[x];
    shape domain = g_.type(x).dims;
    shape steps = strides;
    std::int64_t offset = 0;
    for (int a = 0; a < to.rank; ++a) {
      const std::int64_t low = g_.attribute(id, a);
      const std::int64_t apart = g_.attribute(id, to.rank + a) + 1;
      const std::int64_t first = low < 0 ? (-low + apart - 1) / apart : 0;  // the first kept one
      const std::int64_t room = to[a] - 1 - low;
      std::int64_t end = room < 0 ? 0 : room / apart + 1;
      if (end > domain[a]) end = domain[a];
      offset += (low + first * apart) * strides[a];
      from.offset += first * from.strides[a];
      steps[a] = strides[a] * apart;
      domain[a] = end > first ? end - first : 0;
    }
    if (domain.size() > 0) emit_copy(id, from, domain, offset, steps);
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
    kernel k{kernel_kind::generic, code, g_.type(g_.operand(id, 0)).element, dtype::i32, 0, 0, 0};
    if (code == op::gather || code == op::scatter_add) {
      k.kind = code == op::gather ? kernel_kind::gather : kernel_kind::scatter_add;
      k.index = g_.type(g_.operand(id, 1)).element;
    } else if (code == op::dynamic_slice || code == op::dynamic_update_slice) {
      const int start = code == op::dynamic_slice ? 1 : 2;
      if (g_[id].num_operands > start) k.index = g_.type(g_.operand(id, start)).element;
    }
    step s{};
    s.domain = g_[id].type.dims;
    s.node = id;
    s.kernel = find_kernel(k);
    push_step(s, slots_);
  }

  // --- steps and kernels -------------------------------------------------------------------

  // The equal kernel that is there already, or a new one with the instructions at hand.
  constexpr int find_kernel(kernel wanted) {
    wanted.num_slots = num_slots_;
    std::uint64_t hash = static_cast<std::uint64_t>(wanted.kind) * 31 +
                         static_cast<std::uint64_t>(wanted.code) * 7 +
                         static_cast<std::uint64_t>(wanted.element) +
                         static_cast<std::uint64_t>(num_code_) * 1000003U;
    for (int i = 0; i < num_code_; ++i) {
      const instruction& c = code_[i];
      hash = (hash ^ (static_cast<std::uint64_t>(c.code) + 64 * static_cast<std::uint64_t>(c.kind) +
                      static_cast<std::uint64_t>(c.operands[0] + 1) * 4096 +
                      static_cast<std::uint64_t>(c.bits))) *
             0x9E3779B97F4A7C15U;
    }
    constexpr std::uint32_t mask = 4 * plan::max_kernels - 1;
    auto at = static_cast<std::uint32_t>(hash >> 40) & mask;
    for (; kernel_table_[at] != 0; at = (at + 1) & mask) {
      if (equals(out_.kernels[kernel_table_[at] - 1], wanted)) return kernel_table_[at] - 1;
    }
    wanted.begin = out_.num_instructions;
    wanted.size = num_code_;
    for (int i = 0; i < num_code_; ++i) out_.instructions[out_.num_instructions++] = code_[i];
    out_.kernels[out_.num_kernels] = wanted;
    kernel_table_[at] = ++out_.num_kernels;
    return out_.num_kernels - 1;
  }
  int kernel_table_[4 * plan::max_kernels]{};  // + 1

  [[nodiscard]] constexpr bool equals(const kernel& a, const kernel& b) const {
    if (a.kind != b.kind || a.code != b.code || a.element != b.element || a.index != b.index ||
        a.size != num_code_ || a.num_slots != b.num_slots) {
      return false;
    }
    for (int i = 0; i < num_code_; ++i) {
      if (!(out_.instructions[a.begin + i] == code_[i])) return false;
    }
    return true;
  }

  constexpr void push_step(step s, const slot* slots) {
    s.slots_begin = out_.num_slots;
    s.num_slots = num_slots_;
    for (int i = 0; i < num_slots_; ++i) {
      out_.slots[out_.num_slots++] = slots[i];
      if (g_[slots[i].base].code == op::iota) continue;
      const bool is_factor = i < 2 && out_.kernels[s.kernel].kind == kernel_kind::dot;
      out_.bytes_moved += bytes_of(slots[i], s) * (is_factor ? s.k : 1);
    }
    out_.steps[out_.num_steps++] = s;
  }
  // What a step reads or writes through one slot: each element of its memory once.
  [[nodiscard]] constexpr std::int64_t bytes_of(const slot& at, const step& s) const {
    const auto size = size_of(g_[at.base].type.element);
    std::int64_t count = 1;
    bool any = false;
    for (int a = 0; a < s.domain.rank; ++a) {
      if (at.strides[a] == 0) continue;
      any = true;
      count *= s.domain[a];
    }
    if (!any) count = g_[at.base].type.size() < count ? g_[at.base].type.size() : count;
    return count * size;
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
