// static/gradients.cpp: gradients of small functions as graphs, while compiling: what forward and
// reverse mode and `simplify` leave of them.
// SPDX-License-Identifier: MIT
#include "atled/ir/print.hpp"
#include "atled/ir/verify.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/passes/simplify.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

namespace {

/// The graph of `F` on arguments of these types, simplified, without positions, prints as expected.
template <class... Args, class F>
constexpr bool simplifies_to(F, std::string_view expected) {
  ir::builder traced{};
  ir::trace<F, Args...>(traced);
  if (!traced.problem.empty() || !ir::verify(traced.g).empty()) return false;
  ir::builder simple{};
  passes::simplify(traced.g, simple);
  ir::builder live{};
  passes::copy_live(simple.g, live);
  for (int id = 0; id < live.g.num_nodes; ++id) live.g.nodes[id].at = {};
  return ir::verify(live.g).empty() && ir::prints_as(live.g, expected);
}

// d/dx sum(8 rows of x^2) = 16 x
static_assert(simplifies_to<tensor<f64, 4>>(
    grad([](auto x) {
      ir::builder& b = x.builder();
      const expr square = x * x;
      return sum(expr(b, b.broadcast(square.id(), shape::of({8, 4}), 2)));
    }),
    "{ lambda a:f64[4]; let\n"
    "    c:f64[4] = broadcast[axes=()] 16.0\n"
    "    d:f64[4] = mul a c\n"
    "  in d }\n"));

// d/dw sum(x w) = x^T 1: no transpose is left
static_assert(simplifies_to<tensor<f32, 3, 4>, tensor<f32, 2, 3>>(
    grad([](auto w, auto x) { return sum(matmul(x, w)); }),
    "{ lambda a:f32[3,4] b:f32[2,3]; let\n"
    "    d:f32[2,4] = broadcast[axes=()] 1.0\n"
    "    e:f32[3,4] = dot[contract=(0)(0)] b d\n"
    "  in e }\n"));

// the second derivative of x^3 is 6 x
static_assert(simplifies_to<tensor<f32>>(grad(grad([](auto x) { return x * x * x; })),
                                         "{ lambda a:f32[]; let\n"
                                         "    c:f32[] = mul a 2.0\n"
                                         "    d:f32[] = add c c\n"
                                         "    e:f32[] = add c d\n"
                                         "  in e }\n"));

// integers have no derivative, and a constant function has gradient zero
static_assert(simplifies_to<tensor<f32, 2>>(
    grad([](auto x) { return sum(convert(convert(x, dtype::i32), dtype::f32)); }),
    "{ lambda a:f32[2]; let\n"
    "    c:f32[2] = broadcast[axes=()] 0.0\n"
    "  in c }\n"));

}  // namespace
