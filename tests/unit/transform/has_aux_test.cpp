// unit/transform/has_aux_test.cpp: has_aux: vjp, jvp and linearize pass the rest of a result
// through, in a trace and on tensors, nested, and say what is wrong.
// SPDX-License-Identifier: MIT
#include "atled/transform/has_aux.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/vjp.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using scalar = tensor<f64>;

// value x y^2, and beside it a tree with an integer in it
constexpr auto weighted = [](auto x, auto y) {
  return std::pair(x * y * y, std::pair(sum(x), convert(y, dtype::i32)));
};
constexpr auto alone = [](auto v) { return sum(v); };
}  // namespace

TEST_CASE("has_aux: vjp gives the rest beside the pullback, which may be called twice",
          "[transform]") {
  const auto f = [](auto x, auto y, auto ct) {
    const auto [value, pullback, aux] = vjp(weighted, x, y, has_aux);
    return std::tuple(value, pullback(ct), pullback(ct * 2.0), aux);
  };
  CHECK(all_values(f, vec3{1, 2, 3}, vec3{1, 10, 100}, vec3{1, 1, 0}) ==
        std::vector<numbers>{
            {1, 200, 30000}, {1, 100, 0}, {2, 40, 0}, {2, 200, 0}, {4, 80, 0}, {6}, {1, 10, 100}});
}

TEST_CASE("has_aux: on tensors the verbs compute the rest once, with the value", "[transform]") {
  const vec3 x{1, 2, 3};
  const vec3 y{1, 10, 100};
  const auto [value, pullback, aux] = vjp(weighted, x, y, has_aux);
  CHECK(same_bits(value, vec3{1, 200, 30000}));
  CHECK(aux.first.item() == 6);
  CHECK(same_bits(aux.second, tensor<i32, 3>{1, 10, 100}));
  const auto [d_x, d_y] = pullback(vec3{1, 1, 0});
  CHECK(same_bits(d_x, vec3{1, 100, 0}));
  CHECK(same_bits(d_y, vec3{2, 40, 0}));

  const auto [again, along, rest] = linearize(weighted, x, y, has_aux);
  CHECK(same_bits(again, value));
  CHECK(same_bits(rest.second, aux.second));
  CHECK(same_bits(along(vec3{1, 0, 0}, vec3{0, 1, 0}), vec3{1, 40, 0}));

  const auto [same, tangent, third] =
      jvp(weighted, std::tuple(x, y), std::tuple(vec3{1, 0, 0}, vec3{0, 1, 0}), has_aux);
  CHECK(same_bits(same, value));
  CHECK(same_bits(tangent, vec3{1, 40, 0}));
  CHECK(third.first.item() == 6);
}

TEST_CASE("has_aux: jvp as a function, under vmap and jit, equals single calls", "[transform]") {
  constexpr auto f = [](auto x) { return std::pair(sum(x * x), x * 2.0); };
  const auto along = jit(vmap(jvp(f, has_aux)));
  const auto [value, tangent, aux] =
      along(tensor<f64, 2, 2>{{1, 2}, {3, 4}}, tensor<f64, 2, 2>{{1, 0}, {1, 1}});
  CHECK(same_bits(value, tensor<f64, 2>{5, 25}));
  CHECK(same_bits(tangent, tensor<f64, 2>{2, 14}));
  CHECK(same_bits(aux, tensor<f64, 2, 2>{{2, 4}, {6, 8}}));
}

TEST_CASE("has_aux: the rest is differentiated where an outer derivative asks for it",
          "[transform]") {
  // aux = x^2 keeps its derivative: d/dx (pullback(1) + aux) = d/dx (3 x^2 + x^2) = 8 x
  const auto outer = [](auto x) {
    const auto f = [](auto u) { return std::pair(u * u * u, u * u); };
    const auto [value, pullback, aux] = vjp(f, x, has_aux);
    const auto [slope] = pullback(x * 0.0 + 1.0);
    return slope + aux;
  };
  CHECK(values_of(grad(outer), scalar{5}) == numbers{40});
  const auto forward = [](auto x) {
    const auto f = [](auto u) { return std::pair(u * u * u, u * u); };
    const auto [value, derivative, aux] = linearize(f, x, has_aux);
    return derivative(x * 0.0 + 1.0) + aux;
  };
  CHECK(values_of(grad(forward), scalar{5}) == numbers{40});
}

TEST_CASE("has_aux: a cotangent belongs to the value alone", "[transform]") {
  const auto b = oracle::make_builder();
  const expr x(*b, b->parameter({dtype::f64, shape::of({3})}));
  const expr ct(*b, b->parameter({dtype::f64, {}}));
  const auto f = [](auto v) { return std::pair(v * 2.0, sum(v)); };
  const auto [value, pullback, aux] = vjp(f, x, has_aux);
  const auto [d_x] = pullback(ct);
  CHECK(d_x.is_poison());
  CHECK(b->problem.view() ==
        "vjp: leaf 0 is f64[3], its cotangent f64[]: their types must be equal");
}

TEST_CASE("has_aux: a function that returns no pair is refused by each verb", "[transform]") {
  const std::string sentence =
      "has_aux: the function returns one tree: it must return a pair of the value and the rest";
  const auto problem_of = [](auto use) {
    const auto b = oracle::make_builder();
    use(expr(*b, b->parameter({dtype::f64, shape::of({3})})));
    return std::string(b->problem.view());
  };
  CHECK(problem_of([](const expr& x) { return vjp(alone, x, has_aux); }) == sentence);
  CHECK(problem_of([](const expr& x) { return linearize(alone, x, has_aux); }) == sentence);
  CHECK(problem_of([](const expr& x) { return jvp(alone, x, x, has_aux); }) == sentence);
  CHECK(problem_of([](const expr& x) { return grad(alone, has_aux)(x); }) == sentence);
}
