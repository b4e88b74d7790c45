// unit/ops/sort_test.cpp: order along an axis, and what is made from it.
// SPDX-License-Identifier: MIT
#include "atled/ops/sort.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using matrix = tensor<f64, 2, 3>;
static_assert(types_of<tensor<bf16, 2, 3>, tensor<i32, 5>>([](auto x, auto y) {
                return std::tuple{sort(x),   argsort(x, 0), top_k(x, 2).second,
                                  median(y), median(x),     quantile(x, 0.5, 0, keepdims)};
              }).view() == "bf16[2,3] i32[2,3] i32[2,2] f32[] bf16[] bf16[1,3]");
}  // namespace

TEST_CASE("sort: values in order, and cotangents back to where they came from", "[ops]") {
  const auto weighed = [](auto x, auto w) { return sum(sort(x) * w); };
  CHECK(values_of(weighed, vec3{3, 1, 2}, vec3{1, 10, 100}) == numbers{321});
  CHECK(gradient_of(weighed, vec3{3, 1, 2}, vec3{1, 10, 100}) == numbers{100, 1, 10});
  const matrix x{3, 1, 2, 0, 5, -1};
  CHECK(values_of([](auto y) { return sort(y); }, x) == numbers{1, 2, 3, -1, 0, 5});
  CHECK(values_of([](auto y) { return sort(y, 0); }, x) == numbers{0, 1, -1, 3, 5, 2});
  CHECK(values_of([](auto y) { return sort(y, -1, descending); }, x) == numbers{3, 2, 1, 5, 0, -1});
  CHECK(are_near(values_of([](auto y) { return sort(y); },
                           tensor<f64, 5>{not_a_number, 1, -infinity, infinity, 0}),
                 numbers{-infinity, 0, 1, infinity, not_a_number}));
}

TEST_CASE("sort: tensors follow the order of the first", "[ops]") {
  const auto f = [](auto keys, auto values) { return sort(std::tuple{keys, values}); };
  const auto out = all_values(f, tensor<i32, 4>{2, 1, 2, 0}, tensor<f64, 4>{1, 2, 3, 4});
  CHECK(out[0] == numbers{0, 1, 2, 2});
  CHECK(out[1] == numbers{4, 2, 1, 3});  // equal keys keep their order
  const auto second = [](auto values, auto keys) {
    return std::get<1>(sort(std::tuple{keys, values})) * values;
  };
  CHECK(gradient_of(second, vec3{1, 2, 3}, vec3{3, 2, 1}) == numbers{6, 4, 2});
}

TEST_CASE("argsort: equal elements keep their order, from either end", "[ops]") {
  const tensor<f64, 5> x{2, 1, 2, 1, 3};
  CHECK(values_of([](auto y) { return argsort(y); }, x) == numbers{1, 3, 0, 2, 4});
  CHECK(values_of([](auto y) { return argsort(y, 0, descending); }, x) == numbers{4, 0, 2, 1, 3});
}

TEST_CASE("top_k: the largest first, of equal elements the first", "[ops]") {
  const auto out = all_values([](auto x) { return top_k(x, 3); }, tensor<f64, 5>{1, 4, 2, 4, 3});
  CHECK(out[0] == numbers{4, 4, 3});
  CHECK(out[1] == numbers{1, 3, 4});
  CHECK(gradient_of([](auto x) { return top_k(x, 2).first; }, tensor<f64, 5>{1, 4, 2, 4, 3}) ==
        numbers{0, 1, 0, 1, 0});
}

TEST_CASE("quantile: on the line between two neighbours", "[ops]") {
  const matrix x{3, 1, 2, 0, 5, -1};
  CHECK(values_of([](auto y) { return median(y); }, x) == numbers{1.5});
  CHECK(values_of([](auto y) { return median(y, 1); }, x) == numbers{2, 0});
  CHECK(values_of([](auto y) { return quantile(y, 0.25, 0); }, x) == numbers{0.75, 2, -0.25});
  CHECK(values_of([](auto y) { return percentile(y, 100, 1, keepdims); }, x) == numbers{3, 5});
  CHECK(gradient_of([](auto y) { return median(y); }, x) == numbers{0, 0.5, 0.5, 0, 0, 0});
  CHECK(are_near(values_of([](auto y) { return median(y); }, vec3{1, not_a_number, 3}),
                 numbers{not_a_number}));
}

TEST_CASE("searchsorted: the number of elements before a value", "[ops]") {
  const tensor<f64, 5> row{1, 2, 2, 4, not_a_number};
  const tensor<f64, 7> x{0, 1, 2, 3, 4, 9, not_a_number};
  CHECK(values_of([](auto a, auto v) { return searchsorted(a, v); }, row, x) ==
        numbers{0, 0, 1, 3, 3, 4, 4});
  CHECK(values_of([](auto a, auto v) { return searchsorted(a, v, side::right); }, row, x) ==
        numbers{0, 1, 3, 3, 4, 4, 5});
  CHECK(values_of([](auto a) { return searchsorted(a, 3); },
                  tensor<i32, 8>{0, 1, 2, 3, 4, 5, 6, 7}) == numbers{3});
}

TEST_CASE("sort: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<matrix>([](auto x) { return sort(x, 2); }) ==
        "sort: f64[2,3] along axis 2: the axis must be from -2 to 1");
  CHECK(sentence_of<matrix>([](auto x) { return top_k(x, 4); }) ==
        "top_k: f64[2,3] and k = 4: k must be from 0 to 3");
  CHECK(sentence_of<matrix>([](auto x) { return quantile(x, 1.5); }) ==
        "quantile: f64[2,3]: the fraction must be from 0 to 1");
  CHECK(sentence_of<matrix, vec3>([](auto x, auto y) {
          return sort(std::tuple{x, y});
        }) == "sort: keys f64[2,3] and values f64[3]: shapes must be equal");
  CHECK(sentence_of<matrix>([](auto x) { return searchsorted(x, 1); }) ==
        "searchsorted: f64[2,3]: the sorted operand must have one axis");
}
