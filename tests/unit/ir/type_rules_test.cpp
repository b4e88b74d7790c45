// unit/ir/type_rules_test.cpp: the type of each op, and the sentence where there is none.
// SPDX-License-Identifier: MIT
#include "atled/ir/type_rules.hpp"

#include "support/catch.hpp"

using namespace atled;
using ir::attribute_list;

namespace {

constexpr tensor_type of(dtype element, std::initializer_list<std::int64_t> dims) {
  return {element, shape::of(dims)};
}

/// The type as text, or the sentence.
constexpr text rule(op code, std::initializer_list<tensor_type> operands,
                    const attribute_list& attributes = {}, const tensor_type& wanted = {}) {
  ir::operand_types in{};
  for (const tensor_type& type : operands) in.types[in.size++] = type;
  const ir::typed result = ir::infer_type(code, in, attributes, wanted);
  text out;
  return result.ok() ? out << result.type : result.problem;
}
constexpr attribute_list list(std::initializer_list<std::int64_t> values) {
  attribute_list out{};
  for (const std::int64_t value : values) out.push(value);
  return out;
}

static_assert(rule(op::add, {of(dtype::f32, {2}), of(dtype::f32, {2})}).view() == "f32[2]");
static_assert(rule(op::lt, {of(dtype::f32, {2}), of(dtype::f32, {2})}).view() == "boolean[2]");
static_assert(rule(op::argmax, {of(dtype::f32, {2, 3})}, list({2})).view() == "i32[2]");
static_assert(rule(op::reduce_sum, {of(dtype::f32, {2, 3, 4})}, list({5})).view() == "f32[3]");
static_assert(rule(op::reduce_sum, {of(dtype::f32, {0, 3})}, list({1})).view() == "f32[3]");
static_assert(rule(op::transpose, {of(dtype::f32, {2, 3, 4})}, list({0x102})).view() ==
              "f32[4,2,3]");
static_assert(rule(op::concatenate, {of(dtype::f32, {2, 3}), of(dtype::f32, {2, 4})}, list({1}))
                  .view() == "f32[2,7]");
static_assert(rule(op::gather, {of(dtype::f32, {5, 3}), of(dtype::i32, {2, 4})}, list({0, 0, 0}))
                  .view() == "f32[2,4,3]");
static_assert(rule(op::gather, {of(dtype::f32, {2, 5, 3}), of(dtype::i32, {2, 4})}, list({1, 1, 0}))
                  .view() == "f32[2,4,3]");
}  // namespace

TEST_CASE("type_rules: an elementwise op wants equal types and shapes", "[ir]") {
  CHECK(rule(op::add, {of(dtype::f32, {8, 16}), of(dtype::f32, {8})}).view() ==
        "f32[8,16] and f32[8]: shapes must be equal");
  CHECK(rule(op::add, {of(dtype::f32, {8}), of(dtype::f64, {8})}).view() ==
        "f32[8] and f64[8]: element types must be equal");
  CHECK(rule(op::exp, {of(dtype::i32, {8})}).view() == "i32[8]: it takes a floating type");
  CHECK(rule(op::add, {of(dtype::boolean, {}), of(dtype::boolean, {})}).view() ==
        "boolean[]: it takes numbers, not booleans; convert them first");
  CHECK(rule(op::bit_and, {of(dtype::f32, {}), of(dtype::f32, {})}).view() ==
        "f32[]: it takes booleans or integers");
  CHECK(rule(op::select, {of(dtype::i32, {}), of(dtype::f32, {}), of(dtype::f32, {})}).view() ==
        "predicate i32[]: it must be boolean");
}

TEST_CASE("type_rules: a dot names the axes that differ", "[ir]") {
  ir::dot_axes axes{};
  axes.contract(1, 0);
  CHECK(rule(op::dot, {of(dtype::f32, {8, 16}), of(dtype::f32, {32, 4})}, axes.packed()).view() ==
        "lhs f32[8,16] and rhs f32[32,4]: lhs axis 1 (16) must equal rhs axis 0 (32)");
  CHECK(rule(op::dot, {of(dtype::f32, {8, 16}), of(dtype::f32, {16, 4})}, axes.packed()).view() ==
        "f32[8,4]");
  axes.batch(0, 1);
  CHECK(rule(op::dot, {of(dtype::f32, {8, 16}), of(dtype::f32, {16, 4})}, axes.packed()).view() ==
        "lhs f32[8,16] and rhs f32[16,4]: lhs axis 0 (8) must equal rhs axis 1 (4)");
}

TEST_CASE("type_rules: a maximum of nothing is refused", "[ir]") {
  CHECK(rule(op::reduce_max, {of(dtype::f32, {0, 3})}, list({1})).view() ==
        "f32[0,3]: the reduced axes hold no element, and a maximum of nothing is undefined");
}

TEST_CASE("type_rules: a reshape keeps the number of elements", "[ir]") {
  CHECK(rule(op::reshape, {of(dtype::f32, {2, 3})}, {}, of(dtype::f32, {7})).view() ==
        "f32[2,3] to f32[7]: 6 elements must equal 7");
}

TEST_CASE("type_rules: indices are integers, and slices lie inside", "[ir]") {
  CHECK(rule(op::gather, {of(dtype::f32, {5}), of(dtype::f32, {2})}, list({0, 0, 0})).view() ==
        "indices f32[2]: they must be integers");
  CHECK(rule(op::slice, {of(dtype::f32, {5})}, list({3, 1}), of(dtype::f32, {3})).view() ==
        "f32[5]: axis 0 from 3 to 5 is not inside its size 5");
}
