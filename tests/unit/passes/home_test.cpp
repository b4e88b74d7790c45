// Tests of atled/passes/home.hpp: what is only copied is computed where the copy would lie.
// Reads: atled/passes/compile.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ir/builder.hpp"
#include "atled/passes/compile.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

template <class Make>
struct planned {
  static constexpr ir::graph graph = [] {
    ir::builder b;
    Make{}(b);
    return passes::expanded(passes::prepare(b.g));
  }();
  static constexpr passes::donation donated{{-1, -1}};
  static constexpr passes::grouped grouped = passes::group_nodes(graph);
  static constexpr passes::storage kept = passes::stored_values(graph, grouped);
  static constexpr passes::plan plan =
      passes::placed(graph, donated, passes::emitted(graph, grouped, kept, donated));

  /// The home of the value that the first node of this code computes; its own place if it stays.
  static constexpr passes::view home(op code) {
    for (int id = 0; id < graph.num_nodes; ++id) {
      if (graph[id].code == code) return passes::place_of(graph, kept, id);
    }
    return {};
  }
  static constexpr bool is_output(int base) { return base == graph.outputs[0]; }
};

constexpr ir::dot_axes plain() {
  ir::dot_axes axes{};
  axes.contract(1, 0);
  return axes;
}
constexpr ir::dot_axes per_head() {
  ir::dot_axes axes{};
  axes.batch(0, 0);
  axes.contract(2, 1);
  return axes;
}
constexpr int square_parameter(ir::builder& b) {
  return b.parameter({dtype::f32, shape::of({8, 8})});
}
constexpr int concatenated(ir::builder& b, int first, int second, int axis) {
  return b.append(op::concatenate, {first, second}, ir::attribute_list::of(axis));
}
/// The first two of three axes exchanged, then [H, T, D] as [T, H D].
constexpr int rows_of_heads(ir::builder& b, int heads) {
  std::int64_t order = ir::with_permuted_axis(0, 0, 1);
  order = ir::with_permuted_axis(order, 1, 0);
  order = ir::with_permuted_axis(order, 2, 2);
  return b.reshape(b.transpose(heads, order), shape::of({8, 16}));
}
constexpr void output(ir::builder& b, int id) {
  b.g.outputs[b.g.num_outputs++] = id;
}

/// tanh(x) x beside exp(x): 8 x 16.
struct side_by_side {
  constexpr void operator()(ir::builder& b) const {
    const int x = square_parameter(b);
    const int left = b.dot(b.unary(op::tanh, x), x, plain());
    output(b, concatenated(b, left, b.unary(op::exp, x), 1));
  }
};
/// The same, and the product is a result of its own as well.
struct also_a_result {
  constexpr void operator()(ir::builder& b) const {
    const int x = square_parameter(b);
    const int left = b.dot(b.unary(op::tanh, x), x, plain());
    output(b, concatenated(b, left, b.unary(op::exp, x), 1));
    output(b, left);
  }
};
/// Twice the same: one of them is a copy.
struct twice {
  constexpr void operator()(ir::builder& b) const {
    const int x = square_parameter(b);
    const int left = b.dot(x, x, plain());
    output(b, concatenated(b, left, left, 0));
  }
};
/// Heads [H, T, D] become [T, H D], which stand above another matrix.
struct heads_above {
  constexpr void operator()(ir::builder& b) const {
    const int x = b.parameter({dtype::f32, shape::of({2, 8, 8})});
    const int heads = b.dot(x, x, per_head());
    const int rows = rows_of_heads(b, heads);
    const int other = b.parameter({dtype::f32, shape::of({8, 16})});
    output(b, concatenated(b, other, b.unary(op::neg, rows), 0));
    output(b, concatenated(b, other, rows, 0));
  }
};
/// The same without another reader.
struct heads_alone {
  constexpr void operator()(ir::builder& b) const {
    const int x = b.parameter({dtype::f32, shape::of({2, 8, 8})});
    const int heads = b.dot(x, x, per_head());
    const int rows = rows_of_heads(b, heads);
    output(b, concatenated(b, b.parameter({dtype::f32, shape::of({8, 16})}), rows, 0));
  }
};

}  // namespace

TEST_CASE("home: parts of a concatenation are computed in their places", "[passes]") {
  using p = planned<side_by_side>;
  constexpr passes::view left = p::home(op::dot);
  STATIC_REQUIRE(p::is_output(left.base));
  STATIC_REQUIRE((left.offset == 0 && left.strides[0] == 16 && left.strides[1] == 1));
  constexpr passes::view right = p::home(op::exp);
  STATIC_REQUIRE(p::is_output(right.base));
  STATIC_REQUIRE((right.offset == 8 && right.strides[0] == 16 && right.strides[1] == 1));
  STATIC_REQUIRE(p::plan.num_steps == 2);  // tanh joins exp, or the product waits for it alone
}

TEST_CASE("home: a value that something else reads stays", "[passes]") {
  using p = planned<also_a_result>;
  STATIC_REQUIRE(!p::is_output(p::home(op::dot).base));
  using q = planned<twice>;
  STATIC_REQUIRE(!q::is_output(q::home(op::dot).base));
}

TEST_CASE("home: a chain of copies ends where the last one lies", "[passes]") {
  using p = planned<heads_alone>;
  constexpr passes::view heads = p::home(op::dot);
  STATIC_REQUIRE(p::is_output(heads.base));
  STATIC_REQUIRE(heads.offset == 8 * 16);
  STATIC_REQUIRE((heads.strides[0] == 8 && heads.strides[1] == 16 && heads.strides[2] == 1));
  STATIC_REQUIRE(p::plan.num_steps == 2);  // the product, and a copy of the parameter
  STATIC_REQUIRE(p::plan.arena_bytes == 0);
  using q = planned<heads_above>;
  STATIC_REQUIRE(!q::is_output(q::home(op::dot).base));
}
