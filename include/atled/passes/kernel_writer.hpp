// atled/passes/kernel_writer.hpp: the slots and instructions of one kernel, and its step.
// Reads: passes/plan.hpp, passes/layout.hpp. Next: passes/emit_loop.hpp, which fills them.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/layout.hpp"
#include "atled/passes/plan.hpp"

namespace atled::passes::detail {

/// Collects slots and instructions; equal kernels become one when a step is pushed.
class kernel_writer {
 protected:
  constexpr kernel_writer(const ir::graph& g, const layout& views, plan& out)
      : g_(g), views_(views), out_(out) {}

  const ir::graph& g_;
  const layout& views_;
  plan& out_;

  shape domain_{};
  bool has_row_reduce_ = false;
  slot slots_[64]{};
  int num_slots_ = 0;
  instruction code_[512]{};
  int num_code_ = 0;

  constexpr void begin_code(const shape& domain) {
    num_slots_ = 0;
    num_code_ = 0;
    has_row_reduce_ = false;
    domain_ = domain;
  }

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
    if (s.order == 0) s.order = s.node;
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

}  // namespace atled::passes::detail
