// unit/ops/cumulative_test.cpp: running sums, products and extremes.
// SPDX-License-Identifier: MIT
#include "atled/ops/cumulative.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using matrix = tensor<f64, 2, 3>;
static_assert(types_of<tensor<bf16, 2, 3>, tensor<boolean, 3>>([](auto x, auto y) {
                return std::tuple{cumsum(x), cumsum(x, 1),  cumprod(x, axis<0>),
                                  cumsum(y), cummax(x, -1), cummin(y)};
              }).view() == "bf16[6] bf16[2,3] bf16[2,3] i32[3] bf16[2,3] boolean[3]");
}  // namespace

TEST_CASE("cumsum: along an axis, or of the flattened tensor", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6};
  CHECK(values_of([](auto y) { return cumsum(y); }, x) == numbers{1, 3, 6, 10, 15, 21});
  CHECK(values_of([](auto y) { return cumsum(y, 0); }, x) == numbers{1, 2, 3, 5, 7, 9});
  CHECK(gradient_of([](auto y) { return cumsum(y, 1); }, x) == numbers{3, 2, 1, 3, 2, 1});
}

TEST_CASE("cumprod: its gradient divides by nothing", "[ops]") {
  const auto f = [](auto y) { return cumprod(y); };
  CHECK(values_of(f, tensor<f64, 5>{1, 2, 3, 4, 5}) == numbers{1, 2, 6, 24, 120});
  CHECK(gradient_of(f, vec3{0, 2, 3}) == numbers{9, 0, 0});
  CHECK(gradient_of(f, vec3{2, 3, 0}) == numbers{4, 2, 6});
  CHECK(values_of([](auto y) { return cumprod(y, 0); }, matrix{1, 2, 3, 4, 5, 6}) ==
        numbers{1, 2, 3, 4, 10, 18});
}

TEST_CASE("cummax, cummin: of floating, whole and truth values", "[ops]") {
  const tensor<f64, 5> x{2, -1, 3, 3, 1};
  CHECK(values_of([](auto y) { return cummax(y); }, x) == numbers{2, 2, 3, 3, 3});
  CHECK(values_of([](auto y) { return cummin(y); }, x) == numbers{2, -1, -1, -1, -1});
  CHECK(values_of([](auto y) { return cummax(y); }, tensor<i32, 3>{-5, -7, -1}) ==
        numbers{-5, -5, -1});
  CHECK(values_of([](auto y) { return cummin(y > 0); }, x) == numbers{1, 0, 0, 0, 0});
}

TEST_CASE("cumulative: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<matrix>([](auto x) { return cumsum(x, 2); }) ==
        "cumsum: f64[2,3] along axis 2: the axis must be from -2 to 1");
  CHECK(sentence_of<matrix>([](auto x) {
          return cumprod(x, {0, 1});
        }) == "cumprod: f64[2,3] along 2 axes: one axis, or all");
}

TEST_CASE("cumulative: reversed runs from the other end", "[ops]") {
  const tensor<f64, 4> x{1, 2, 3, 4};
  CHECK(values_of([](auto y) { return cumsum(y, 0, reversed); }, x) == numbers{10, 9, 7, 4});
  CHECK(values_of([](auto y) { return cumprod(y, 0, reversed); }, x) == numbers{24, 24, 12, 4});
  CHECK(values_of([](auto y) { return cummin(y, 0, reversed); }, x) == numbers{1, 2, 3, 4});
  CHECK(gradient_of([](auto y) { return cumprod(y, 0, reversed); }, vec3{0, 2, 3}) ==
        numbers{6, 3, 3});
}

TEST_CASE("cumprod: second derivatives where factors are 0", "[ops]") {
  const auto f = [](auto y) { return cumprod(y); };  // x + xy + xyz
  CHECK(second_of(f, vec3{0, 2, 3}) == numbers{1 + 3 + 2, 1 + 3 + 0, 2 + 0});
}

TEST_CASE("cummax: equal elements share evenly", "[ops]") {
  const auto f = [](auto y) { return cummax(y); };
  CHECK(are_near(gradient_of(f, tensor<f64, 4>{2, 2, 2, 1}),
                 {1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 3, 1.0 / 2 + 1.0 / 3 + 1.0 / 3, 2.0 / 3, 0}));
  CHECK(gradient_of(f, tensor<f64, 4>{1, 3, 2, 3}) == numbers{1, 2.5, 0, 0.5});
}

TEST_CASE("cumlogsumexp: neither overflow nor NaN", "[ops]") {
  const auto f = [](auto y) { return cumlogsumexp(y); };
  const vec3 large{1000, 1000, -infinity};
  const double two = 1000 + std::log(2.0);
  CHECK(are_near(values_of(f, large), {1000, two, two}));
  CHECK(are_near(gradient_of(f, large), {2, 1, 0}));
  const vec3 nothing{-infinity, -infinity, 0};
  CHECK(are_near(values_of(f, nothing), {-infinity, -infinity, 0}));
  for (const double value : gradient_of(f, nothing)) CHECK(std::isfinite(value));
  const tensor<f64, 4> x{0.5, -1, 2, 0.1};
  const auto differences = difference_of(f, x);
  const auto gradient = gradient_of(f, x);
  for (std::size_t i = 0; i < 4; ++i) CHECK(std::abs(gradient[i] - differences[i]) < 1e-8);
}
