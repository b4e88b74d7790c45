// Tests of atled/passes/memory.hpp: places never overlap while both values are alive.
// Reads: atled/passes/compile.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ir/builder.hpp"
#include "atled/passes/compile.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

/// A program with long and short lives: products of a chain, each added to an early value.
constexpr ir::graph program() {
  ir::builder b;
  const int x = b.parameter({dtype::f32, shape::of({24, 24})});
  ir::dot_axes axes{};
  axes.contract(1, 0);
  int early[4]{};
  int y = x;
  for (int& e : early) e = y = b.unary(op::tanh, b.dot(y, x, axes));
  for (const int e : early) y = b.dot(b.add(y, e), e, axes);
  b.g.outputs[b.g.num_outputs++] = b.reduce(op::reduce_sum, y, 0b11);
  return b.g;
}

struct facts {
  static constexpr ir::graph graph = passes::expanded(passes::prepare(program()));
  static constexpr passes::donation donated{{-1}};
  static constexpr passes::grouped grouped = passes::group_nodes(graph);
  static constexpr passes::storage kept = passes::stored_values(graph, grouped);
  static constexpr passes::plan plan =
      passes::placed(graph, donated, passes::emitted(graph, grouped, kept, donated));
};

/// At each step: no two values in the arena that are alive share a byte, unless the step's result
/// takes the place of an operand that dies in it.
constexpr bool never_overlap() {
  const auto& g = facts::graph;
  const auto& p = facts::plan;
  int first[64]{};
  int last[64]{};
  for (int i = 0; i < p.num_steps; ++i) {
    for (int k = 0; k < p.steps[i].num_slots; ++k) {
      const int base = p.slots[p.steps[i].slots_begin + k].base;
      if (first[base] == 0) first[base] = i + 1;
      last[base] = i + 1;
    }
  }
  for (int a = 0; a < g.num_nodes; ++a) {
    for (int b = 0; b < a; ++b) {
      const auto in_arena = [&](int id) {
        return p.stored[id] && p.place[id].space == passes::memory_space::arena;
      };
      if (!in_arena(a) || !in_arena(b)) continue;
      const bool alive_together = first[a] < last[b] && first[b] < last[a];
      const auto begin_a = p.place[a].offset;
      const auto begin_b = p.place[b].offset;
      const bool overlap =
          begin_a < begin_b + g.type(b).bytes() && begin_b < begin_a + g.type(a).bytes();
      if (alive_together && overlap) return false;
    }
  }
  return true;
}

/// Steps run after what they read is written.
constexpr bool in_order() {
  const auto& p = facts::plan;
  bool written[ir::graph::max_nodes]{};
  for (int i = 0; i < p.num_steps; ++i) {
    for (int k = 0; k < p.steps[i].num_slots; ++k) {
      const auto& at = p.slots[p.steps[i].slots_begin + k];
      if (at.is_output || facts::graph[at.base].code == op::parameter) continue;
      if (facts::graph[at.base].code != op::iota && !written[at.base]) return false;
    }
    for (int k = 0; k < p.steps[i].num_slots; ++k) {
      const auto& at = p.slots[p.steps[i].slots_begin + k];
      if (at.is_output) written[at.base] = true;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("memory: two values that are alive together share no byte", "[passes]") {
  STATIC_REQUIRE(never_overlap());
}

TEST_CASE("schedule: a step runs after what it reads", "[passes]") {
  STATIC_REQUIRE(in_order());
}

TEST_CASE("memory: the arena is smaller than the sum of all values", "[passes]") {
  STATIC_REQUIRE(facts::plan.arena_bytes <= 6 * 24 * 24 * 4);
  STATIC_REQUIRE(facts::plan.arena_bytes % passes::arena_alignment == 0);
}

TEST_CASE("memory: free pieces are joined and the smallest that fits is taken", "[passes]") {
  constexpr auto works = [] {
    passes::detail::free_list list{};
    const auto a = list.take(100);
    const auto b = list.take(50);
    const auto c = list.take(100);
    list.give(a, 100);
    list.give(c, 100);
    if (list.take(80) != 0) return false;  // the first of two equal pieces
    list.give(b, 50);                      // joins the rest of a and c
    return list.size == 1 && list.take(170) == 80 && list.top == 250;
  };
  STATIC_REQUIRE(works());
}
