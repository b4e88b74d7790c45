// unit/ops/creation_test.cpp: values made from a rule inside a trace.
// SPDX-License-Identifier: MIT
#include "atled/ops/creation.hpp"

#include "atled/core/creation.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 3, 3>;
static_assert(
    types_of<tensor<bf16, 2, 3>>([](auto x) {
      return std::tuple{zeros_like(x),    ones_like(x),       full_like(x, 2),
                        iota_like(x, -1), full(x, {4}, 1.5),  zeros(x, {2, 2}, dtype::i32),
                        ones(x, {}),      iota(x, {2, 5}, 1), arange(x, 7),
                        eye(x, 3),        tri(x, 4, 6),       tril(x),
                        triu(x)};
    }).view() ==
    "bf16[2,3] bf16[2,3] bf16[2,3] i32[2,3] f32[4] i32[2,2] f32[] i32[2,5] i32[7] f32[3,3] "
    "boolean[4,6] bf16[2,3] bf16[2,3]");
}  // namespace

TEST_CASE("tril, triu: keep their side of the diagonal", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(values_of([](auto y) { return tril(y); }, x) == numbers{1, 0, 0, 4, 5, 0, 7, 8, 9});
  CHECK(values_of([](auto y) { return tril(y, -1); }, x) == numbers{0, 0, 0, 4, 0, 0, 7, 8, 0});
  CHECK(values_of([](auto y) { return triu(y); }, x) == numbers{1, 2, 3, 0, 5, 6, 0, 0, 9});
  CHECK(values_of([](auto y) { return triu(y, 1); }, x) == numbers{0, 2, 3, 0, 0, 6, 0, 0, 0});
  CHECK(values_of([](auto y) { return tril(y) + triu(y, 1) - y; }, x) == numbers(9, 0));
}

TEST_CASE("iota, eye, tri: counted from 0", "[ops]") {
  const tensor<f64, 1> x{0};
  CHECK(values_of([](auto y) { return iota(y, {2, 3}, 1); }, x) == numbers{0, 1, 2, 0, 1, 2});
  CHECK(values_of(
            [](auto y) {
              return iota(y, {2, 3}, 0, dtype::f64);
            },
            x) == numbers{0, 0, 0, 1, 1, 1});
  CHECK(values_of([](auto y) { return eye(y, 2); }, x) == numbers{1, 0, 0, 1});
  CHECK(values_of([](auto y) { return tri(y, 2, 3, 1); }, x) == numbers{1, 1, 0, 1, 1, 1});
  CHECK(values_of([](auto y) { return full(y, {2}, 1.5, dtype::bf16); }, x) == numbers{1.5, 1.5});
}

TEST_CASE("linspace, logspace, geomspace, arange: the ends are exact", "[ops]") {
  const tensor<f64> x(0.0);
  const auto check = [&](auto f, const numbers& expected) {
    CHECK(are_near(values_of(f, x), expected, 1e-15));
  };
  check([](auto y) { return linspace(y, 1, 2, 5, dtype::f64); }, {1, 1.25, 1.5, 1.75, 2});
  check([](auto y) { return linspace(y, 0.1, 0.3, 3, dtype::f64); }, {0.1, 0.2, 0.3});
  check([](auto y) { return linspace(y, 0, 1, 4, dtype::f64, false); }, {0, 0.25, 0.5, 0.75});
  check([](auto y) { return linspace(y, 3, 7, 1, dtype::f64); }, {3});
  check([](auto y) { return linspace(y, 0, 5, 4, dtype::i32); }, {0, 1, 3, 5});
  check([](auto y) { return logspace(y, 0, 3, 4, 10, dtype::f64); }, {1, 10, 100, 1000});
  check([](auto y) { return geomspace(y, 1, 16, 5, dtype::f64); }, {1, 2, 4, 8, 16});
  check([](auto y) { return arange(y, 1.0, 2.0, 0.25, dtype::f64); }, {1, 1.25, 1.5, 1.75});
  check([](auto y) { return arange(y, 5.0, 0.0, -2.0, dtype::i32); }, {5, 3, 1});
  check([](auto y) { return eye(y, 2, 3, 1, dtype::f64); }, {0, 1, 0, 0, 0, 1});
  CHECK(gradient_of([](auto y) { return linspace(y, y, 1, 3, dtype::f64); }, x) == numbers{1.5});
}

TEST_CASE("creation: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tensor<f32, 3>>([](auto x) { return tril(x); }) ==
        "tril: f32[3]: it must have two axes or more");
  CHECK(sentence_of<tensor<f32, 3>>([](auto x) { return iota(x, {3}, 1); }) ==
        "iota: i32[3] along axis 1: the axis must be from -1 to 0");
  CHECK(sentence_of<tensor<f32, 3>>([](auto x) { return full(x, {-3}, 1); }) ==
        "full: [-3]: size -3 must be 0 or more");
}
