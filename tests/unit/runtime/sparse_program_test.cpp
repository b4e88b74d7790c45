// unit/runtime/sparse_program_test.cpp: a program in which most numbers are known at build time
// gives what its graph gives node by node. Reads: property/compiled.hpp.
// SPDX-License-Identifier: MIT
#include "atled/runtime/sparse_program.hpp"

#include "property/compiled.hpp"
#include "support/catch.hpp"
#include <limits>
#include <tuple>

using namespace atled;
using test::numbers_for;

namespace {

/// The program runs so, and gives the numbers of its graph.
template <class F, class... T>
bool is_right(F f, const T&... x) {
  using planned = typename decltype(jit(f))::template program<T...>::planned;
  static_assert(!runtime::inline_program<planned>::fits);
  static_assert(runtime::sparse_program<planned>::fits);
  const auto computed = test::numbers_of(jit(f)(x...));
  return test::distance(computed, test::all_values(f, x...)) < 1e-6;
}

constexpr auto chain = [](auto v) {
  const auto x = slice_in_dim(v, 0, 31);
  const auto y = slice_in_dim(v, 1, 32);
  return sum(100.0 * square(y - square(x)) + square(1.0 - x)) + prod(slice_in_dim(v, 0, 3));
};
constexpr auto masked = [](auto x, auto w) {
  const auto mask = astype<f32>(tri(x, 32, 32));
  const auto weights = where(mask > 0.0, mask * 2.0, -1.0);
  return std::tuple(matmul(weights, x), sum(mask * w, 1), max(where(mask > 0.0, w, 0.5), 0),
                    eye(x, 32, dtype::f32) + 1.0, transpose(mask) * w);
};

}  // namespace

TEST_CASE("sparse_program: second derivatives of a chain are a few diagonals", "[runtime]") {
  CHECK(is_right(hessian(chain), numbers_for<tensor<f32, 32>>(1)));
  CHECK(is_right(jacfwd([](auto v) { return exp(flip(v, 0)) * v; }),
                 numbers_for<tensor<f64, 40>>(3)));
}

TEST_CASE("sparse_program: products, reductions and results of masks", "[runtime]") {
  CHECK(is_right(masked, numbers_for<tensor<f32, 32>>(1), numbers_for<tensor<f32, 32>>(2)));
}

TEST_CASE("sparse_program: only a tangent that is 0 makes a product 0", "[runtime]") {
  constexpr auto f = [](auto x) { return eye(x, 64, dtype::f32) * x; };
  tensor<f32, 64> x{};
  x(3) = std::numeric_limits<f32>::infinity();
  const auto out = jit(f)(x);
  CHECK(out(3, 3) == x(3));
  CHECK(out(2, 3) != out(2, 3));  // 0 times infinity
  CHECK(out(2, 2) == 0);
  constexpr auto g = [](auto v) { return jacfwd([&](auto u) { return u * v; })(v); };
  const auto slopes = jit(g)(x);
  CHECK(slopes(3, 3) == x(3));
  CHECK(slopes(3, 2) == 0);
  CHECK(slopes(2, 3) == 0);
}
