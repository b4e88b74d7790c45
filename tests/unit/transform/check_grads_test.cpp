// unit/transform/check_grads_test.cpp: check_grads: what passes, and what does not.
// SPDX-License-Identifier: MIT
#include "atled/transform/check_grads.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/custom_jvp.hpp"

#include "support/catch.hpp"

using namespace atled;

TEST_CASE("check_grads: right derivatives pass, to second order", "[transform]") {
  constexpr auto f = [](auto x, auto w, auto n) {
    return std::pair(tanh(matmul(x, w)) * n, sum(square(w)));
  };
  const tensor<f64, 2, 3> x{{0.1, 0.2, 0.3}, {-0.4, 0.5, 0.6}};
  const tensor<f64, 3, 2> w{{1, -1}, {0.5, 2}, {0.25, 0}};
  CHECK_NOTHROW(check_grads<2>(f, x, w, 3));
}

TEST_CASE("check_grads: f32 has wider bounds", "[transform]") {
  constexpr auto f = [](auto x) { return sum(exp(x) * x); };
  CHECK_NOTHROW(check_grads(f, tensor<f32, 3>{0.5F, -1, 2}));
}

TEST_CASE("check_grads: a wrong derivative is a sentence with both numbers", "[transform]") {
  constexpr auto f = [](auto x) {
    // the square is differentiated as x, not 2 x
    return custom_jvp([](auto v) { return v * v; },
                      [](auto primals, auto tangents) {
                        const auto v = std::get<0>(primals);
                        return std::pair(v * v, v * std::get<0>(tangents));
                      })(x);
  };
  CHECK_THROWS_WITH(check_grads(f, tensor<f64>{3.0}),
                    Catch::StartsWith("check_grads: order 1: the tangent of jvp is, and the "
                                      "difference quotient") &&
                        Catch::EndsWith(": they must agree"));
}
