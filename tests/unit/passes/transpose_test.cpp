// unit/passes/transpose_test.cpp: cotangents of single linear ops, and what is refused. The law
// <ct, J dx> = <J^T ct, dx> is tested for all ops in property/derivatives_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/transpose.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"
#include <memory>

using namespace atled;
using namespace atled::test;

namespace {

/// The transpose of `fn`, a linear function of one variable and more parameters, and its equations;
/// the last parameter is the cotangent.
template <class Fn>
std::string transposed_equations(const tensor_type& x,
                                 std::initializer_list<tensor_type> parameters, Fn fn) {
  std::vector<tensor_type> types{x};
  types.insert(types.end(), parameters);
  const auto b = oracle::make_builder();
  std::vector<int> in;
  for (const tensor_type& type : types) in.push_back(b->parameter(type));
  const int ct = in.back();
  in[0] = b->variable(in[0]);
  const int y = fn(*b, in);
  passes::ids outputs{};
  passes::ids cotangents{};
  passes::ids inputs{};
  passes::ids result{};
  outputs.push(y);
  cotangents.push(ct);
  inputs.push(in[0]);
  passes::transpose(*b, outputs, cotangents, inputs, result);
  if (!b->problem.empty()) return std::string(b->problem.view());
  CHECK(ir::verify(b->g).view() == "");
  if (result[0] == ir::no_node) return "nothing";
  CHECK(b->type(result[0]) == x);
  b->g.outputs[b->g.num_outputs++] = result[0];
  const auto live = oracle::make_builder();
  passes::copy_live(b->g, *live);
  return equations_of(live->g);
}

}  // namespace

TEST_CASE("transpose: the cotangent of a broadcast is summed over the axes it added", "[passes]") {
  CHECK(transposed_equations(f32_of({4}), {f32_of({8, 4})}, [](ir::builder& b, const auto& x) {
          return b.broadcast(x[0], shape::of({8, 4}), 2);
        }) == "reduce_sum[axes=(0)] b");
  CHECK(transposed_equations(f32_of({3, 1}), {f32_of({3, 4})}, [](ir::builder& b, const auto& x) {
          return b.broadcast(x[0], shape::of({3, 4}), 3);
        }) == "reduce_sum[axes=(1)] b; reshape c");
}

TEST_CASE("transpose: the cotangent of a sum is repeated", "[passes]") {
  CHECK(transposed_equations(f32_of({8, 4}), {f32_of({4})}, [](ir::builder& b, const auto& x) {
          return b.reduce(op::reduce_sum, x[0], 1);
        }) == "broadcast[axes=(1)] b");
}

TEST_CASE("transpose: the cotangent of a slice lies in zeros, that of a pad is cut out",
          "[passes]") {
  CHECK(transposed_equations(f32_of({7}), {f32_of({3})}, [](ir::builder& b, const auto& x) {
          return b.slice(x[0], shape::of({1}), shape::of({3}), shape::of({2}));
        }) == "pad[low=(1) interior=(1)] b 0.0");
  CHECK(transposed_equations(f32_of({3}), {f32_of({7})}, [](ir::builder& b, const auto& x) {
          return b.pad(x[0], b.constant(0, dtype::f32), shape::of({1}), shape::of({1}),
                       shape::of({7}));
        }) == "slice[start=(1) stride=(2)] b");
}

TEST_CASE("transpose: an operand of a dot meets the cotangent and the other operand", "[passes]") {
  ir::dot_axes axes{};
  axes.contract(1, 0);
  CHECK(transposed_equations(f32_of({2, 3}), {f32_of({3, 5}), f32_of({2, 5})},
                             [&](ir::builder& b, const auto& x) {
                               return b.dot(x[0], x[1], axes);
                             }) == "dot[contract=(1)(1)] c b");
  CHECK(transposed_equations(f32_of({3, 5}), {f32_of({2, 3}), f32_of({2, 5})},
                             [&](ir::builder& b, const auto& x) {
                               return b.dot(x[1], x[0], axes);
                             }) == "dot[contract=(0)(0)] b c");
}

TEST_CASE("transpose: a gather is a scatter of the same indices in the same mode", "[passes]") {
  CHECK(transposed_equations(
            f32_of({5, 2}), {i32_of({3}), f32_of({3, 2})}, [](ir::builder& b, const auto& x) {
              return b.gather(x[0], x[1], 0, 0, index_mode::fill);
            }) == "broadcast[axes=()] 0.0; scatter_add[axis=0 batch_dims=0 mode=fill] e b c");
}

TEST_CASE("transpose: a value that is used twice adds its cotangents", "[passes]") {
  CHECK(
      transposed_equations(f32_of({}), {f32_of({}), f32_of({})}, [](ir::builder& b, const auto& x) {
        return b.sub(b.mul(x[0], x[1]), x[0]);
      }) == "neg c; mul c b; add d e");
}

TEST_CASE("transpose: an output that does not depend on the input gives a symbolic zero",
          "[passes]") {
  CHECK(transposed_equations(f32_of({}), {f32_of({})}, [](ir::builder& b, const auto& x) {
          return b.neg(x[1]);
        }) == "nothing");
}

TEST_CASE("transpose: what is not linear is refused with its line and op", "[passes]") {
  CHECK(transposed_equations(f32_of({}), {f32_of({})},
                             [](ir::builder& b, const auto& x) {
                               b.site = {"solve.cpp", 12, ""};
                               return b.unary(op::exp, x[0]);
                             }) ==
        "solve.cpp:12: linear_transpose: the function is not linear: exp of its argument has no "
        "transpose");
  CHECK(transposed_equations(f32_of({}), {f32_of({})}, [](ir::builder& b, const auto& x) {
          return b.mul(x[0], x[0]);
        }) == "linear_transpose: the function is not linear: mul of its argument has no transpose");
}
