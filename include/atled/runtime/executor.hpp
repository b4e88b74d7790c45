// atled/runtime/executor.hpp: runs a program in the memory of the thread that calls it.
// Reads: runtime/regions.hpp, runtime/arena.hpp, runtime/threads.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/runtime/arena.hpp"
#include "atled/runtime/regions.hpp"
#include "atled/runtime/threads.hpp"

namespace atled::runtime {

/// Runs a program on the memory of its parameters and outputs; one that has collectives together
/// with the other `ranks`.
///
/// Cost: one indirect call a step; no allocation once the thread's arena is large enough.
/// Throws: std::bad_alloc, before anything is written, if the arena cannot be had.
inline void execute(const frozen_program& p, const std::byte* const* parameters,
                    std::byte* const* outputs, comm::grid* ranks = nullptr) {
  const int threads = num_threads();
  const std::int64_t dots = p.dot_workspace * threads;
  const std::int64_t workspace_bytes = dots > p.loop_workspace ? dots : p.loop_workspace;
  const std::int64_t own_bytes = detail::aligned(p.arena_bytes) + p.region_bytes;
  std::byte* const memory = thread_arena().reserve(own_bytes + workspace_bytes + 64);
  detail::run_steps(p, parameters, outputs, memory, {memory + own_bytes, threads, ranks});
}

}  // namespace atled::runtime
