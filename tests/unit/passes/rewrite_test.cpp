// unit/passes/rewrite_test.cpp: the copy of a graph, with and without a rule.
// SPDX-License-Identifier: MIT
#include "atled/passes/rewrite.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using ids_t = std::vector<int>;

oracle::builder_ptr sample() {
  return graph_of({f32_of({2}), f32_of({3}), f32_of({2})}, [](ir::builder& b, const ids_t& x) {
    b.site = {"sample.cpp", 3, ""};
    const int used = b.unary(op::sin, x[2]);
    b.unary(op::cos, x[1]);  // dead
    b.site = {"sample.cpp", 4, ""};
    const int twice = b.add(used, used);
    return ids_t{twice, used, twice, x[2]};
  });
}
}  // namespace

TEST_CASE("rewrite: a copy keeps parameters, outputs, positions, and drops what is dead",
          "[passes]") {
  const auto from = sample();
  const auto to = oracle::make_builder();
  passes::copy_live(from->g, *to);
  CHECK(ir::verify(to->g).view() == "");
  CHECK(ir::to_text(to->g) ==
        "{ lambda a:f32[2] b:f32[3] c:f32[2]; let\n"
        "    d:f32[2] = sin c   # sample.cpp:3\n"
        "    e:f32[2] = add d d   # sample.cpp:4\n"
        "  in e d e c }\n");
}

TEST_CASE("rewrite: the rule sees nodes of the new graph and says what takes their place",
          "[passes]") {
  const auto from = sample();
  const auto to = oracle::make_builder();
  passes::rewrite(from->g, *to, [](ir::builder& b, const passes::moving_node& n) {
    if (n.code == op::sin) return b.unary(op::cos, n[0]);
    if (n.code == op::add && n[0] == n[1]) return b.scale(n[0], 2);
    return passes::keep(b, n);
  });
  CHECK(equations_of(to->g) == "cos c; broadcast[axes=()] 2.0; mul d f");
}

TEST_CASE("rewrite: variables stay different from each other", "[passes]") {
  const auto from = graph_of({f32_of({})}, [](ir::builder& b, const ids_t& x) {
    const int first = b.variable(x[0]);
    return ids_t{b.sub(first, b.variable(x[0]))};
  });
  const auto to = oracle::make_builder();
  passes::copy_live(from->g, *to);
  CHECK(equations_of(to->g) == "variable a; variable a; sub b c");
}
