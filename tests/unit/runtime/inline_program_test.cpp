// Tests of atled/runtime/inline_program.hpp: a small program as one function gives what its graph
// gives node by node, and what it gives as kernels.
// Reads: property/compiled.hpp.
// SPDX-License-Identifier: MIT
#include "atled/runtime/inline_program.hpp"

#include "property/compiled.hpp"
#include "support/catch.hpp"
#include <tuple>

using namespace atled;
using test::numbers_for;

namespace {

/// The program is one function, and gives the numbers of its graph and of its kernels.
template <class F, class... T>
bool is_right(F f, const T&... x) {
  static_assert(decltype(jit(f))::template program<T...>::is_inline);
  const auto inlined = test::numbers_of(jit(f)(x...));
  return test::distance(inlined, test::all_values(f, x...)) < 1e-6 &&
         test::distance(inlined, test::numbers_of(jit(f, by_kernels)(x...))) < 1e-6;
}

using matrix = tensor<f32, 3, 5>;
using vector = tensor<f32, 5>;

}  // namespace

TEST_CASE("inline_program: elementwise ops of any number of lanes", "[runtime]") {
  constexpr auto f = [](auto x, auto y) {
    return std::tuple(where(x < y, exp(x) * 2.0, tanh(y)), x / (y + 3.0), sign(x) + 1);
  };
  CHECK(is_right(f, numbers_for<tensor<f32, 37>>(1), numbers_for<tensor<f32, 37>>(2)));
  CHECK(is_right(f, numbers_for<tensor<f64, 5>>(1), numbers_for<tensor<f64, 5>>(2)));
  CHECK(is_right(f, numbers_for<tensor<f32>>(1), numbers_for<tensor<f32>>(2)));
}

TEST_CASE("inline_program: integers, booleans and conversions", "[runtime]") {
  constexpr auto f = [](auto i, auto x) {
    const auto even = (i & 1) == 0;
    return std::tuple(even, astype<f32>(i) * x, astype<i32>(x * 10.0), where(even, x, -x));
  };
  CHECK(is_right(f, numbers_for<tensor<i32, 7>>(1), numbers_for<tensor<f32, 7>>(2)));
}

TEST_CASE("inline_program: what moves elements", "[runtime]") {
  constexpr auto f = [](auto x, auto v) {
    const auto turned = transpose(x);
    return std::tuple(flip(turned, 0), x + v, concatenate({x, 2.0 * x}, 0),
                      slice_in_dim(turned, 1, 4), reshape(turned, {15}),
                      pad(v, {2}, {1}, pad_mode::edge));
  };
  CHECK(is_right(f, numbers_for<matrix>(1), numbers_for<vector>(2)));
}

TEST_CASE("inline_program: reductions over any axes, and products", "[runtime]") {
  constexpr auto f = [](auto x, auto v) {
    return std::tuple(sum(x), sum(x, 0), reduce_max(x, 1), prod(v), softmax(x), matmul(x, v),
                      matmul(x, transpose(x)), outer(v, v));
  };
  CHECK(is_right(f, numbers_for<matrix>(1), numbers_for<vector>(2)));
}

TEST_CASE("inline_program: gradients, and gradients of gradients", "[runtime]") {
  constexpr auto energy = [](auto x) {
    return sum(sin(slice_in_dim(x, 0, 4)) * slice_in_dim(x, 1, 5));
  };
  constexpr auto slope = [](auto x) {
    return sum(square(
        grad([](auto y) { return sum(sin(slice_in_dim(y, 0, 4)) * slice_in_dim(y, 1, 5)); })(x)));
  };
  CHECK(is_right(grad(energy), numbers_for<vector>(3)));
  CHECK(is_right(grad(slope), numbers_for<vector>(4)));
}

TEST_CASE("inline_program: an argument that is given up may lie where a result is written",
          "[runtime]") {
  constexpr auto f = [](auto x, auto y) { return std::tuple(x + y, x - y); };
  tensor<f32, 100> x = full<f32, 100>(3), y = full<f32, 100>(1);
  const auto [sum, difference] = jit(f)(std::move(x), std::move(y));

  CHECK(sum(99) == 4);
  CHECK(difference(99) == 2);
}

TEST_CASE("inline_program: what is large, or has an op without a case, runs as kernels",
          "[runtime]") {
  constexpr auto twice = [](auto x) { return x * 2.0; };
  using function = decltype(jit(twice));
  STATIC_REQUIRE(function::program<tensor<f32, 1000>>::is_inline);
  STATIC_REQUIRE_FALSE(function::program<tensor<f32, 100'000>>::is_inline);
  STATIC_REQUIRE_FALSE(function::program<tensor<bf16, 8>>::is_inline);
}

TEST_CASE("inline_program: a long chain is cut into folds that compilers accept", "[runtime]") {
  constexpr auto chain = [](auto x) {
    for (int i = 1; i < 300; ++i) x = sin(x) + 0.5;
    return x;
  };
  STATIC_REQUIRE(decltype(jit(chain))::program<tensor<f32, 2>>::is_inline == false);
  constexpr auto shorter = [](auto x) {
    for (int i = 1; i < 200; ++i) x = sin(x) + 0.5;
    return x;
  };
  CHECK(is_right(shorter, numbers_for<tensor<f32, 2>>(1)));
}
