// unit/ops/linalg_test.cpp: products that sum: shapes, batches, the sentence on axes.
// SPDX-License-Identifier: MIT
#include "atled/ops/linalg.hpp"

#include "atled/ops/slice.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
template <std::int64_t... D>
using t = tensor<f32, D...>;

static_assert(types_of<t<4>, t<4, 5>, t<3, 4>>([](auto v, auto a, auto b) {
                return std::tuple{matmul(v, v), matmul(v, a), matmul(b, v), matmul(b, a), dot(b, a),
                                  inner(b, v),  inner(b, b),  outer(v, b),  vdot(a, a)};
              }).view() == "f32[] f32[5] f32[3] f32[3,5] f32[3,5] f32[3] f32[3,3] f32[4,12] f32[]");
static_assert(types_of<t<2, 6, 3, 4>, t<6, 4, 5>, t<2, 1, 4, 5>, t<4>, t<3, 4>>([](auto x, auto y,
                                                                                   auto z, auto v,
                                                                                   auto m) {
                return std::tuple{matmul(x, y),
                                  matmul(x, z),
                                  matmul(x, v),
                                  matmul(v, y),
                                  matmul(m, y),
                                  dot(x, y),
                                  tensordot(x, y, {1, 3}, {0, 1}),
                                  tensordot(m, y, {1}, {1}),
                                  tensordot(x, m)};
              }).view() ==
              "f32[2,6,3,5] f32[2,6,3,5] f32[2,6,3] f32[6,5] f32[6,3,5] f32[2,6,3,6,5] f32[2,3,5] "
              "f32[3,6,5] f32[2,6]");
static_assert(types_of<t<2, 7, 3, 4>, t<2, 9, 3, 4>>([](auto q, auto k) {
                return dot_general(q, k, 3, 3, {0, 2}, {0, 2});
              }).view() == "f32[2,3,7,9]");
static_assert(types_of<tensor<bf16, 2, 3>, tensor<i32, 3, 2>>([](auto x, auto y) {
                return matmul(x, y);
              }).view() == "bf16[2,2]");
}  // namespace

TEST_CASE("matmul: the gradient is the product with the other transpose", "[ops]") {
  const tensor<f64, 2, 2> a{1, 2, 3, 4};
  const tensor<f64, 2, 2> b{5, 6, 7, 8};
  const auto f = [](auto x, auto y) { return matmul(x, y); };
  CHECK(values_of(f, a, b) == numbers{19, 22, 43, 50});
  CHECK(gradient_of(f, a, b) == numbers{11, 15, 11, 15});
  CHECK(gradient_of([](auto y, auto x) { return matmul(x, y); }, b, a) == numbers{4, 4, 6, 6});
}

TEST_CASE("matmul: batch axes broadcast", "[ops]") {
  const tensor<f64, 2, 1, 1, 2> x{1, 2, 3, 4};
  const tensor<f64, 3, 2, 1> y{1, 0, 0, 1, 1, 1};
  const auto f = [](auto u, auto v) { return matmul(u, v); };
  CHECK(values_of(f, x, y) == numbers{1, 2, 3, 3, 4, 7});
  CHECK(gradient_of(f, x, y) == numbers{2, 2, 2, 2});
  CHECK(values_of([](auto v, auto u) { return matmul(index_in_dim(index_in_dim(u, 0), 0), v); }, y,
                  x) == numbers{1, 2, 3});
}

TEST_CASE("outer: every pair once", "[ops]") {
  const tensor<f64, 2> x{1, 2};
  const tensor<f64, 3> y{3, 4, 5};
  CHECK(values_of([](auto u, auto v) { return outer(u, v); }, x, y) == numbers{3, 4, 5, 6, 8, 10});
  CHECK(gradient_of([](auto u, auto v) { return outer(u, v); }, x, y) == numbers{12, 12});
}

TEST_CASE("dot: of bf16 is accumulated in f32", "[ops]") {
  tensor<bf16, 1000> x;
  for (std::int64_t i = 0; i < 1000; ++i) x.data()[i] = bf16(1.0F);
  CHECK(values_of([](auto y) { return dot(y, y); }, x) == numbers{1000});
}

TEST_CASE("linalg: the graph has no more nodes than it needs", "[ops]") {
  // x[B,T,C] by w[C,N] is one dot with two free axes on the left.
  CHECK(count_of<op::dot, t<2, 3, 4>, t<4, 5>>([](auto x, auto w) { return matmul(x, w); }) == 1);
  CHECK(count_of<op::reshape, t<2, 3, 4>, t<4, 5>>([](auto x, auto w) { return matmul(x, w); }) +
            count_of<op::broadcast, t<2, 3, 4>, t<4, 5>>(
                [](auto x, auto w) { return matmul(x, w); }) ==
        0);
}

TEST_CASE("linalg: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<t<8, 16>, t<32, 4>>([](auto x, auto y) { return matmul(x, y); }) ==
        "matmul: lhs f32[8,16] and rhs f32[32,4]: lhs axis 1 (16) must equal rhs axis 0 (32)");
  CHECK(sentence_of<t<16>, t<2, 32, 4>>([](auto x, auto y) { return matmul(x, y); }) ==
        "matmul: lhs f32[16] and rhs f32[2,32,4]: lhs axis 0 (16) must equal rhs axis 1 (32)");
  CHECK(sentence_of<t<2, 8, 16>, t<3, 16, 4>>([](auto x, auto y) { return matmul(x, y); }) ==
        "matmul: lhs f32[2,8,16] and rhs f32[3,16,4]: lhs batch axis 0 (2) and rhs batch axis "
        "0 (3) must be equal or 1");
  CHECK(sentence_of<t<>, t<4>>([](auto x, auto y) { return matmul(x, y); }) ==
        "matmul: lhs f32[] and rhs f32[4]: an operand must have an axis; multiply by a scalar "
        "with *");
  CHECK(sentence_of<tensor<boolean, 2>>([](auto x) { return dot(x, x); }) ==
        "dot: lhs boolean[2] and rhs boolean[2]: it takes numbers, not booleans; convert them "
        "first");
  CHECK(sentence_of<t<2, 3>, t<3, 2>>([](auto x, auto y) {
          return dot_general(x, y, {0, 1}, 1);
        }) ==
        "dot_general: lhs f32[2,3] and rhs f32[3,2]: 2 and 1 contracted, 0 and 0 batch axes: "
        "they must pair up");
  CHECK(sentence_of<t<2, 3>, t<3, 2>>([](auto x, auto y) { return tensordot(x, y, 3); }) ==
        "tensordot: f32[2,3] along axis -3: the axis must be from -2 to 1");
}
