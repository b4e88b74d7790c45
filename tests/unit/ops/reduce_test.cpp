// unit/ops/reduce_test.cpp: sums, extremes, means, norms; shapes, types, ties, nothing to reduce.
// SPDX-License-Identifier: MIT
#include "atled/ops/reduce.hpp"

#include "atled/ops/elementwise.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 2, 3>;
using cube = tensor<f32, 2, 3, 4>;

static_assert(types_of<cube>([](auto x) {
                return std::tuple{sum(x),
                                  sum(x, 1),
                                  sum(x, axis<-1>),
                                  sum(x, {0, 2}),
                                  sum(x, {0, -1}, keepdims),
                                  sum(x, keepdims),
                                  sum(x, 1, keepdims)};
              }).view() == "f32[] f32[2,4] f32[2,3] f32[3] f32[1,3,1] f32[1,1,1] f32[2,1,4]");
static_assert(types_of<cube>([](auto x) {
                return std::tuple{max(x),           max(x, 0),
                                  max(x, axis<0>),  max(x, {0, 1}, keepdims),
                                  max(x, keepdims), min(x, axis<-1>, keepdims),
                                  reduce_min(x, 1)};
              }).view() == "f32[] f32[2,3,4] f32[3,4] f32[1,1,4] f32[1,1,1] f32[2,3,1] f32[2,4]");
static_assert(types_of<cube>([](auto x) {
                return std::tuple{
                    argmax(x),        argmin(x, 1), argmax(x, axis<2>, keepdims), any(x, 0),
                    all(x, keepdims), var(x, 1),    std_(x, {0, 1}, keepdims, 1), norm(x, -1)};
              }).view() ==
              "i32[] i32[2,4] i32[2,3,1] boolean[3,4] boolean[1,1,1] f32[2,4] f32[1,1,4] f32[2,3]");
// Element types.
static_assert(types_of<tensor<boolean, 4>, tensor<u8, 4>, tensor<i32, 4>,
                       tensor<bf16, 4>>([](auto x, auto y, auto z, auto w) {
                return std::tuple{sum(x),  sum(y), mean(z), sum(w), mean(w), prod(x),
                                  mean(x), var(z), norm(z), max(w), var(w)};
              }).view() == "i32[] u32[] f32[] bf16[] bf16[] i32[] f32[] f32[] f32[] bf16[] bf16[]");
}  // namespace

TEST_CASE("sum: along each set of axes", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6};
  CHECK(values_of([](auto y) { return sum(y); }, x) == numbers{21});
  CHECK(values_of([](auto y) { return sum(y, 0); }, x) == numbers{5, 7, 9});
  CHECK(values_of([](auto y) { return sum(y, -1, keepdims); }, x) == numbers{6, 15});
  CHECK(values_of([](auto y) { return mean(y, 1); }, x) == numbers{2, 5});
  CHECK(values_of([](auto y) { return prod(y, 0); }, x) == numbers{4, 10, 18});
  CHECK(gradient_of([](auto y) { return mean(y); }, tensor<f64, 4>{}) == numbers(4, 0.25));
}

TEST_CASE("sum: of nothing is 0, the product 1", "[ops]") {
  const tensor<f64, 0, 3> x;
  CHECK(values_of([](auto y) { return sum(y, 0); }, x) == numbers{0, 0, 0});
  CHECK(values_of([](auto y) { return prod(y, 0); }, x) == numbers{1, 1, 1});
  CHECK(values_of([](auto y) { return any(y, 0); }, x) == numbers{0, 0, 0});
  CHECK(values_of([](auto y) { return all(y, 0, keepdims); }, x) == numbers{1, 1, 1});
}

TEST_CASE("sum: bf16 is summed in f32, booleans are counted", "[ops]") {
  tensor<bf16, 1000> x;
  for (std::int64_t i = 0; i < 1000; ++i) x.data()[i] = bf16(1.0F);
  CHECK(values_of([](auto y) { return sum(y); }, x) == numbers{1000});
  CHECK(values_of([](auto y) { return mean(y); }, x) == numbers{1});
  CHECK(values_of([](auto y) { return sum(y > 0); }, x) == numbers{1000});
}

TEST_CASE("max: equal elements share the gradient, NaN stays", "[ops]") {
  using vec = tensor<f64, 4>;
  const auto largest = [](auto y) { return max(y); };
  CHECK(gradient_of(largest, vec{1, 3, 3, 2}) == numbers{0, 0.5, 0.5, 0});
  CHECK(are_near(gradient_of(largest, tensor<f64, 3>{4, 4, 4}), {1.0 / 3, 1.0 / 3, 1.0 / 3}));
  CHECK(gradient_of([](auto y) { return min(y); }, tensor<f64, 3>{2, 2, 5}) ==
        numbers{0.5, 0.5, 0});
  CHECK(std::isnan(values_of(largest, tensor<f64, 3>{1, not_a_number, 3}).at(0)));
}

TEST_CASE("argmax: the first of equals, of the flattened tensor or along an axis", "[ops]") {
  const matrix x{3, 5, 5, 7, 0, 7};
  CHECK(values_of([](auto y) { return argmax(y); }, x) == numbers{3});
  CHECK(values_of([](auto y) { return argmax(y, 1); }, x) == numbers{1, 0});
  CHECK(values_of([](auto y) { return argmin(y, 0, keepdims); }, x) == numbers{0, 1, 0});
}

TEST_CASE("var: centred first, and flat where nothing varies", "[ops]") {
  const matrix x{1, 2, 3, 1e8, 1e8, 1e8};
  CHECK(are_near(values_of([](auto y) { return var(y, 1); }, x), {2.0 / 3, 0}));
  CHECK(values_of([](auto y) { return var(y, 1, {}, 1); }, x) == numbers{1, 0});
  CHECK(are_near(values_of([](auto y) { return std_(y, 1); }, x), {std::sqrt(2.0 / 3), 0}));
  const tensor<f64, 3> same{2, 2, 2};
  CHECK(gradient_of([](auto y) { return std_(y); }, same) == numbers{0, 0, 0});
  CHECK(second_of([](auto y) { return std_(y); }, same) == numbers{0, 0, 0});
  const tensor<f64, 3> z{1, 2, 4};
  const auto f = [](auto y) { return std_(y) + var(y, {}, {}, 1); };
  CHECK(are_near(gradient_of(f, z), difference_of(f, z), 1e-8));
}

TEST_CASE("norm: gradient 0 at 0, to any order", "[ops]") {
  using vec = tensor<f64, 2>;
  const auto f = [](auto y) { return norm(y); };
  CHECK(values_of(f, vec{3, 4}) == numbers{5});
  CHECK(are_near(gradient_of(f, vec{3, 4}), {0.6, 0.8}));
  CHECK(are_near(second_of(f, vec{3, 4}), {0.128 - 0.096, 0.072 - 0.096}, 1e-11));
  CHECK(gradient_of(f, vec{0, 0}) == numbers{0, 0});
  CHECK(second_of(f, vec{0, 0}) == numbers{0, 0});
  CHECK(gradient_of([](auto y) { return square(norm(y)); }, vec{0, 0}) == numbers{0, 0});
  CHECK(are_near(gradient_of([](auto y) { return square(norm(y)); }, vec{3, 4}), {6, 8}));
  CHECK(gradient_of([](auto x, auto y) { return norm(x - y); }, vec{1, 2}, vec{1, 2}) ==
        numbers{0, 0});
  CHECK(values_of([](auto y) { return norm(y, 1, keepdims); }, tensor<f64, 2, 2>{3, 4, 0, 0}) ==
        numbers{5, 0});
}

TEST_CASE("reduce: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<cube>([](auto x) { return sum(x, 3); }) ==
        "sum: f32[2,3,4] along axis 3: the axis must be from -3 to 2");
  CHECK(sentence_of<cube>([](auto x) {
          return mean(x, {0, -3});
        }) == "mean: f32[2,3,4]: axis 0 is given twice: each axis once");
  CHECK(sentence_of<tensor<f32>>([](auto x) { return prod(x, 0); }) ==
        "prod: f32[] along axis 0: a scalar has no axes");
  CHECK(sentence_of<tensor<f32, 0, 3>>([](auto x) { return max(x, axis<0>); }) ==
        "max: f32[0,3]: the reduced axes hold no element, and a maximum of nothing is "
        "undefined");
  CHECK(sentence_of<cube>([](auto x) {
          return argmax(x, {0, 1});
        }) == "argmax: f32[2,3,4] along 2 axes: one axis, or all");
  // One mistake, one error: what follows a poisoned value says nothing.
  CHECK(sentence_of<cube>([](auto x) {
          const auto first = max(sum(x, 7), axis<4>);
          return norm(first + var(x, 9));
        }) == "sum: f32[2,3,4] along axis 7: the axis must be from -3 to 2");
}
