// atled/runtime/tables.hpp: what is left of a plan at run time: tables, sized to what a program
// needs. Reads: passes/batch_run.hpp, runtime/lower.hpp. Next: runtime/freeze.hpp writes them.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/batch_run.hpp"
#include "atled/runtime/collective.hpp"
#include "atled/runtime/lower.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace atled::runtime {

/// Where a slot's memory begins. Units: bytes.
struct slot_place {
  passes::memory_space space;
  bool is_index;  ///< no memory: `offset` is the index at the origin
  int index;
  std::int64_t offset;
};

/// One launch: a kernel, its slots and its data.
struct frozen_step {
  int kernel;
  int region;      ///< among the program's loops and conds, or -1
  int collective;  ///< among its collectives, or -1
  int wait;        ///< of a collective: the step before which it must be done
  int slots_begin;
  int num_slots;
  step_data data;
};

/// How one step of a run is cut into items; see passes/batch_run.hpp. Units of `slot_steps`: bytes
/// from one item to the next along each part, for each slot of the step.
struct frozen_cut {
  passes::item_cut cut;
  std::size_t slot_steps;  ///< the first one, among all
};

/// Steps [begin, end), which run item by item.
struct frozen_run {
  int begin, end;
  std::int64_t items;
  std::size_t cuts;  ///< that of the first step, among all
};

/// An output that is computed in the arena and moved to its place at the end.
struct late_output {
  int output;
  std::int64_t offset;
  std::int64_t bytes;
};

/// Sizes of a program's tables.
struct frozen_sizes {
  std::size_t steps, slots, strides, partial_sizes, numbers, late, collectives;
  std::size_t runs, cuts, slot_steps;
};

/// All tables of a program. The pointers in `step_data` lead into the same object.
template <frozen_sizes Sizes>
struct frozen_tables {
  std::array<frozen_step, Sizes.steps> steps;
  std::array<slot_place, Sizes.slots> places;
  std::array<std::int64_t, Sizes.strides> strides;
  std::array<std::int64_t, Sizes.partial_sizes> partial_sizes;
  std::array<std::int64_t, Sizes.numbers> numbers;
  std::array<late_output, Sizes.late> late;
  std::array<collective_call, Sizes.collectives> collectives;
  std::array<frozen_run, Sizes.runs> runs;
  std::array<frozen_cut, Sizes.cuts> cuts;
  std::array<std::int64_t, Sizes.slot_steps> slot_steps;
  std::array<std::size_t, Sizes.steps> first_stride;
  std::array<std::size_t, Sizes.steps> first_partial_size;
  std::array<std::size_t, Sizes.steps> first_number;
  std::int64_t dot_workspace;   ///< for each thread
  std::int64_t loop_workspace;  ///< for all
};

}  // namespace atled::runtime
