// atled/passes/plan.hpp: what runs, as a value: steps, the kernels they share, and where data lies.
// Reads: ir/graph.hpp. Made by passes/fuse.hpp and passes/memory.hpp, lowered by runtime/lower.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/graph.hpp"

namespace atled::passes {

/// The arguments of a host function: what one step has numbers for.
inline constexpr int most_host_arguments = 15;

/// How a kernel's inner loop walks along an operand.
enum class access : std::uint8_t {
  splat,    ///< one element for the whole row
  unit,     ///< neighbours in memory
  strided,  ///< a fixed distance apart
  stream,   ///< stores only: neighbours, past the cache
};

/// What one instruction of a fused kernel does.
enum class instruction_kind : std::uint8_t {
  load,         ///< of `slot`
  index,        ///< the affine index that `slot` describes, as an integer
  constant,     ///< `bits` as in op::constant
  compute,      ///< `code` on `operands`
  accumulator,  ///< the finished product, in the epilogue of a dot
  store,        ///< operands[0] to `slot`
  row_reduce,   ///< `code` over a row of operands[0]; its value is there in the next phase
  partial,      ///< `code` over rows: operands[0] into the partial result of reduction `slot`
};

/// One instruction; `operands` are positions of earlier instructions of the same kernel.
///
/// `stage` orders a row's work: 2p is what is done once for a row in phase p, 2p + 1 what is done
/// for each of its elements. Row results stay; element results live in their stage only.
struct instruction {
  instruction_kind kind;
  op code;
  dtype element;
  access walk;
  bool per_row;  ///< in a partial: the reduction is over all elements, not over rows
  int operands[4];
  int num_operands;
  int slot;
  int stage;
  std::int64_t bits;

  friend constexpr bool operator==(const instruction& a, const instruction& b) {
    if (a.kind != b.kind || a.code != b.code || a.element != b.element || a.walk != b.walk ||
        a.per_row != b.per_row || a.num_operands != b.num_operands || a.slot != b.slot ||
        a.stage != b.stage || a.bits != b.bits) {
      return false;
    }
    for (int i = 0; i < a.num_operands; ++i) {
      if (a.operands[i] != b.operands[i]) return false;
    }
    return true;
  }
};

enum class kernel_kind : std::uint8_t { loop, dot, gather, scatter, generic, region, collective };

/// A piece of code that one or more steps run; equal ones are one.
struct kernel {
  kernel_kind kind;
  op code;          ///< scatter, generic: the operation
  dtype element;    ///< dot: of the operands; gather, generic: of the data
  dtype index;      ///< gather, scatter: of the indices
  int begin, size;  ///< instructions
  int num_slots;
};

/// Where a value lies.
enum class memory_space : std::uint8_t { parameter, output, arena };

struct location {
  memory_space space;
  int index;            ///< of the parameter or output; in the arena: -1, or a late output's
  std::int64_t offset;  ///< in bytes, in the arena
};

/// An operand or result of a step.
struct slot {
  int base;                        ///< the node whose memory it is, or no_node for an index
  std::int64_t offset;             ///< in elements; for an index the value at the origin
  std::int64_t strides[max_rank];  ///< in elements, for the axes of the step's domain
  access walk;
  bool is_output;
};

/// The part of a product that counts, by the signs of differences: +1 where only terms with k <=
/// row (or k <= column) are not 0, or only sums with column <= row are read; -1: with >=; 0: all.
struct dot_limits {
  std::int8_t k_by_row, k_by_column, column_by_row;
};

/// One launch of a kernel.
///
/// `domain`: loops: all axes, the last one being the row; dots: batch axes, then M and N.
struct step {
  int kernel;
  int node;   ///< for names: the last node it computes
  int order;  ///< of the steps that are ready the smallest runs: a dot's product, else `node`
  shape domain;
  int slots_begin, num_slots;
  std::int64_t k;             ///< dots: the contracted size
  std::int64_t lhs_k, rhs_k;  ///< dots: strides along it
  dot_limits limits;          ///< dots
  int reductions;             ///< loops: number of partial results
  int wait;                   ///< collectives: done before this step begins; until then it is under
                              ///< way, and its operand and result are not touched
};

/// For each output the parameter whose buffer it may take over (given up by the caller), or -1; -2
/// for one whose place may be unaligned.
struct donation {
  int parameter_of[ir::graph::max_outputs];
};

/// Steps [begin, end), which run together, item by item, along a batch: see passes/batch_run.hpp.
struct batch_run {
  int begin, end;
  std::int64_t items;
};

/// A whole program after planning. Capacities are limits only.
struct plan {
  static constexpr int max_steps = 1 << 15;
  static constexpr int max_slots = 1 << 17;
  static constexpr int max_kernels = 1 << 12;
  static constexpr int max_instructions = 1 << 16;

  step steps[max_steps];
  int num_steps;
  slot slots[max_slots];
  int num_slots;
  kernel kernels[max_kernels];
  int num_kernels;
  instruction instructions[max_instructions];
  int num_instructions;
  batch_run runs[max_steps / 2];
  int num_runs;
  int run_of[max_steps];  ///< + 1; 0 for a step that runs alone

  location place[ir::graph::max_nodes];    ///< of each stored node
  bool late_copy[ir::graph::max_outputs];  ///< an output that is moved to its place at the end
  bool stored[ir::graph::max_nodes];

  bool unsupported;  ///< a product walks its operands in more ways than a kernel can
  std::int64_t arena_bytes;
  std::int64_t peak_bytes;   ///< arena and outputs at the worst step
  std::int64_t flops;        ///< of products and elementwise work
  std::int64_t bytes_moved;  ///< read and written by all steps
};

}  // namespace atled::passes
