// Tests of atled/passes/expand.hpp: forms that kernels run.
// Reads: atled/passes/expand.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/expand.hpp"

#include "atled/ir/builder.hpp"
#include "atled/ir/verify.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

template <class Build>
constexpr ir::graph expanded(Build build) {
  ir::builder b;
  const int x = b.parameter({dtype::f32, shape::of({3, 4, 5})});
  build(b, x);
  ir::builder out;
  passes::expand(b.g, out);
  return out.g;
}
constexpr int count(const ir::graph& g, op code) {
  int out = 0;
  for (int i = 0; i < g.num_nodes; ++i) out += g[i].code == code ? 1 : 0;
  return out;
}

}  // namespace

TEST_CASE("expand: a softmax computes its exponentials once", "[passes]") {
  constexpr auto g = expanded([](ir::builder& b, int x) {
    const int z = b.reduce(op::reduce_logsumexp, x, 0b100);
    b.g.outputs[b.g.num_outputs++] =
        b.unary(op::exp, b.sub(x, b.broadcast(z, shape::of({3, 4, 5}), 0b011)));
  });
  STATIC_REQUIRE(count(g, op::exp) == 1);
  STATIC_REQUIRE(count(g, op::log) == 0);
  STATIC_REQUIRE(count(g, op::reduce_logsumexp) == 0);
  STATIC_REQUIRE(ir::verify(g).empty());
}

TEST_CASE("expand: a reduction over the last axis and others goes one by one", "[passes]") {
  constexpr auto g = expanded([](ir::builder& b, int x) {
    b.g.outputs[b.g.num_outputs++] = b.reduce(op::reduce_sum, x, 0b101);
  });
  STATIC_REQUIRE(count(g, op::reduce_sum) == 2);
  STATIC_REQUIRE(g.type(g.outputs[0]) == tensor_type{dtype::f32, shape::of({4})});
}

TEST_CASE("expand: each output has memory of its own", "[passes]") {
  constexpr auto g = expanded([](ir::builder& b, int x) {
    const int y = b.unary(op::exp, x);
    for (const int id : {x, y, y, b.transpose(y, 2 + (0 << 4) + (1 << 8))}) {
      b.g.outputs[b.g.num_outputs++] = id;
    }
  });
  STATIC_REQUIRE(g.outputs[1] != g.outputs[2]);
  STATIC_REQUIRE(g[g.outputs[0]].code == op::convert);
  STATIC_REQUIRE(g[g.outputs[3]].code == op::convert);
}
