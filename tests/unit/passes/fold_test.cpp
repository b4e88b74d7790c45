// unit/passes/fold_test.cpp: constants are computed as the kernels would, or not at all.
// SPDX-License-Identifier: MIT
#include "atled/passes/fold.hpp"

#include "support/catch.hpp"
#include <cmath>
#include <limits>

using namespace atled;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();

/// `code` of constants of one type.
constexpr passes::folded folded_op(op code, dtype element, double x, double y = 0,
                                   int operands = 2) {
  ir::builder b{};
  passes::moving_node n{};
  n.code = code;
  n.num_operands = operands;
  n.operands[0] = is_floating(element) ? b.constant(x, element)
                                       : b.integer_constant(static_cast<std::int64_t>(x), element);
  n.operands[1] = is_floating(element) ? b.constant(y, element)
                                       : b.integer_constant(static_cast<std::int64_t>(y), element);
  n.type = {is_compare(code) ? dtype::boolean : element, {}};
  return passes::fold(b.g, n);
}

static_assert(folded_op(op::add, dtype::f64, 1, 2).real == 3);
static_assert(!folded_op(op::div, dtype::f64, 1, 0).known);
static_assert(!folded_op(op::mul, dtype::f64, 1e200, 1e200).known);
static_assert(!folded_op(op::mul, dtype::f32, 1e30, 1e30).known);
static_assert(folded_op(op::add, dtype::i32, 2147483647, 1).integer == -2147483648);
static_assert(folded_op(op::sub, dtype::u8, 0, 1).integer == 255);
static_assert(!folded_op(op::div, dtype::i32, 5, 0).known);
static_assert(folded_op(op::lt, dtype::f32, 1, inf).integer == 1);
static_assert(folded_op(op::strong_mul, dtype::f64, 0, inf).real == 0);
static_assert(folded_op(op::neg, dtype::f64, inf, 0, 1).real == -inf);
static_assert(folded_op(op::floor, dtype::f64, -0.5, 0, 1).real == -1);
static_assert(folded_op(op::round, dtype::f64, 2.5, 0, 1).real == 2);
static_assert(folded_op(op::round, dtype::f64, 1.5, 0, 1).real == 2);
static_assert(!folded_op(op::exp, dtype::f64, 1, 0, 1).known);
}  // namespace

TEST_CASE("fold: the square root is correctly rounded", "[passes]") {
  for (double x = 1e-140; x < 1e140; x *= 1.37) {
    CAPTURE(x);
    CHECK(passes::detail::sqrt_of(x) == std::sqrt(x));
  }
}
