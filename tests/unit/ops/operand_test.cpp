// unit/ops/operand_test.cpp: formulas of the library keep the user's line and name.
// SPDX-License-Identifier: MIT
#include "atled/ops/operand.hpp"

#include "atled/ops/activation.hpp"
#include "atled/ops/softmax.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <string_view>

using namespace atled;
using namespace atled::test;

namespace {
/// Whether each node but parameters and scalar constants stands on `line` of this file and bears
/// `name`.
template <class T, class F>
constexpr bool stands_on(F, int line, std::string_view name) {
  auto* b = new ir::builder();
  ir::trace<F, T>(*b);
  bool ok = b->problem.empty() && b->g.num_nodes > 1;
  for (int i = 0; i < b->g.num_nodes; ++i) {
    const ir::node& n = b->g[i];
    if (n.code == op::parameter) continue;
    ok = ok && n.at.line == line && name == n.at.function &&
         file_name(n.at.file) == "operand_test.cpp";
  }
  delete b;
  return ok;
}
using matrix = tensor<f32, 2, 3>;
// clang-format off
static_assert(stands_on<matrix>([](auto x) { return gelu(x); }, __LINE__, "gelu"));
static_assert(stands_on<matrix>([](auto x) { return softmax(x, 0); }, __LINE__, "softmax"));
static_assert(stands_on<matrix>([](auto x) { return norm(x, 1, keepdims); }, __LINE__, "norm"));
static_assert(stands_on<matrix>([](auto x) { return hypot(x, 3); }, __LINE__, "hypot"));
static_assert(stands_on<matrix>([](auto x) { return pow(x, -3); }, __LINE__, "pow"));
static_assert(stands_on<matrix>([](auto x) { return clip(x, 0, 1); }, __LINE__, "clip"));
// clang-format on
}  // namespace

TEST_CASE("operand: promotes and broadcasts as expr does", "[ops]") {
  const tensor<f32, 2, 1> x{1, 2};
  const tensor<f64, 3> y{1, 2, 3};
  const auto by_operand = [](auto u, auto v) {
    const ir::operand left(u, call_site::here());
    const ir::operand right(v, call_site::here());
    return expr((left * right + 1.0) / (2.0 - right) - left);
  };
  const auto by_expr = [](auto u, auto v) { return (u * v + 1.0) / (2.0 - v) - u; };
  CHECK(are_near(values_of(by_operand, x, y), values_of(by_expr, x, y), 0));
}
