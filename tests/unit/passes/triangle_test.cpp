// Tests of atled/passes/triangle.hpp: what a mask makes 0, what nobody reads, and what is not so.
// Reads: atled/passes/triangle.hpp.
// SPDX-License-Identifier: MIT
#include "atled/passes/triangle.hpp"

#include "atled/ir/builder.hpp"

#include "support/catch.hpp"
#include <limits>

using namespace atled;
using passes::above_diagonal;

namespace {

constexpr tensor_type rows_of_5{dtype::f32, shape::of({2, 5, 5})};
constexpr tensor_type counts{dtype::i32, shape::of({2, 5, 5})};

constexpr int causal_mask(ir::builder& b) {
  return b.binary(op::le, b.iota(counts, 2), b.iota(counts, 1));
}
constexpr int masked_scores(ir::builder& b, int scores) {
  const int nothing = b.splat(-std::numeric_limits<double>::infinity(), rows_of_5);
  return b.select(causal_mask(b), b.scale(scores, 0.5), nothing);
}
constexpr int row_sums(ir::builder& b, int x) {
  return b.broadcast(b.reduce(op::reduce_sum, x, 0b100), rows_of_5.dims, 0b011);
}

/// What is found about the node that `build` gives, with outputs that it may add.
template <class Build>
constexpr passes::upper_half fact(Build build) {
  ir::builder b;
  const int x = b.parameter(rows_of_5);
  const int y = b.parameter(rows_of_5);
  const int node = build(b, x, y);
  passes::upper_halves found{};
  passes::find_triangles(b.g, found);
  return found.of[node];
}
constexpr void output(ir::builder& b, int x) {
  b.g.outputs[b.g.num_outputs++] = x;
}

}  // namespace

TEST_CASE("triangle: a causal softmax is 0 above the diagonal", "[passes]") {
  constexpr auto softmax = fact([](ir::builder& b, int x, int) {
    const int powers = b.unary(op::exp, b.sub(masked_scores(b, x), row_sums(b, x)));
    return b.div(powers, row_sums(b, powers));
  });
  STATIC_REQUIRE(softmax.value == above_diagonal::is_zero);
  STATIC_REQUIRE(softmax.row == 1);
  STATIC_REQUIRE(softmax.column == 2);
}

TEST_CASE("triangle: a strong product with zeros is 0, a plain one with any number is not known",
          "[passes]") {
  constexpr auto strong = fact([](ir::builder& b, int x, int y) {
    return b.strong_mul(y, b.unary(op::exp, masked_scores(b, x)));
  });
  constexpr auto plain = fact([](ir::builder& b, int x, int y) {
    return b.mul(y, b.unary(op::exp, masked_scores(b, x)));  // y may be infinite there
  });
  STATIC_REQUIRE(strong.value == above_diagonal::is_zero);
  STATIC_REQUIRE(plain.value == above_diagonal::anything);
}

TEST_CASE("triangle: a mask the other way round, or with another number, is not known",
          "[passes]") {
  constexpr auto reversed = fact([](ir::builder& b, int x, int) {
    const int mask = b.binary(op::ge, b.iota(counts, 2), b.iota(counts, 1));
    return b.select(mask, x, b.splat(0, rows_of_5));
  });
  constexpr auto ones = fact([](ir::builder& b, int x, int) {
    return b.select(causal_mask(b), x, b.splat(1, rows_of_5));
  });
  // column >= row keeps the other half: it is false above the diagonal of the axes exchanged
  STATIC_REQUIRE(reversed.value == above_diagonal::is_zero);
  STATIC_REQUIRE(reversed.row == 2);
  STATIC_REQUIRE(reversed.column == 1);
  STATIC_REQUIRE(ones.value == above_diagonal::anything);
}

TEST_CASE("triangle: scores that are masked are not read above the diagonal", "[passes]") {
  constexpr auto scores = fact([](ir::builder& b, int x, int y) {
    const int sum = b.add(x, y);
    output(b, masked_scores(b, sum));
    return sum;
  });
  STATIC_REQUIRE(scores.unread);
  STATIC_REQUIRE(scores.unread_row == 1);
  STATIC_REQUIRE(scores.unread_column == 2);
}

TEST_CASE("triangle: what is also used elsewhere is read", "[passes]") {
  constexpr auto scores = fact([](ir::builder& b, int x, int y) {
    const int sum = b.add(x, y);
    output(b, masked_scores(b, sum));
    output(b, b.reduce(op::reduce_max, sum, 0b100));
    return sum;
  });
  constexpr auto result = fact([](ir::builder& b, int x, int y) {
    const int sum = b.add(x, y);
    output(b, masked_scores(b, sum));
    output(b, sum);
    return sum;
  });
  STATIC_REQUIRE_FALSE(scores.unread);
  STATIC_REQUIRE_FALSE(result.unread);
}
