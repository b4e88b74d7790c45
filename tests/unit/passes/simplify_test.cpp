// unit/passes/simplify_test.cpp: what is simplified, and what is not because a bit would change.
// SPDX-License-Identifier: MIT
#include "atled/passes/simplify.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using ids_t = std::vector<int>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// x combined with a constant.
auto with(op code, double value) {
  return [code, value](ir::builder& b, const ids_t& x) {
    const int c = is_floating(b.type(x[0]).element)
                      ? b.splat(value, b.type(x[0]))
                      : b.broadcast(b.integer_constant(static_cast<std::int64_t>(value),
                                                       b.type(x[0]).element),
                                    b.type(x[0]).dims, 0);
    return b.binary(code, x[0], c);
  };
}
auto after(op outer, op inner) {
  return [=](ir::builder& b, const ids_t& x) { return b.unary(outer, b.unary(inner, x[0])); };
}
}  // namespace

TEST_CASE("simplify: identities that hold for every value are taken", "[passes]") {
  const tensor_type x = f32_of({3});
  CHECK(simplified_equations({x}, with(op::mul, 1)).empty());
  CHECK(simplified_equations({x}, with(op::div, 1)).empty());
  CHECK(simplified_equations({x}, with(op::add, -0.0)).empty());
  CHECK(simplified_equations({x}, with(op::sub, 0.0)).empty());
  CHECK(simplified_equations({x}, with(op::strong_mul, 1)).empty());
  CHECK(simplified_equations({x}, with(op::pow, 1)).empty());
  CHECK(simplified_equations({x}, after(op::neg, op::neg)).empty());
  CHECK(simplified_equations({x}, after(op::stop_gradient, op::variable)).empty());
  CHECK(simplified_equations({x}, with(op::mul, -1)) == "neg a");
  CHECK(simplified_equations({x}, after(op::abs, op::neg)) == "abs a");
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.binary(op::max, in[0], in[0]);
        }).empty());
  CHECK(simplified_equations({x, x}, [](ir::builder& b, const ids_t& in) {
          return b.sub(in[0], b.neg(in[1]));
        }) == "add a b");
  CHECK(simplified_equations({x, x}, [](ir::builder& b, const ids_t& in) {
          return b.add(b.neg(in[0]), in[1]);
        }) == "sub b a");
}

TEST_CASE("simplify: what would change a NaN, an infinity or a zero stays", "[passes]") {
  const tensor_type x = f32_of({});
  CHECK(simplified_equations({x}, with(op::mul, 0)) == "mul a 0.0");
  CHECK(simplified_equations({x}, with(op::add, 0.0)) == "add a 0.0");
  CHECK(simplified_equations(
            {x}, [](ir::builder& b, const ids_t& in) { return b.sub(in[0], in[0]); }) == "sub a a");
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.binary(op::eq, in[0], in[0]);
        }) == "eq a a");
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.unary(op::logical_not, b.binary(op::lt, in[0], b.splat(0, b.type(in[0]))));
        }) == "lt a 0.0; logical_not c");
  // (x + 1e20) - 1e20 is 0 at 1
  const auto far = graph_of({f64_of({})}, [](ir::builder& b, const ids_t& in) {
    const int large = b.splat(1e20, b.type(in[0]));
    return ids_t{b.sub(b.add(in[0], large), large)};
  });
  const auto simple = simplified_copy(far->g);
  CHECK(oracle::interpret(simple->g, {oracle::make_array(f64_of({}), {1})})[0][0] == 0);
}

TEST_CASE("simplify: integers follow their algebra freely", "[passes]") {
  const tensor_type x = i32_of({3});
  CHECK(simplified_equations({x}, with(op::mul, 0)) == "broadcast[axes=()] 0");
  CHECK(simplified_equations({x}, with(op::add, 0)).empty());
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.sub(in[0], in[0]);
        }) == "broadcast[axes=()] 0");
  CHECK(simplified_equations({x}, with(op::bit_and, -1)).empty());
  CHECK(simplified_equations({x}, with(op::bit_or, 0)).empty());
  CHECK(simplified_equations({x}, with(op::shift_left, 0)).empty());
}

TEST_CASE("simplify: constants are computed, also where they are repeated", "[passes]") {
  const auto nothing = std::initializer_list<tensor_type>{};
  CHECK(simplified_equations(nothing, [](ir::builder& b, const ids_t&) {
          const tensor_type type = f32_of({2, 3});
          const int half = b.div(b.splat(1, type), b.splat(2, type));
          return b.add(b.mul(half, half), b.unary(op::sqrt, b.splat(9, type)));
        }) == "broadcast[axes=()] 3.25");
  CHECK(simplified_equations(nothing, [](ir::builder& b, const ids_t&) {
          return b.add(b.integer_constant(2147483647, dtype::i32),
                       b.integer_constant(1, dtype::i32));
        }).empty());
  CHECK(simplified_equations({f32_of({})}, [](ir::builder& b, const ids_t& x) {
          const int big = b.constant(inf, dtype::f32);
          return b.select(b.binary(op::lt, b.constant(1, dtype::f32), big), x[0], big);
        }).empty());
}

TEST_CASE("simplify: a strong product with a finite number is a product", "[passes]") {
  CHECK(simplified_equations({f32_of({})}, with(op::strong_mul, 2)) == "mul a 2.0");
  CHECK(simplified_equations({f32_of({})}, with(op::strong_mul, inf)) == "strong_mul a inf");
  CHECK(simplified_equations({f32_of({3})}, with(op::strong_mul, 0)) == "broadcast[axes=()] 0.0");
}

TEST_CASE("simplify: powers and quotients by constants become products", "[passes]") {
  CHECK(simplified_equations({f32_of({})}, with(op::pow, 2)) == "mul a a");
  CHECK(simplified_equations({f32_of({})}, with(op::pow, 3)) == "mul a a; mul a b");
  CHECK(simplified_equations({f32_of({})}, with(op::pow, -1)) == "div 1.0 a");
  CHECK(simplified_equations({f32_of({})}, with(op::pow, 0.5)) == "pow a 0.5");
  CHECK(simplified_equations({f32_of({})}, with(op::div, 8)) == "mul a 0.125");
  CHECK(simplified_equations({f32_of({})}, with(op::div, 3)) == "div a 3.0");
}

TEST_CASE("simplify: a selection by a constant or of equals is no selection", "[passes]") {
  const tensor_type x = f32_of({2});
  const tensor_type p{dtype::boolean, shape::of({2})};
  CHECK(simplified_equations({p, x}, [](ir::builder& b, const ids_t& in) {
          return b.select(in[0], in[1], in[1]);
        }).empty());
  CHECK(simplified_equations({p, x, x}, [](ir::builder& b, const ids_t& in) {
          return b.select(b.unary(op::logical_not, in[0]), in[1], in[2]);
        }) == "select a c b");
}

TEST_CASE("simplify: moves of moves are one move, moves of nothing are gone", "[passes]") {
  const tensor_type x = f32_of({2, 3, 4});
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.transpose(b.transpose(in[0], 0x102), 0x021);
        }) == "");
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.transpose(b.transpose(in[0], 0x201), 0x102);
        }) == "transpose[order=(2,1,0)] a");
  CHECK(simplified_equations({x}, [](ir::builder& b, const ids_t& in) {
          return b.reshape(b.reshape(in[0], shape::of({24})), shape::of({2, 3, 4}));
        }).empty());
  CHECK(simplified_equations({f32_of({3})}, [](ir::builder& b, const ids_t& in) {
          const int middle = b.broadcast(in[0], shape::of({2, 3}), 2);
          return b.broadcast(middle, shape::of({2, 4, 3}), 5);
        }) == "broadcast[axes=(2)] a");
  CHECK(simplified_equations({f32_of({3})}, [](ir::builder& b, const ids_t& in) {
          return b.broadcast(b.reshape(in[0], shape::of({3, 1})), shape::of({2, 3, 4}), 6);
        }) == "broadcast[axes=(1)] a");
  CHECK(simplified_equations({f32_of({2, 3})}, [](ir::builder& b, const ids_t& in) {
          const int wide = b.broadcast(in[0], shape::of({2, 4, 3}), 5);
          return b.transpose(wide, 0x021);  // (1, 2, 0)
        }) == "transpose[order=(1,0)] a; broadcast[axes=(1,2)] b");
  CHECK(simplified_equations({f32_of({1, 5})}, [](ir::builder& b, const ids_t& in) {
          return b.transpose(in[0], 0x01);
        }) == "reshape a");
  CHECK(simplified_equations({f32_of({9})}, [](ir::builder& b, const ids_t& in) {
          const int part = b.slice(in[0], shape::of({1}), shape::of({4}), shape::of({2}));
          return b.slice(part, shape::of({1}), shape::of({2}), shape::of({1}));
        }) == "slice[start=(3) stride=(2)] a");
}

TEST_CASE("simplify: parts of a concatenation are its operands, and all parts its operand",
          "[passes]") {
  const auto part = [](ir::builder& b, int x, std::int64_t start, std::int64_t size) {
    return b.slice(x, shape::of({start}), shape::of({size}), shape::of({1}));
  };
  CHECK(simplified_equations({f32_of({2}), f32_of({3})}, [&](ir::builder& b, const ids_t& x) {
          const int both = b.append(op::concatenate, {x[0], x[1]}, ir::attribute_list::of(0));
          return part(b, both, 2, 3);
        }).empty());
  CHECK(simplified_equations({f32_of({5})}, [&](ir::builder& b, const ids_t& x) {
          return b.append(op::concatenate, {part(b, x[0], 0, 2), part(b, x[0], 2, 3)},
                          ir::attribute_list::of(0));
        }).empty());
}

TEST_CASE("simplify: disjoint parts in zeros are laid side by side", "[passes]") {
  const tensor_type x = f32_of({4, 2});
  const auto placed = [](ir::builder& b, int id, std::int64_t at) {
    return b.pad(id, b.constant(0, dtype::f32), shape::of({0, at}), shape::of({0, 0}),
                 shape::of({4, 6}));
  };
  CHECK(simplified_equations({x, x, x}, [&](ir::builder& b, const ids_t& in) {
          return b.add(b.add(placed(b, in[2], 4), placed(b, in[1], 2)), placed(b, in[0], 0));
        }) == "concatenate[axis=1] a b c");
  CHECK(simplified_equations({x, x, x}, [&](ir::builder& b, const ids_t& in) {
          return b.add(b.add(placed(b, in[0], 0), placed(b, in[2], 4)), placed(b, in[1], 2));
        }) == "concatenate[axis=1] a b c");
  CHECK(simplified_equations({x, x}, [&](ir::builder& b, const ids_t& in) {  // they overlap
          const int first = placed(b, in[0], 0);
          return b.add(first, placed(b, in[1], 1));
        }) == "pad[low=(0,0) interior=(0,0)] a 0.0; pad[low=(0,1) interior=(0,0)] b 0.0; add d e");
}

TEST_CASE("simplify: transposes go into the axes of a dot", "[passes]") {
  ir::dot_axes rows{};
  rows.contract(1, 0);
  CHECK(simplified_equations({f32_of({3, 2}), f32_of({5, 3})}, [&](ir::builder& b, const ids_t& x) {
          return b.dot(b.transpose(x[0], 0x01), b.transpose(x[1], 0x01), rows);
        }) == "dot[contract=(0)(1)] a b");
  CHECK(simplified_equations({f32_of({2, 3}), f32_of({3, 5})}, [&](ir::builder& b, const ids_t& x) {
          return b.transpose(b.dot(x[0], x[1], rows), 0x01);
        }) == "dot[contract=(0)(1)] b a");
  // heads: [T, H, D] x [S, H, D] with H moved to the front
  ir::dot_axes heads{};
  heads.batch(0, 0);
  heads.contract(2, 2);
  CHECK(simplified_equations(
            {f32_of({6, 2, 4}), f32_of({5, 2, 4})}, [&](ir::builder& b, const ids_t& x) {
              return b.dot(b.transpose(x[0], 0x201), b.transpose(x[1], 0x201), heads);
            }) == "dot[batch=(1)(1) contract=(2)(2)] a b");
}

TEST_CASE("simplify: reductions of what is repeated, reduced or transposed", "[passes]") {
  CHECK(simplified_equations({f32_of({3})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_sum, b.broadcast(x[0], shape::of({3, 8}), 1), 2);
        }) == "broadcast[axes=()] 8.0; mul a c");
  CHECK(simplified_equations({f32_of({3})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_sum, b.broadcast(x[0], shape::of({3, 7}), 1), 2);
        }) == "broadcast[axes=(0)] a; reduce_sum[axes=(1)] b");
  CHECK(simplified_equations({f32_of({3})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_max, b.broadcast(x[0], shape::of({3, 7}), 1), 2);
        }).empty());
  CHECK(simplified_equations({f32_of({2, 3, 4})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_sum, b.reduce(op::reduce_sum, x[0], 2), 2);
        }) == "reduce_sum[axes=(1,2)] a");
  CHECK(simplified_equations({f32_of({2, 3, 4})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_sum, b.transpose(x[0], 0x012), 1);
        }) == "reduce_sum[axes=(2)] a; transpose[order=(1,0)] b");
  CHECK(simplified_equations({f32_of({1, 3})}, [](ir::builder& b, const ids_t& x) {
          return b.reduce(op::reduce_sum, x[0], 1);
        }) == "reshape a");
}

TEST_CASE("simplify: what is repeated is computed before", "[passes]") {
  CHECK(simplified_equations({f32_of({}), f32_of({})}, [](ir::builder& b, const ids_t& x) {
          const shape dims = shape::of({4, 5});
          return b.unary(op::exp, b.mul(b.broadcast(x[0], dims, 0), b.broadcast(x[1], dims, 0)));
        }) == "mul a b; exp c; broadcast[axes=()] d");
}

TEST_CASE("simplify: axes of size 1 are added last, so that repeating them is one move",
          "[passes]") {
  CHECK(simplified_equations({f32_of({2, 8})}, [](ir::builder& b, const ids_t& x) {
          const int row = b.reshape(b.reduce(op::reduce_sum, x[0], 2), shape::of({2, 1}));
          return b.broadcast(b.scale(row, 0.125), shape::of({2, 8}), 3);
        }) == "reduce_sum[axes=(1)] a; broadcast[axes=()] 0.125; mul b d; broadcast[axes=(0)] e");
}

TEST_CASE("simplify: a factor that is a power of two joins another constant", "[passes]") {
  const auto scaled = [](double first, double second) {
    return simplified_equations({f32_of({})}, [=](ir::builder& b, const ids_t& x) {
      return b.scale(b.scale(x[0], first), second);
    });
  };
  CHECK(scaled(3, 0.5) == "mul a 1.5");
  CHECK(scaled(3, 5) == "mul a 3.0; mul c 5.0");
}

TEST_CASE("simplify: equal nodes are one and dead nodes are none, in any order of operands",
          "[passes]") {
  CHECK(simplified_equations({f32_of({}), f32_of({})}, [](ir::builder& b, const ids_t& x) {
          b.unary(op::sin, x[0]);
          return b.sub(b.mul(x[0], x[1]), b.mul(x[1], x[0]));
        }) == "mul a b; sub c c");
}

TEST_CASE("simplify: a conversion up and back is none, down and back stays", "[passes]") {
  CHECK(simplified_equations({f32_of({})}, [](ir::builder& b, const ids_t& x) {
          return b.convert(b.convert(x[0], dtype::f64), dtype::f32);
        }).empty());
  CHECK(simplified_equations({f32_of({})}, [](ir::builder& b, const ids_t& x) {
          return b.convert(b.convert(x[0], dtype::bf16), dtype::f32);
        }) == "convert a; convert b");
}

TEST_CASE("simplify: a product without sums is elementwise, and its sums fuse", "[passes]") {
  ir::dot_axes lanes{};
  lanes.batch(0, 0);
  CHECK(simplified_equations({f32_of({8, 4}), f32_of({8, 2})}, [&](ir::builder& b, const auto& x) {
          return b.dot(x[0], x[1], lanes);
        }) == "broadcast[axes=(0,1)] a; broadcast[axes=(0,2)] b; mul c d");
  ir::dot_axes turned{};
  turned.batch(1, 0);
  CHECK(simplified_equations(
            {f32_of({4, 8}), f32_of({8, 2})},
            [&](ir::builder& b, const auto& x) { return b.dot(x[0], x[1], turned); }) ==
        "transpose[order=(1,0)] a; broadcast[axes=(0,1)] c; broadcast[axes=(0,2)] b; "
        "mul d e");
  // the sum of squares over both axes walks along the longer one
  CHECK(simplified_equations({f32_of({8, 4}), f32_of({8, 2})},
                             [&](ir::builder& b, const auto& x) {
                               const int y = b.dot(x[0], x[1], lanes);
                               return b.reduce(op::reduce_sum, b.mul(y, y), 6);
                             }) ==
        "broadcast[axes=(0,2)] a; broadcast[axes=(0,1)] b; mul c d; mul e e; "
        "reduce_sum[axes=(1,2)] f");
}
