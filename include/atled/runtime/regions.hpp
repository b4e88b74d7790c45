// atled/runtime/regions.hpp: a program as plain data, its steps one after the other, and the loops
// and branches among them, whose bodies are programs in turn.
// Reads: runtime/freeze.hpp. Next: runtime/executor.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/regions.hpp"
#include "atled/runtime/freeze.hpp"

#include <cstring>
#ifdef _OPENMP
#  include <atomic>
#endif

namespace atled::runtime {

struct region_call;

/// A program as plain data, the same type for all programs.
struct frozen_program {
  const frozen_step* steps;
  int num_steps;
  const slot_place* places;
  const kernel_function* kernels;
  const late_output* late;
  int num_late;
  int num_parameters;
  int num_outputs;
  std::int64_t arena_bytes;
  std::int64_t region_bytes;    ///< for the body that needs most, and what is inside of it
  std::int64_t dot_workspace;   ///< for each thread, bodies included
  std::int64_t loop_workspace;  ///< for all, bodies included
  const std::int64_t* strides;
  const std::int64_t* partial_sizes;
  const std::int64_t* numbers;
  const std::size_t* first_stride;
  const std::size_t* first_partial_size;
  const std::size_t* first_number;
  const region_call* regions;
  const collective_call* collectives;
  int num_collectives;
  const frozen_run* runs;
  int num_runs;
  const frozen_cut* cuts;
  const std::int64_t* slot_steps;
};

/// One loop or cond of a program; passes/close_regions.hpp says what its operands are.
struct region_call {
  op code;
  bool is_wide_index;  ///< cond: it is an i32, not a boolean
  std::int64_t trips;  ///< loop: -1 where there is no bound
  std::int64_t flags;
  int num_carries, num_items, num_ys;
  int num_parts;
  int num_results;
  const frozen_program* const* parts;
  const std::int64_t* bytes;  ///< of a carry, of a row of each stack that is read, and written
};

namespace detail {

[[nodiscard]] constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

[[nodiscard]] constexpr std::int64_t pointer_bytes(std::int64_t count) {
  return aligned(count * static_cast<std::int64_t>(sizeof(std::byte*)));
}
/// Memory of a body: tables of pointers to its parameters and outputs, a flag, its arena, and what
/// its own bodies need.
[[nodiscard]] constexpr std::int64_t part_bytes(int num_parameters, int num_outputs,
                                                std::int64_t arena_bytes,
                                                std::int64_t region_bytes) {
  return pointer_bytes(num_parameters + num_outputs) + 64 + aligned(arena_bytes) + region_bytes;
}
[[nodiscard]] constexpr std::int64_t part_bytes(const frozen_program& part) {
  return part_bytes(part.num_parameters, part.num_outputs, part.arena_bytes, part.region_bytes);
}

/// What all steps of a call share: the workspace of its kernels, its threads, and the ranks that
/// run it together, if there are others.
struct call_resources {
  std::byte* workspace;
  int threads;
  comm::grid* ranks;
};

inline void run_region(const region_call& call, std::byte* const* slots, std::byte* memory,
                       const call_resources& shared);

/// Where the values of one call lie.
struct call_memory {
  const std::byte* const* parameters;
  std::byte* const* outputs;
  std::byte* arena;

  [[nodiscard]] std::byte* operator()(const slot_place& at) const {
    if (at.is_index) {
      return reinterpret_cast<std::byte*>(at.offset);  // NOLINT: an index, not an address
    }
    if (at.space == passes::memory_space::parameter) {
      return const_cast<std::byte*>(parameters[at.index]) + at.offset;  // NOLINT: read only
    }
    if (at.space == passes::memory_space::output) return outputs[at.index] + at.offset;
    return arena + at.offset;
  }
};

[[nodiscard]] inline step_data data_of(const frozen_program& p, int step) {
  step_data data = p.steps[step].data;
  data.strides = p.strides + p.first_stride[step];
  data.loop.strides = data.strides;
  data.partial_sizes = p.partial_sizes + p.first_partial_size[step];
  data.numbers = p.numbers + p.first_number[step];
  return data;
}

/// One step of a run, for one item alone.
inline void run_item(const frozen_program& p, int step, const frozen_cut& how, std::int64_t item,
                     const call_memory& place, std::byte* workspace) {
  const frozen_step& s = p.steps[step];
  std::byte* slots[loops::max_loop_slots];
  for (int k = 0; k < s.num_slots; ++k) slots[k] = place(p.places[s.slots_begin + k]);
  step_data data = data_of(p, step);
  for (int c = how.cut.size; c-- > 0;) {  // the innermost part of the item's number first
    const passes::item_cut::part& part = how.cut.parts[c];
    const std::int64_t index = item % part.count;
    item /= part.count;
    const std::int64_t* steps = p.slot_steps + how.slot_steps + c;
    for (int k = 0; k < s.num_slots; ++k, steps += passes::item_cut::max_parts) {
      slots[k] += index * *steps;
    }
    const auto axis = static_cast<std::size_t>(part.axis);
    if (axis < data.gemm.batch.size()) data.gemm.batch[axis] = part.rest;
    data.loop.outer[part.axis] = part.rest;
    data.loop.rows /= part.count;
  }
  data.loop.chunks = 1;
  data.is_parallel = false;
  p.kernels[s.kernel](data, slots, workspace, 1);
}

/// The steps of a run, item after item, each of them one thread's.
inline void run_items(const frozen_program& p, const frozen_run& run, const call_memory& place,
                      const call_resources& shared) {
  const frozen_cut* const cuts = p.cuts + run.cuts;
#ifdef _OPENMP
  std::atomic<int> next_thread{0};
#  pragma omp parallel num_threads(shared.threads) if (shared.threads > 1)
  {
    std::byte* const mine = shared.workspace + next_thread.fetch_add(1) * p.dot_workspace;
#  pragma omp for schedule(dynamic)
    for (std::int64_t item = 0; item < run.items; ++item) {
      for (int i = run.begin; i < run.end; ++i) {
        run_item(p, i, cuts[i - run.begin], item, place, mine);
      }
    }
  }
#else
  for (std::int64_t item = 0; item < run.items; ++item) {
    for (int i = run.begin; i < run.end; ++i) {
      run_item(p, i, cuts[i - run.begin], item, place, shared.workspace);
    }
  }
#endif
}

/// `memory` holds the arena and then the memory of the bodies.
inline void run_steps(const frozen_program& p, const std::byte* const* parameters,
                      std::byte* const* outputs, std::byte* memory, const call_resources& shared) {
  const call_memory place{parameters, outputs, memory};
  pending_calls calls;
  int next_run = 0;
  for (int i = 0; i < p.num_steps; ++i) {
    const frozen_step& s = p.steps[i];
    if (next_run < p.num_runs && p.runs[next_run].begin == i) {
      const frozen_run& run = p.runs[next_run++];
      if (run.items >= shared.threads) {
        calls.before(run.end - 1);
        run_items(p, run, place, shared);
        i = run.end - 1;
        continue;
      }
    }
    calls.before(i);
    const slot_place* const places = p.places + s.slots_begin;
    if (s.region >= 0) {
      std::byte* const own = memory + aligned(p.arena_bytes);
      auto* const slots = reinterpret_cast<std::byte**>(own);
      for (int k = 0; k < s.num_slots; ++k) slots[k] = place(places[k]);
      run_region(p.regions[s.region], slots, own + pointer_bytes(s.num_slots), shared);
      continue;
    }
    std::byte* slots[loops::max_loop_slots];
    for (int k = 0; k < s.num_slots; ++k) slots[k] = place(places[k]);
    if (s.collective >= 0) {
      calls.start(p.collectives[s.collective], slots, *shared.ranks, i, s.wait);
      continue;
    }
    p.kernels[s.kernel](data_of(p, i), slots, shared.workspace, shared.threads);
  }
  calls.finish_all();
  for (int i = 0; i < p.num_late; ++i) {
    const late_output& late = p.late[i];
    std::memcpy(outputs[late.output], memory + late.offset, static_cast<std::size_t>(late.bytes));
  }
}

/// A body and the tables of what it reads and writes.
struct prepared_part {
  const frozen_program* program;
  const std::byte** parameters;
  std::byte** outputs;
  std::byte* memory;

  static prepared_part of(const frozen_program& program, std::byte* memory) {
    auto** const tables = reinterpret_cast<std::byte**>(memory);
    return {&program, const_cast<const std::byte**>(tables), tables + program.num_parameters,
            memory + part_bytes(program.num_parameters, program.num_outputs, 0, 0)};
  }
  void run(const call_resources& shared) const {
    run_steps(*program, parameters, outputs, memory, shared);
  }
};

inline void run_cond(const region_call& call, std::byte* const* slots, std::byte* memory,
                     const call_resources& shared) {
  std::int64_t index = 0;
  if (call.is_wide_index) {
    i32 wide = 0;
    std::memcpy(&wide, slots[0], sizeof wide);
    index = wide;
  } else {
    index = *slots[0] != std::byte{0} ? 1 : 0;
  }
  if (index < 0) index = 0;
  if (index >= call.num_parts) index = call.num_parts - 1;
  int from = 1;
  int end = 1;
  for (int i = 0; i < call.num_parts; ++i) {
    if (i < index) from += call.parts[i]->num_parameters;
    end += call.parts[i]->num_parameters;
  }
  const prepared_part part = prepared_part::of(*call.parts[index], memory);
  for (int i = 0; i < part.program->num_parameters; ++i) part.parameters[i] = slots[from + i];
  for (int i = 0; i < call.num_results; ++i) part.outputs[i] = slots[end + i];
  part.run(shared);
}

/// Carries lie where the results are, and are written in place trip by trip; rows are read from and
/// written to their stacks.
inline void run_loop_region(const region_call& call, std::byte* const* slots, std::byte* memory,
                            const call_resources& shared) {
  using parts = ir::loop_parts;
  const bool has_predicate = (call.flags & parts::has_predicate) != 0;
  const bool is_reverse = (call.flags & parts::is_reverse) != 0;
  const int bound = call.num_carries + call.num_items;
  std::int64_t limit = call.trips;
  int next = bound;  // among the slots
  if ((call.flags & parts::has_count) != 0) {
    i32 count = 0;
    std::memcpy(&count, slots[next++], sizeof count);
    const std::int64_t wanted = count < 0 ? 0 : count;
    limit = limit >= 0 && limit < wanted ? limit : wanted;
  }
  const prepared_part trip = prepared_part::of(*call.parts[0], memory);
  for (int i = bound; i < trip.program->num_parameters; ++i) trip.parameters[i] = slots[next++];
  prepared_part predicate{};
  std::byte* flag = nullptr;
  if (has_predicate) {
    predicate = prepared_part::of(*call.parts[1], memory + part_bytes(*call.parts[0]));
    flag = predicate.memory - 64;
    predicate.outputs[0] = flag;
    for (int i = call.num_carries; i < predicate.program->num_parameters; ++i) {
      predicate.parameters[i] = slots[next++];
    }
  }
  std::byte* const* const results = slots + next;
  for (int i = 0; i < call.num_carries; ++i) {
    if (results[i] != slots[i]) {
      std::memcpy(results[i], slots[i], static_cast<std::size_t>(call.bytes[i]));
    }
    trip.parameters[i] = trip.outputs[i] = results[i];
    if (has_predicate) predicate.parameters[i] = results[i];
  }
  const std::int64_t* const item_bytes = call.bytes + call.num_carries;
  const std::int64_t* const row_bytes = item_bytes + call.num_items;
  std::int64_t done = 0;
  for (; limit < 0 || done < limit; ++done) {
    if (has_predicate) {
      predicate.run(shared);
      if (*flag == std::byte{0}) break;
    }
    const std::int64_t at = is_reverse ? limit - 1 - done : done;
    for (int i = 0; i < call.num_items; ++i) {
      trip.parameters[call.num_carries + i] = slots[call.num_carries + i] + at * item_bytes[i];
    }
    for (int i = 0; i < call.num_ys; ++i) {
      trip.outputs[call.num_carries + i] = results[call.num_carries + i] + at * row_bytes[i];
    }
    trip.run(shared);
  }
  for (int i = 0; i < call.num_ys && done < call.trips; ++i) {
    std::memset(results[call.num_carries + i] + done * row_bytes[i], 0,
                static_cast<std::size_t>((call.trips - done) * row_bytes[i]));
  }
}

inline void run_region(const region_call& call, std::byte* const* slots, std::byte* memory,
                       const call_resources& shared) {
  if (call.code == op::cond) {
    run_cond(call, slots, memory, shared);
  } else {
    run_loop_region(call, slots, memory, shared);
  }
}

}  // namespace detail
}  // namespace atled::runtime
