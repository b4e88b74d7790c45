// Tests of atled/passes/group.hpp: which nodes run together.
// Reads: atled/passes/group.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/group.hpp"

#include "atled/ir/builder.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

struct summary {
  int groups;  // not merged into others
  int levels;
  bool levels_rise;  // each group reads from lower levels only
};

/// Groups of what `build` makes of two parameters f32[8,16].
template <class Build>
constexpr summary groups_of(Build build) {
  ir::builder b;
  const int x = b.parameter({dtype::f32, shape::of({8, 16})});
  const int y = b.parameter({dtype::f32, shape::of({8, 16})});
  build(b, x, y);
  passes::layout views{};
  passes::grouping groups{};
  passes::make_layout(b.g, views);
  passes::make_groups(b.g, views, groups);
  summary out{0, 0, true};
  for (int i = 0; i < groups.num_groups; ++i) {
    if (groups.groups[i].parent != 0) continue;
    ++out.groups;
    if (groups.groups[i].level + 1 > out.levels) out.levels = groups.groups[i].level + 1;
  }
  for (int id = 0; id < b.g.num_nodes; ++id) {
    const int at = groups.of(id);
    for (int k = 0; at >= 0 && k < b.g[id].num_operands; ++k) {
      const int from = groups.of(views.of[b.g.operand(id, k)].base);
      if (from < 0 || from == at) continue;
      out.levels_rise = out.levels_rise && groups.groups[from].level < groups.groups[at].level;
    }
  }
  return out;
}
constexpr int row_mean(ir::builder& b, int x) {
  return b.broadcast(b.reduce(op::reduce_sum, x, 0b10), shape::of({8, 16}), 0b01);
}

}  // namespace

TEST_CASE("group: an elementwise chain is one group", "[passes]") {
  constexpr auto s = groups_of([](ir::builder& b, int x, int y) {
    b.mul(b.unary(op::exp, b.add(x, y)), b.unary(op::tanh, x));
  });
  STATIC_REQUIRE(s.groups == 1);
}

TEST_CASE("group: a reduction along the row and what follows it stay in the group", "[passes]") {
  constexpr auto s = groups_of([](ir::builder& b, int x, int) {
    const int shifted = b.sub(x, row_mean(b, x));
    b.mul(shifted, row_mean(b, b.mul(shifted, shifted)));
  });
  STATIC_REQUIRE(s.groups == 1);
}

TEST_CASE("group: a product takes its epilogue, a reduction of it is a group above", "[passes]") {
  constexpr auto s = groups_of([](ir::builder& b, int x, int y) {
    ir::dot_axes axes{};
    axes.contract(1, 1);
    const int z = b.unary(op::tanh, b.dot(x, y, axes));  // f32[8,8]
    b.reduce(op::reduce_sum, z, 0b10);
  });
  STATIC_REQUIRE(s.groups == 2);
  STATIC_REQUIRE(s.levels == 2);
  STATIC_REQUIRE(s.levels_rise);
}

TEST_CASE("group: levels rise although a late node joins an early group", "[passes]") {
  constexpr auto s = groups_of([](ir::builder& b, int x, int y) {
    const int early = b.unary(op::exp, x);
    const int total = b.reduce(op::reduce_sum, early, 0b11);  // known after the kernel only
    const int spread = b.broadcast(total, shape::of({8, 16}), 0);
    b.add(b.mul(early, y), spread);
  });
  STATIC_REQUIRE(s.groups == 2);
  STATIC_REQUIRE(s.levels_rise);
}

TEST_CASE("group: two readers of the same memory run in one pass over it", "[passes]") {
  constexpr auto s = groups_of([](ir::builder& b, int x, int y) {
    b.unary(op::exp, x);
    b.mul(x, y);
    b.reduce(op::reduce_sum, x, 0b01);
  });
  STATIC_REQUIRE(s.groups == 1);
}
