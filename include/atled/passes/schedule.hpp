// atled/passes/schedule.hpp: the order in which steps run: as the program was written, as far as
// their inputs allow.
// Reads: passes/plan.hpp. Next: passes/memory.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/plan.hpp"

namespace atled::passes {

namespace detail {

/// A binary heap of steps, the one of the smallest `order` first.
struct step_heap {
  int items[plan::max_steps];
  int size;

  constexpr void push(const plan& p, int step) {
    int i = size++;
    while (i > 0) {
      const int parent = (i - 1) / 2;
      if (!before(p, step, items[parent])) break;
      items[i] = items[parent];
      i = parent;
    }
    items[i] = step;
  }
  constexpr int pop(const plan& p) {
    const int top = items[0];
    const int last = items[--size];
    int i = 0;
    while (true) {
      int child = 2 * i + 1;
      if (child >= size) break;
      if (child + 1 < size && before(p, items[child + 1], items[child])) ++child;
      if (!before(p, items[child], last)) break;
      items[i] = items[child];
      i = child;
    }
    items[i] = last;
    return top;
  }
  static constexpr bool before(const plan& p, int a, int b) {
    const int left = p.steps[a].order;
    const int right = p.steps[b].order;
    return left != right ? left < right : a < b;
  }
};

}  // namespace detail

/// Orders the steps of a plan by the nodes they compute, each after what it reads.
///
/// A gradient's product for a layer's weights thus runs beside that layer's other work, and what it
/// reads can be dropped. Cost: O(slots + steps log steps).
constexpr void schedule(plan& p) {
  // Writers of one value run in the order in which they were emitted; readers after the last one.
  int last_writer[ir::graph::max_nodes]{};  // step + 1
  int edge_from[plan::max_slots]{};
  int edge_to[plan::max_slots]{};
  int num_edges = 0;
  const auto add_edge = [&](int from, int to) {
    edge_from[num_edges] = from;
    edge_to[num_edges++] = to;
  };
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < p.num_steps; ++i) {
      const step& s = p.steps[i];
      for (int k = 0; k < s.num_slots; ++k) {
        const slot& at = p.slots[s.slots_begin + k];
        if (at.base < 0 || at.is_output != (pass == 0)) continue;
        const int writer = last_writer[at.base] - 1;
        if (writer >= 0 && writer != i) add_edge(writer, i);
        if (pass == 0) last_writer[at.base] = i + 1;
      }
    }
  }
  int waits[plan::max_steps]{};
  int first_edge[plan::max_steps]{};  // + 1
  int next_edge[plan::max_slots]{};
  for (int e = 0; e < num_edges; ++e) {
    ++waits[edge_to[e]];
    next_edge[e] = first_edge[edge_from[e]];
    first_edge[edge_from[e]] = e + 1;
  }
  detail::step_heap ready{};
  for (int i = 0; i < p.num_steps; ++i) {
    if (waits[i] == 0) ready.push(p, i);
  }
  step ordered[plan::max_steps]{};
  int count = 0;
  while (ready.size > 0) {
    const int i = ready.pop(p);
    ordered[count++] = p.steps[i];
    for (int e = first_edge[i]; e != 0; e = next_edge[e - 1]) {
      const int to = edge_to[e - 1];
      if (--waits[to] == 0) ready.push(p, to);
    }
  }
  for (int i = 0; i < count; ++i) p.steps[i] = ordered[i];
}

}  // namespace atled::passes
