// unit/passes/vmap_test.cpp: batched forms of single ops, what stays as it is, what is refused. The
// law that row i is the single call is tested for all ops in property/vmap_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/vmap.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"
#include <memory>

using namespace atled;
using namespace atled::test;

namespace {

/// A parameter in all lanes (its axis 0), or one that they share.
struct argument {
  tensor_type type;
  bool is_mapped = true;
};
argument shared(const tensor_type& type) {
  return {type, false};
}

/// `fn` on one lane, batched: its equations, `shared` if no lane matters, or its first error.
template <class Fn>
std::string batched_equations(std::initializer_list<argument> arguments, Fn fn) {
  const auto b = oracle::make_builder();
  passes::ids lanes{};
  passes::ids mapped{};
  std::vector<int> in;
  std::int64_t size = 0;
  for (const argument& x : arguments) in.push_back(b->parameter(x.type));
  std::size_t at = 0;
  for (const argument& x : arguments) {
    if (x.is_mapped) {
      size = x.type.dims[0];
      mapped.push(in[at]);
      in[at] = b->variable(b->reduce(op::reduce_sum, in[at], 1));
      lanes.push(in[at]);
    }
    ++at;
  }
  passes::ids outputs{};
  outputs.push(fn(*b, in));
  const auto results = std::make_unique<passes::lane_ids>();
  passes::vmap(*b, outputs, lanes, mapped, size, -1, *results);
  if (!b->problem.empty()) return std::string(b->problem.view());
  if (!results->is_mapped[0]) return "shared";
  b->g.outputs[b->g.num_outputs++] = results->values[0];
  const auto live = oracle::make_builder();
  passes::copy_live(b->g, *live);
  CHECK(ir::verify(live->g).view() == "");
  return equations_of(live->g);
}

int matrix_product(ir::builder& b, int lhs, int rhs) {
  ir::dot_axes axes{};
  axes.contract(b.type(lhs).rank() - 1, 0);
  return b.dot(lhs, rhs, axes);
}

}  // namespace

TEST_CASE("vmap: an elementwise op repeats what the lanes share", "[passes]") {
  const auto add = [](ir::builder& b, const auto& x) { return b.add(x[0], x[1]); };
  CHECK(batched_equations({{f32_of({8, 4})}, {f32_of({8, 4})}}, add) == "add a b");
  CHECK(batched_equations({{f32_of({8, 4})}, shared(f32_of({4}))}, add) ==
        "broadcast[axes=(1)] b; add a c");
}

TEST_CASE("vmap: a constant stays one broadcast of a constant", "[passes]") {
  CHECK(batched_equations({{f32_of({8, 4})}}, [](ir::builder& b, const auto& x) {
          return b.scale(x[0], 3);
        }) == "broadcast[axes=()] 3.0; mul a c");
}

TEST_CASE("vmap: what does not depend on a lane is computed once", "[passes]") {
  CHECK(batched_equations({{f32_of({8})}, shared(f32_of({}))}, [](ir::builder& b, const auto& x) {
          return b.add(x[0], b.unary(op::exp, b.unary(op::sin, x[1])));
        }) == "sin b; exp c; broadcast[axes=()] d; add a e");
  CHECK(batched_equations({{f32_of({8})}, shared(f32_of({}))}, [](ir::builder& b, const auto& x) {
          return b.unary(op::exp, x[1]);
        }) == "shared");
}

TEST_CASE("vmap: axes of shape ops and reductions move behind the lanes", "[passes]") {
  const auto on = [](auto fn) { return batched_equations({{f32_of({8, 2, 3})}}, fn); };
  CHECK(on([](ir::builder& b, const auto& x) { return b.transpose(x[0], 0x01); }) ==
        "transpose[order=(0,2,1)] a");
  CHECK(on([](ir::builder& b, const auto& x) { return b.reduce(op::reduce_max, x[0], 2); }) ==
        "reduce_max[axes=(2)] a");
  CHECK(on([](ir::builder& b, const auto& x) {
          return b.broadcast(x[0], shape::of({5, 2, 3}), 6);
        }) == "broadcast[axes=(0,2,3)] a");
  CHECK(on([](ir::builder& b, const auto& x) {
          return b.append(op::cumsum, {x[0]}, ir::attribute_list::of(1));
        }) == "cumsum[axis=2] a");
}

TEST_CASE("vmap: lanes of both operands are a batch axis of a product, of one a free axis",
          "[passes]") {
  const auto product = [](ir::builder& b, const auto& x) { return matrix_product(b, x[0], x[1]); };
  CHECK(batched_equations({{f32_of({8, 2, 3})}, {f32_of({8, 3, 4})}}, product) ==
        "dot[batch=(0)(0) contract=(2)(1)] a b");
  CHECK(batched_equations({{f32_of({8, 2, 3})}, shared(f32_of({3, 4}))}, product) ==
        "dot[contract=(2)(0)] a b");
  CHECK(batched_equations({shared(f32_of({2, 3})), {f32_of({8, 3, 4})}}, product) ==
        "dot[contract=(1)(1)] a b; transpose[order=(1,0,2)] c");
}

TEST_CASE("vmap: a gather from a shared value does not repeat it", "[passes]") {
  const auto rows = [](ir::builder& b, const auto& x) {
    return b.gather(x[0], x[1], 1, 0, index_mode::clip);
  };
  CHECK(batched_equations({shared(f32_of({5, 6})), {i32_of({8, 2})}}, rows) ==
        "gather[axis=1 batch_dims=0 mode=clip] a b; transpose[order=(1,0,2)] c");
  CHECK(batched_equations({{f32_of({8, 5, 6})}, shared(i32_of({2}))}, rows) ==
        "gather[axis=2 batch_dims=0 mode=clip] a b");
  CHECK(batched_equations({{f32_of({8, 5, 6})}, {i32_of({8, 2})}}, rows) ==
        "gather[axis=2 batch_dims=1 mode=clip] a b");
}

TEST_CASE("vmap: a window at a shared place stays a window", "[passes]") {
  CHECK(
      batched_equations({{f32_of({8, 5})}, shared(i32_of({}))}, [](ir::builder& b, const auto& x) {
        return b.append(op::dynamic_slice, {x[0], x[1]}, {}, f32_of({2}));
      }) == "dynamic_slice a 0 b");
}

TEST_CASE("vmap: one element written at a mapped place is a selection", "[passes]") {
  const std::string out = batched_equations(
      {{f32_of({8, 5})}, {f32_of({8, 1})}, {i32_of({8})}}, [](ir::builder& b, const auto& x) {
        return b.append(op::dynamic_update_slice, {x[0], x[1], x[2]});
      });
  CHECK(out.find("gather") == std::string::npos);
  CHECK(out.find("select") != std::string::npos);
}

TEST_CASE("vmap: a value of 8 axes in one lane is refused", "[passes]") {
  CHECK(batched_equations({{f32_of({2, 1, 1, 1, 1, 1, 1, 3})}}, [](ir::builder& b, const auto& x) {
          return b.broadcast(x[0], shape::of({1, 1, 1, 1, 1, 1, 1, 3}), 254);
        }) == "vmap: f32[1,1,1,1,1,1,1,3] in each of 2 lanes: it would have more than 8 axes");
}

TEST_CASE("vmap: it appends one node for each node of one lane", "[passes]") {
  const auto b = oracle::make_builder();
  const int all = b->parameter(f32_of({8, 4}));
  const int lane = b->variable(b->reduce(op::reduce_sum, all, 1));
  int x = lane;
  for (int i = 0; i < 100; ++i) x = b->unary(op::tanh, x);
  passes::ids outputs{};
  passes::ids lanes{};
  passes::ids mapped{};
  outputs.push(x);
  lanes.push(lane);
  mapped.push(all);
  const int before = b->g.num_nodes;
  const auto results = std::make_unique<passes::lane_ids>();
  passes::vmap(*b, outputs, lanes, mapped, 8, -1, *results);
  CHECK(b->g.num_nodes == before + 100);
}
