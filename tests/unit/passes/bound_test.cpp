// Tests of passes/bound.hpp: its contract, and the masks that it puts in. That results are right is
// in property/bounded_sizes_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/bound.hpp"

#include "atled/ir/verify.hpp"

#include "support/catch.hpp"
#include "support/interpreter.hpp"
#include <string>

using namespace atled;
using oracle::make_builder;

namespace {

constexpr std::int64_t N = upto<8>;
constexpr std::int64_t M = upto<4, "m">;

int count_of(const ir::graph& g, op code) {
  int out = 0;
  for (int id = 0; id < g.num_nodes; ++id) out += g[id].code == code ? 1 : 0;
  return out;
}

/// The graph of one parameter and what `build` makes of it, bound.
template <class Build>
oracle::builder_ptr bound_graph(const shape& dims, const Build& build) {
  const auto b = make_builder();
  const int x = b->parameter({dtype::f32, dims});
  b->g.outputs[b->g.num_outputs++] = build(*b, x);
  auto out = make_builder();
  passes::bound(b->g, *out);
  return out;
}

}  // namespace

TEST_CASE("bound leaves no bounded size and adds a parameter for each", "[passes]") {
  const auto b = bound_graph(shape::of({N, 3, M}), [](ir::builder& g, int x) {
    return g.reduce(op::reduce_sum, g.unary(op::exp, x), 5);
  });
  CHECK(b->problem.empty());
  CHECK(ir::verify(b->g).empty());
  CHECK(b->g.num_parameters == 3);
  CHECK(b->type(b->g.parameters[0]) == tensor_type{dtype::f32, shape::of({8, 3, 4})});
  CHECK(b->type(b->g.parameters[1]) == tensor_type{dtype::i32, {}});
  for (int id = 0; id < b->g.num_nodes; ++id) CHECK(b->type(id).dims.bounded_axes() == 0);
}

TEST_CASE("bound masks what combines elements and nothing else", "[passes]") {
  const auto selections = [](const shape& dims, const auto& build) {
    return count_of(bound_graph(dims, build)->g, op::select);
  };
  const shape dims = shape::of({N, 3});
  CHECK(selections(dims, [](ir::builder& b, int x) { return b.unary(op::log, x); }) == 0);
  CHECK(selections(dims, [](ir::builder& b, int x) { return b.reduce(op::reduce_sum, x, 2); }) ==
        0);
  CHECK(selections(dims, [](ir::builder& b, int x) { return b.reduce(op::reduce_sum, x, 1); }) ==
        1);
  CHECK(selections(dims, [](ir::builder& b, int x) {
          return b.append(op::cumsum, {x}, ir::attribute_list::of(0));
        }) == 0);
  CHECK(selections(dims, [](ir::builder& b, int x) {
          return b.append(op::reverse_cumsum, {x}, ir::attribute_list::of(0));
        }) == 1);
}

TEST_CASE("a count of a bounded axis is its size", "[passes]") {
  const auto b = bound_graph(shape::of({N}), [](ir::builder& g, int x) {
    return g.mul(g.reduce(op::reduce_sum, x, 1), g.size_of(N, dtype::f32));
  });
  CHECK(count_of(b->g, op::reduce_sum) == 1);
}

TEST_CASE("a size that no argument has is refused", "[passes]") {
  const auto b = bound_graph(shape::of({N}), [](ir::builder& g, int x) {
    return g.broadcast(g.reduce(op::reduce_sum, x, 1), shape::of({M}), 0);
  });
  CHECK(std::string(b->problem.view()) ==
        "jit: [upto<4,m>]: no argument has the size upto<4,m> of axis 0");
}
