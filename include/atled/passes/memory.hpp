// atled/passes/memory.hpp: where every stored value lies: parameters, outputs, one arena.
// Reads: passes/plan.hpp. Next: transform/program.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/plan.hpp"

namespace atled::passes {

/// Units: bytes; a cache line, and the width of the widest vectors.
inline constexpr std::int64_t arena_alignment = 64;

namespace detail {

/// Free pieces of the arena, in order of their offsets.
struct free_list {
  static constexpr int capacity = 1 << 13;
  std::int64_t begin[capacity];
  std::int64_t end[capacity];
  int size;
  std::int64_t top;  // the arena's end so far

  // The smallest piece that fits; else the arena grows, using a free piece at its end.
  constexpr std::int64_t take(std::int64_t bytes) {
    int best = -1;
    for (int i = 0; i < size; ++i) {
      const auto room = end[i] - begin[i];
      if (room >= bytes && (best < 0 || room < end[best] - begin[best])) best = i;
    }
    if (best < 0) {
      std::int64_t at = top;
      if (size > 0 && end[size - 1] == top) at = begin[--size];
      top = at + bytes;
      return at;
    }
    const std::int64_t at = begin[best];
    begin[best] += bytes;
    if (begin[best] == end[best]) remove(best);
    return at;
  }
  constexpr void give(std::int64_t at, std::int64_t bytes) {
    int i = 0;
    while (i < size && begin[i] < at) ++i;
    const bool joins_left = i > 0 && end[i - 1] == at;
    const bool joins_right = i < size && begin[i] == at + bytes;
    if (joins_left && joins_right) {
      end[i - 1] = end[i];
      remove(i);
    } else if (joins_left) {
      end[i - 1] = at + bytes;
    } else if (joins_right) {
      begin[i] = at;
    } else {
      for (int k = size; k > i; --k) {
        begin[k] = begin[k - 1];
        end[k] = end[k - 1];
      }
      begin[i] = at;
      end[i] = at + bytes;
      ++size;
    }
  }
  constexpr void remove(int i) {
    for (int k = i; k + 1 < size; ++k) {
      begin[k] = begin[k + 1];
      end[k] = end[k + 1];
    }
    --size;
  }
};

[[nodiscard]] constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

/// True if the step reads `in` exactly where it writes `out`, and never after having written.
///
/// Kernels work element by element within a row, each element in the order of the instructions: a
/// load is safe that stands before the first store to the same place. A product reads its operands
/// throughout, but what its epilogue loads is as safe.
[[nodiscard]] constexpr bool overwrites_safely(const plan& p, const step& s, int out_slot,
                                               int in_base) {
  const kernel& k = p.kernels[s.kernel];
  const bool is_dot = k.kind == kernel_kind::dot;
  const slot& out = p.slots[s.slots_begin + out_slot];
  if (k.kind == kernel_kind::collective) {  // of one operand; these may work in place
    const bool is_fine = k.code == op::psum || k.code == op::pmax || k.code == op::pmin;
    return is_fine && p.slots[s.slots_begin].offset == out.offset;
  }
  if (k.kind != kernel_kind::loop && !is_dot) return false;
  int first_store = 1 << 20;  // its stage
  int first_place = 0;        // and its place in the kernel
  for (int i = 0; i < k.size; ++i) {
    const instruction& at = p.instructions[k.begin + i];
    if (at.kind == instruction_kind::partial && at.slot == out_slot) return false;
    if (at.kind == instruction_kind::store && at.slot == out_slot && at.stage < first_store) {
      first_store = at.stage;
      first_place = i;
    }
  }
  if (first_store % 2 == 0) return false;  // one value a row
  for (int l = 0; l < s.num_slots; ++l) {
    const slot& in = p.slots[s.slots_begin + l];
    if (in.is_output || in.base != in_base) continue;
    if (is_dot && l < 2) return false;
    if (in.offset != out.offset) return false;
    for (int a = 0; a < s.domain.rank; ++a) {
      if (in.strides[a] != out.strides[a]) return false;
    }
    for (int i = 0; i < k.size; ++i) {
      const instruction& at = p.instructions[k.begin + i];
      if (at.kind != instruction_kind::load || at.slot != l) continue;
      if (at.stage > first_store || (at.stage == first_store && i > first_place)) return false;
    }
  }
  return true;
}

class memory_planner {
 public:
  constexpr memory_planner(const ir::graph& g, const donation& donated, plan& out)
      : g_(g), donated_(donated), out_(out) {}

  constexpr void run() {
    find_uses();
    find_waits();
    place_parameters();
    place_outputs();
    for (int i = 0; i < out_.num_steps; ++i) run_step(i);
    out_.arena_bytes = free_.top;
    out_.peak_bytes = free_.top + output_bytes_;
  }

 private:
  const ir::graph& g_;
  const donation& donated_;
  plan& out_;
  int first_write_[ir::graph::max_nodes]{};  // step + 1
  int last_use_[ir::graph::max_nodes]{};     // step + 1
  free_list free_{};
  std::int64_t output_bytes_ = 0;

  constexpr void find_uses() {
    for (int i = 0; i < out_.num_steps; ++i) {
      const step& s = out_.steps[i];
      for (int k = 0; k < s.num_slots; ++k) {
        const slot& at = out_.slots[s.slots_begin + k];
        if (at.base < 0) continue;
        last_use_[at.base] = i + 1;
        if (at.is_output && first_write_[at.base] == 0) first_write_[at.base] = i + 1;
      }
    }
  }

  // A collective begins where its step stands, and is waited for where its result is first read.
  constexpr void find_waits() {
    int first_read[ir::graph::max_nodes]{};  // step + 1
    for (int i = out_.num_steps - 1; i >= 0; --i) {
      step& s = out_.steps[i];
      if (out_.kernels[s.kernel].kind == kernel_kind::collective) {
        const int result = out_.slots[s.slots_begin + s.num_slots - 1].base;
        s.wait = first_read[result] > 0 ? first_read[result] - 1 : out_.num_steps;
        if (s.num_slots > 1) keep_busy(out_.slots[s.slots_begin].base, s.wait);
        keep_busy(result, s.wait);
      }
      for (int k = 0; k < s.num_slots; ++k) {
        const slot& at = out_.slots[s.slots_begin + k];
        if (at.base >= 0 && !at.is_output) first_read[at.base] = i + 1;
      }
    }
  }
  int busy_until_[ir::graph::max_nodes]{};    // a step; what a collective under way reads or writes
  int next_to_give_[ir::graph::max_nodes]{};  // base + 1: those that are free after one step
  int first_to_give_[plan::max_steps + 1]{};  // base + 1, by step

  constexpr void keep_busy(int base, int until) {
    if (until > busy_until_[base]) busy_until_[base] = until;
  }
  constexpr void give(int base) {
    free_.give(out_.place[base].offset, aligned(g_.type(base).bytes()));
  }

  constexpr void place_parameters() {
    for (int i = 0; i < g_.num_parameters; ++i) {
      out_.place[g_.parameters[i]] = location{memory_space::parameter, i, 0};
    }
  }

  // An output takes over a donated parameter only if nothing reads that parameter later; other
  // outputs lie in memory of the caller. passes/compile.hpp has made outputs distinct nodes.
  constexpr void place_outputs() {
    for (int i = 0; i < g_.num_outputs; ++i) {
      const int id = g_.outputs[i];
      out_.place[id] = location{memory_space::output, i, 0};
      const int parameter = donated_.parameter_of[i];
      if (parameter < 0) output_bytes_ += aligned(g_.type(id).bytes());
      if (parameter < 0 || can_take_over(id, g_.parameters[parameter])) continue;
      out_.late_copy[i] = true;
      out_.place[id] = location{memory_space::arena, i, -1};
    }
  }

  [[nodiscard]] constexpr bool can_take_over(int id, int parameter) const {
    const int written = first_write_[id];
    if (busy_until_[parameter] >= written) return false;
    const int used = last_use_[parameter];
    if (used > 0 && written > 0 && out_.run_of[written - 1] != 0 &&
        out_.run_of[written - 1] == out_.run_of[used - 1]) {
      return false;  // another item may read it later
    }
    if (used < written) return true;
    if (used > written) return false;
    const step& s = out_.steps[written - 1];
    for (int k = 0; k < s.num_slots; ++k) {
      const slot& at = out_.slots[s.slots_begin + k];
      if (at.is_output && at.base == id) return overwrites_safely(out_, s, k, parameter);
    }
    return false;
  }

  [[nodiscard]] constexpr bool in_arena(int base) const {
    return base >= 0 && out_.place[base].space == memory_space::arena;
  }

  constexpr void run_step(int i) {
    const step& s = out_.steps[i];
    for (int k = 0; k < s.num_slots; ++k) {
      const slot& at = out_.slots[s.slots_begin + k];
      if (!at.is_output || first_write_[at.base] != i + 1) continue;
      if (out_.place[at.base].space == memory_space::output) continue;
      if (out_.place[at.base].space == memory_space::arena && placed_[at.base]) continue;
      place_result(i, k);
    }
    if (out_.run_of[i] == 0) {
      release_after(i);
    } else if (const batch_run& run = out_.runs[out_.run_of[i] - 1]; run.end == i + 1) {
      for (int r = run.begin; r < run.end; ++r) release_after(r);  // all items have used it
    }
  }
  constexpr void release_after(int i) {
    const step& s = out_.steps[i];
    for (int k = 0; k < s.num_slots; ++k) {
      const int base = out_.slots[s.slots_begin + k].base;
      if (base < 0 || last_use_[base] != i + 1 || !placed_[base] || released_[base]) continue;
      if (is_late(base)) continue;
      released_[base] = true;
      if (busy_until_[base] <= i + 1) {
        give(base);
      } else {
        next_to_give_[base] = first_to_give_[busy_until_[base] - 1];
        first_to_give_[busy_until_[base] - 1] = base + 1;
      }
    }
    for (int next = first_to_give_[i]; next != 0; next = next_to_give_[next - 1]) give(next - 1);
  }
  bool placed_[ir::graph::max_nodes]{};
  bool released_[ir::graph::max_nodes]{};

  [[nodiscard]] constexpr bool is_late(int base) const {
    return out_.place[base].space == memory_space::arena && out_.place[base].index >= 0;
  }

  // Within a run a result may take the place only of what the run has written: each item its piece.
  [[nodiscard]] constexpr bool is_of_run(int in, int i) const {
    return out_.run_of[i] == 0 || out_.run_of[first_write_[in] - 1] == out_.run_of[i];
  }

  constexpr void place_result(int i, int k) {
    const step& s = out_.steps[i];
    const int base = out_.slots[s.slots_begin + k].base;
    const int late_index =
        out_.place[base].space == memory_space::arena && out_.place[base].offset < 0
            ? out_.place[base].index
            : -1;
    const std::int64_t bytes = aligned(g_.type(base).bytes());
    placed_[base] = true;
    if (bytes > 0) {
      for (int l = 0; l < s.num_slots; ++l) {
        const int in = out_.slots[s.slots_begin + l].base;
        if (in < 0 || in == base || !in_arena(in) || !placed_[in] || released_[in]) continue;
        if (last_use_[in] != i + 1 || is_late(in) || !is_of_run(in, i)) continue;
        const bool is_own = out_.kernels[s.kernel].kind == kernel_kind::collective;
        if (busy_until_[in] > i && !is_own) continue;
        if (aligned(g_.type(in).bytes()) != bytes) continue;
        if (g_.type(in).element != g_.type(base).element) continue;
        if (out_.slots[s.slots_begin + l].is_output) continue;
        if (!overwrites_safely(out_, s, k, in)) continue;
        released_[in] = true;
        out_.place[base] = location{memory_space::arena, late_index, out_.place[in].offset};
        return;
      }
    }
    out_.place[base] = location{memory_space::arena, late_index, free_.take(bytes)};
  }
};

}  // namespace detail

/// Gives each stored value its place; a value's memory is free after its last use, and an
/// elementwise result may take the place of an operand that it reads last.
///
/// Cost: O(slots x free pieces), some tens.
constexpr void place_values(const ir::graph& g, const donation& donated, plan& out) {
  detail::memory_planner(g, donated, out).run();
}

}  // namespace atled::passes
