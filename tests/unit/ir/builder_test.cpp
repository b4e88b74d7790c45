// unit/ir/builder_test.cpp: how nodes are made: equal ones once, ill-typed ones never.
// SPDX-License-Identifier: MIT
#include "atled/ir/builder.hpp"

#include "support/catch.hpp"
#include "support/interpreter.hpp"

using namespace atled;

namespace {
constexpr tensor_type f32_3{dtype::f32, shape::of({3})};

constexpr bool equal_nodes_are_one() {
  ir::builder b{};
  const int x = b.parameter(f32_3);
  const int y = b.parameter(f32_3);
  const bool once =
      b.add(x, y) == b.add(x, y) && b.constant(1, dtype::f32) == b.constant(1, dtype::f32);
  const bool different = b.add(x, y) != b.add(y, x) && b.add(x, y) != b.sub(x, y) &&
                         b.constant(1, dtype::f32) != b.constant(1, dtype::f64);
  return once && different && x != y;
}
static_assert(equal_nodes_are_one());
}  // namespace

TEST_CASE("builder: a variable is a node of its own each time", "[ir]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter(f32_3);
  CHECK(b->variable(x) != b->variable(x));
  CHECK(b->type(b->variable(x)) == f32_3);
}

TEST_CASE("builder: constants are rounded to their type", "[ir]") {
  const auto b = oracle::make_builder();
  CHECK(b->g.constant_value(b->constant(0.1, dtype::f64)) == 0.1);
  CHECK(b->g.constant_value(b->constant(0.1, dtype::f32)) == static_cast<double>(0.1F));
  CHECK(b->g.constant_value(b->constant(1.01171875, dtype::bf16)) == 1.015625);
  CHECK(b->g.constant_value(b->constant(-7, dtype::i32)) == -7);
  CHECK(b->g.attribute(b->integer_constant(9'007'199'254'740'993, dtype::i64)) ==
        9'007'199'254'740'993);
}

TEST_CASE("builder: the first mistake is kept, and what follows from it is silent", "[ir]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter(f32_3);
  const int y = b->parameter({dtype::f32, shape::of({4})});
  b->site = {"src/model.cpp", 7, "add"};
  const int before = b->g.num_nodes;
  const int bad = b->add(x, y);
  CHECK(bad == ir::poison);
  b->site = {"src/model.cpp", 8, ""};
  CHECK(b->mul(bad, x) == ir::poison);
  CHECK(b->reshape(bad, shape::of({3})) == ir::poison);
  CHECK(b->add(x, b->convert(x, dtype::f64)) == ir::poison);
  CHECK(b->problem.view() == "model.cpp:7: add: f32[3] and f32[4]: shapes must be equal");
  CHECK(b->g.num_nodes == before + 1);  // the conversion
}

TEST_CASE("builder: what moves nothing makes no node", "[ir]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter(f32_3);
  CHECK(b->reshape(x, shape::of({3})) == x);
  CHECK(b->broadcast(x, shape::of({3}), 1) == x);
  CHECK(b->convert(x, dtype::f32) == x);
  CHECK(b->reduce(op::reduce_sum, x, 0) == x);
}

TEST_CASE("builder: a node has the position that was set before it", "[ir]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter(f32_3);
  b->site = {"a.cpp", 1, "sin"};
  const int y = b->unary(op::sin, x);
  b->site = {"a.cpp", 2, "cos"};
  b->unary(op::cos, x);
  CHECK(b->g[y].at.line == 1);
  CHECK(b->unary(op::sin, x) == y);
  CHECK(b->g[y].at.line == 1);
}
