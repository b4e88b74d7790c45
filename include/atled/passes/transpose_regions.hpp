// atled/passes/transpose_regions.hpp: loops and branches in reverse. A linear loop is transposed
// into one that runs from the last trip to the first and carries cotangents; a cond into one that
// takes the same branch. Reads: passes/linear_part.hpp. Called by passes/transpose.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/linear_part.hpp"

namespace atled::passes {

constexpr void transpose(ir::builder& b, const ids& linear_outputs, const ids& cotangents,
                         const ids& linear_inputs, ids& input_cotangents);

namespace detail {

constexpr int or_zeros_like(ir::builder& b, int cotangent, int like) {
  return cotangent == ir::no_node ? zeros_like(b, like) : cotangent;
}

/// Sends the waiting cotangents of a loop's results to where its linear carries begin, to its
/// linear stacks, and to the outer linear values that its body reads.
///
///   dc' = A dc + B dx + C dw,  dy = D dc         a row of A, B, C, D each trip
///   ct_c = A^T ct_c' + D^T ct_y,  ct_x = B^T ct_c',  ct_w += C^T ct_c'      from the last trip on
constexpr void transpose_loop(ir::builder& b, cotangent_table& table, int z) {
  table.inside.extend(b.g);
  const std::int64_t depth = b.g.attribute(z, 1);
  linear_region part{};
  linear_splitter(b, table, z).run(part);
  if (part.node < 0) return;
  const auto loop = ir::loop_parts::of(b.g, z);
  const auto linear = ir::loop_parts::of(b.g, part.node);
  b.site = b.g[z].at;

  ids arrived{};
  table.find_results(z, loop.num_results(), arrived);
  ids outputs{};
  ids cotangents{};
  ids inputs{};
  ir::operand_list carries{};
  ir::operand_list items{};
  int at = 0;  // among the linear results
  for (int i = 0; i < loop.num_results(); ++i) {
    if (!table.is_linear_result(b.g, z, i)) continue;
    const int ct = arrived[i];
    if (i < loop.num_carries) {
      const int from = or_zeros_like(b, ct, loop.carry(i));
      cotangents.push(b.bound(op::carry, from, part.region, depth));
      outputs.push(linear.result(at));
      carries.push(cotangents[cotangents.size - 1]);
    } else if (ct != ir::no_node) {
      cotangents.push(b.bound(op::item, ct, part.region, depth));
      outputs.push(linear.result(at));
      items.push(cotangents[cotangents.size - 1]);
    }
    ++at;
  }
  int num_linear_items = 0;
  for (int i = 0; i < linear.num_carries; ++i) inputs.push(linear.carry(i));
  for (int i = 0; i < loop.num_items; ++i)
    num_linear_items += table.is_linear(loop.item(i)) ? 1 : 0;
  for (int i = 0; i < num_linear_items; ++i) inputs.push(linear.item(i));
  for (const int variable : part.variables) inputs.push(variable);
  for (int i = num_linear_items; i < linear.num_items; ++i) items.push(linear.item(i));

  ids given{};
  passes::transpose(b, outputs, cotangents, inputs, given);

  ir::operand_list results{};
  ir::operand_list ys{};
  for (int i = 0; i < linear.num_carries; ++i) {
    results.push(or_zeros_like(b, given[i], linear.carry(i)));
  }
  for (int i = 0; i < part.variables.size; ++i) {
    const int ct = given[linear.num_carries + num_linear_items + i];
    if (ct == ir::no_node) continue;
    carries.push(b.bound(op::carry, zeros_like(b, ct), part.region, depth));
    results.push(b.add(carries.values[carries.size - 1], ct));
  }
  for (int i = 0; i < num_linear_items; ++i) {
    if (const int ct = given[linear.num_carries + i]; ct != ir::no_node) ys.push(ct);
  }
  ir::operand_list operands = carries;
  for (int i = 0; i < items.size; ++i) operands.push(items.values[i]);
  if (linear.count() >= 0) operands.push(linear.count());
  for (int i = 0; i < results.size; ++i) operands.push(results.values[i]);
  for (int i = 0; i < ys.size; ++i) operands.push(ys.values[i]);
  const int back =
      ir::make_loop(b, part.region, depth, linear.trips, linear.flags ^ ir::loop_parts::is_reverse,
                    carries.size, items.size, ys.size, operands);

  const auto give = [&](int id, int index) {
    const int ct = b.result_of(back, index);
    if (table.is_linear(id)) table.accumulate(b, id, b.psum(ct, b.varies(ct) & ~b.varies(id)));
  };
  int next = 0;
  for (int i = 0; i < loop.num_carries; ++i) {
    if (table.is_linear(loop.carry(i))) give(b.g.operand(loop.carry(i), 0), next++);
  }
  for (int i = 0; i < part.captured.size; ++i) {
    const int ct = given[linear.num_carries + num_linear_items + i];
    if (ct != ir::no_node) give(part.captured[i], next++);
  }
  int linear_item = 0;
  for (int i = 0; i < loop.num_items; ++i) {
    if (!table.is_linear(loop.item(i))) continue;
    if (given[linear.num_carries + linear_item++] == ir::no_node) continue;
    give(b.g.operand(loop.item(i), 0), next++);
  }
}

/// Sends the waiting cotangents of a cond's results to the outer linear values that entered the
/// branch that is taken; those that entered another get zeros.
constexpr void transpose_cond(ir::builder& b, cotangent_table& table, int z) {
  table.inside.extend(b.g);
  const std::int64_t depth = b.g.attribute(z, 1);
  linear_region part{};
  linear_splitter(b, table, z).run(part);
  if (part.node < 0) return;
  const int num_results = ir::cond_parts::of(b.g, z).num_results;
  const auto linear = ir::cond_parts::of(b.g, part.node);
  b.site = b.g[z].at;

  ids arrived{};
  table.find_results(z, num_results, arrived);
  ir::operand_list operands{};
  operands.push(linear.index());
  for (int branch = 0; branch < linear.num_branches; ++branch) {
    ids outputs{};
    ids cotangents{};
    ids inputs{};
    int at = 0;  // among the linear results
    for (int i = 0; i < num_results; ++i) {
      if (!table.is_linear_result(b.g, z, i)) continue;
      if (const int ct = arrived[i]; ct != ir::no_node) {
        outputs.push(linear.result(branch, at));
        cotangents.push(b.enter(ct, part.region, depth, branch));
      }
      ++at;
    }
    // Each value as it has entered, and as itself, where a branch returns what is outside.
    for (const int variable : part.variables) {
      inputs.push(b.enter(variable, part.region, depth, branch));
      inputs.push(variable);
    }
    ids given{};
    passes::transpose(b, outputs, cotangents, inputs, given);
    for (int i = 0; i < part.variables.size; ++i) {
      const int entered = given[2 * i];
      const int itself = given[2 * i + 1];
      const int sum = entered == ir::no_node  ? itself
                      : itself == ir::no_node ? entered
                                              : b.add(entered, itself);
      operands.push(or_zeros_like(b, sum, part.variables[i]));
    }
  }
  if (part.variables.size == 0) return;
  const int back =
      ir::make_cond(b, part.region, depth, linear.num_branches, part.variables.size, operands);
  for (int i = 0; i < part.captured.size; ++i) {
    const int ct = b.result_of(back, i);
    const int to = part.captured[i];
    table.accumulate(b, to, b.psum(ct, b.varies(ct) & ~b.varies(to)));
  }
}

}  // namespace detail
}  // namespace atled::passes

#include "atled/passes/transpose.hpp"  // the two call each other: a body is transposed like a graph
