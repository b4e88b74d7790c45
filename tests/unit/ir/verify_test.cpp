// unit/ir/verify_test.cpp: a graph that was tampered with is found out.
// SPDX-License-Identifier: MIT
#include "atled/ir/verify.hpp"

#include "atled/ir/builder.hpp"

#include "support/catch.hpp"
#include "support/interpreter.hpp"

using namespace atled;

namespace {

constexpr void make_sample(ir::builder& b) {
  const int x = b.parameter({dtype::f32, shape::of({4, 3})});
  const int y = b.parameter({dtype::f32, shape::of({3})});
  const int wide = b.broadcast(y, shape::of({4, 3}), 2);
  const int sum = b.add(x, wide);
  b.g.outputs[b.g.num_outputs++] = b.transpose(sum, 0x01);
}
constexpr bool sample_is_fine() {
  ir::builder b{};
  make_sample(b);
  return ir::verify(b.g).empty();
}
static_assert(sample_is_fine());

/// The broken law after `damage(graph)`.
template <class Damage>
std::string law_after(Damage damage) {
  const auto b = oracle::make_builder();
  make_sample(*b);
  damage(b->g);
  return std::string(ir::verify(b->g).view());
}
}  // namespace

TEST_CASE("verify: operands precede their node", "[ir]") {
  CHECK(law_after([](ir::graph& g) { g.operands[g.nodes[3].operands_begin] = 4; }) ==
        "verify: node 3 (add of 4, 2 : f32[4,3]): operands must precede their node");
}

TEST_CASE("verify: types are those of the rules", "[ir]") {
  CHECK(law_after([](ir::graph& g) { g.nodes[3].type.element = dtype::f64; }) ==
        "verify: node 3 (add of 0, 2 : f64[4,3]): its type must be f32[4,3]");
  CHECK(law_after([](ir::graph& g) { g.nodes[1].type.dims[0] = 5; }) ==
        "verify: node 2 (broadcast of 1 : f32[4,3]): the mask must fit operand and result");
}

TEST_CASE("verify: attributes and operands are those of the op", "[ir]") {
  CHECK(law_after([](ir::graph& g) { g.attributes[g.nodes[4].attributes_begin] = 0x11; }) ==
        "verify: node 4 (transpose of 3 : f32[3,4]): the axes must be a permutation");
  CHECK(law_after([](ir::graph& g) { g.nodes[4].num_attributes = 0; }) ==
        "verify: node 4 (transpose of 3 : f32[3,4]): it has 0 attributes, but must have 1");
  CHECK(law_after([](ir::graph& g) { g.nodes[3].num_operands = 1; }) ==
        "verify: node 3 (add of 0 : f32[4,3]): it must have 2 operands");
}

TEST_CASE("verify: parameters are numbered, outputs are nodes", "[ir]") {
  CHECK(law_after([](ir::graph& g) { g.parameters[1] = 0; }) ==
        "verify: node 1 (parameter : f32[3]): parameters must be numbered in their order");
  CHECK(law_after([](ir::graph& g) { g.num_parameters = 3; }) == "verify: a parameter has no node");
  CHECK(law_after([](ir::graph& g) { g.outputs[0] = ir::no_node; }) ==
        "verify: output 0 is no node");
}
