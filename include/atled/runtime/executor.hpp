// atled/runtime/executor.hpp: runs the steps of a program, one after the other.
// Reads: runtime/freeze.hpp, runtime/arena.hpp, runtime/threads.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/runtime/arena.hpp"
#include "atled/runtime/freeze.hpp"
#include "atled/runtime/threads.hpp"

#include <cstring>

namespace atled::runtime {

/// A program as plain data, the same type for all programs.
struct frozen_program {
  const frozen_step* steps;
  int num_steps;
  const slot_place* places;
  const kernel_function* kernels;
  const late_output* late;
  int num_late;
  std::int64_t arena_bytes;
  std::int64_t dot_workspace;
  std::int64_t loop_workspace;
  const std::int64_t* strides;
  const std::int64_t* partial_sizes;
  const std::int64_t* numbers;
  const std::size_t* first_stride;
  const std::size_t* first_partial_size;
  const std::size_t* first_number;
};

/// Runs a program on the memory of its parameters and outputs.
///
/// Cost: one indirect call a step; no allocation once the thread's arena is large enough.
/// Throws: std::bad_alloc, before anything is written, if the arena cannot be had.
inline void execute(const frozen_program& p, const std::byte* const* parameters,
                    std::byte* const* outputs) {
  const int threads = num_threads();
  const std::int64_t dots = p.dot_workspace * threads;
  const std::int64_t workspace_bytes = dots > p.loop_workspace ? dots : p.loop_workspace;
  std::byte* const memory = thread_arena().reserve(p.arena_bytes + workspace_bytes + 64);
  std::byte* const workspace = memory + (p.arena_bytes + 63) / 64 * 64;
  for (int i = 0; i < p.num_steps; ++i) {
    const frozen_step& s = p.steps[i];
    std::byte* slots[loops::max_loop_slots];
    for (int k = 0; k < s.num_slots; ++k) {
      const slot_place& at = p.places[s.slots_begin + k];
      if (at.is_index) {
        slots[k] = reinterpret_cast<std::byte*>(at.offset);  // NOLINT: an index, not an address
      } else if (at.space == passes::memory_space::parameter) {
        slots[k] = const_cast<std::byte*>(parameters[at.index]) + at.offset;  // NOLINT: read only
      } else if (at.space == passes::memory_space::output) {
        slots[k] = outputs[at.index] + at.offset;
      } else {
        slots[k] = memory + at.offset;
      }
    }
    step_data data = s.data;
    data.strides = p.strides + p.first_stride[i];
    data.loop.strides = data.strides;
    data.partial_sizes = p.partial_sizes + p.first_partial_size[i];
    data.numbers = p.numbers + p.first_number[i];
    p.kernels[s.kernel](data, slots, workspace, threads);
  }
  for (int i = 0; i < p.num_late; ++i) {
    const late_output& late = p.late[i];
    std::memcpy(outputs[late.output], memory + late.offset, static_cast<std::size_t>(late.bytes));
  }
}

}  // namespace atled::runtime
