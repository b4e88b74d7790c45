// unit/ops/indexing_test.cpp: reading and writing by places, ranges, new axes and index tensors.
// SPDX-License-Identifier: MIT
#include "atled/ops/indexing.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec6 = tensor<f64, 6>;
using ids2 = tensor<i32, 2>;
using ids3 = tensor<i32, 3>;
using matrix = tensor<f64, 2, 3>;

const matrix m{0, 1, 2, 10, 11, 12};
const vec6 v{0, 1, 2, 3, 4, 5};

static_assert(types_of<tensor<f32, 4, 5, 6>, tensor<i32, 2, 3>>([](auto x, auto i) {
                return std::tuple{x(0),
                                  x(-1, range(1, 3)),
                                  x(ellipsis, 2),
                                  x(range(), newaxis, ellipsis, newaxis),
                                  x(range(0, to_end, 2), range(-3, to_end)),
                                  x(i),
                                  x(0, i),
                                  x(range(), i, range(2)),
                                  x(i, i)};
              }).view() ==
              "f32[5,6] f32[2,6] f32[4,5] f32[4,1,5,6,1] f32[2,3,6] f32[2,3,5,6] f32[2,3,6] "
              "f32[4,2,3,2] f32[2,3,6]");
}  // namespace

TEST_CASE("index: places and ranges read what NumPy reads", "[ops]") {
  CHECK(values_of([](auto x) { return x(1, 2); }, m) == numbers{12});
  CHECK(values_of([](auto x) { return x(-1); }, m) == numbers{10, 11, 12});
  CHECK(values_of([](auto x) { return x(range(), 1); }, m) == numbers{1, 11});
  CHECK(values_of([](auto x) { return x(ellipsis, range(1, to_end)); }, m) ==
        numbers{1, 2, 11, 12});
  CHECK(values_of([](auto x) { return x(range(1, -1, 2)); }, v) == numbers{1, 3});
  CHECK(values_of([](auto x) { return x(range(0)); }, v).empty());
  CHECK(gradient_of([](auto x) { return x(range(0, to_end, 2)) * 3.0; }, v) ==
        numbers{3, 0, 3, 0, 3, 0});
}

TEST_CASE("index: tensors of places, one or several, and their gradients add up", "[ops]") {
  const ids3 i{0, 2, 2};
  CHECK(values_of([](auto x, auto j) { return x(j); }, vec3{5, 6, 7}, i) == numbers{5, 7, 7});
  CHECK(gradient_of([](auto x, auto j, auto w) { return x(j) * w; }, vec3{1, 2, 3}, i,
                    vec3{1, 10, 100}) == numbers{1, 0, 110});
  CHECK(values_of([](auto x, auto j) { return x(range(), j); }, m, ids2{2, 0}) ==
        numbers{2, 0, 12, 10});
  const auto pairs = [](auto x, auto j, auto k) { return x(j, k); };
  CHECK(values_of(pairs, m, ids3{0, 1, 1}, ids3{2, 0, 1}) == numbers{2, 10, 11});
  // One index outside is outside, though the place that both make up is not.
  CHECK(values_of(pairs, m, ids3{0, 0, 2}, ids3{3, -1, 0}) == numbers{0, 0, 0});
  CHECK(gradient_of(pairs, m, ids3{0, 0, 1}, ids3{3, 1, 1}) == numbers{0, 1, 0, 0, 1, 0});
  CHECK(values_of([](auto x, auto j, auto k) { return at(x, j, k).get(index_mode::clip); }, m,
                  ids3{0, -5, 9}, ids3{3, 1, 1}) == numbers{2, 1, 11});
  CHECK(values_of([](auto x, auto j) { return x(j, 1); }, m, ids3{1, 0, 1}) == numbers{11, 1, 11});
}

TEST_CASE("at: set writes a window, and the gradient follows what was kept", "[ops]") {
  CHECK(values_of([](auto x) { return at(x, 1, range(1, 3)).set(7.0); }, m) ==
        numbers{0, 1, 2, 10, 7, 7});
  CHECK(values_of([](auto x) { return at(x, range(0, to_end, 2)).set(-1.0); }, v) ==
        numbers{-1, 1, -1, 3, -1, 5});
  CHECK(values_of([](auto x) { return at(x, ellipsis).set(x * 2.0); }, v) ==
        numbers{0, 2, 4, 6, 8, 10});
  CHECK(gradient_of([](auto x) { return at(x, range(0, to_end, 2)).set(x(range(3)) * 5.0); }, v) ==
        numbers{5, 6, 5, 1, 0, 1});
  CHECK(gradient_of([](auto y, auto x) { return at(x, range(), 1).set(y); }, tensor<f64, 2>{1, 2},
                    m) == numbers{1, 1});
  CHECK(gradient_of([](auto x) { return at(x, range(), 1).set(0.0); }, m) ==
        numbers{1, 0, 1, 1, 0, 1});
}

TEST_CASE("at: add, multiply, divide, max and min meet what is there", "[ops]") {
  const auto check = [](auto f, const numbers& expected) {
    CHECK(values_of(f, vec3{2, 4, 8}) == expected);
  };
  check([](auto x) { return at(x, range(1, 3)).add(1.0); }, {2, 5, 9});
  check([](auto x) { return at(x, 0).multiply(3.0); }, {6, 4, 8});
  check([](auto x) { return at(x, -1).divide(4.0); }, {2, 4, 2});
  check([](auto x) { return at(x, range(2)).max(3.0); }, {3, 4, 8});
  check([](auto x) { return at(x, range(2)).min(3.0); }, {2, 3, 8});
  CHECK(gradient_of([](auto x) { return at(x, range(2)).max(3.0); }, vec3{2, 3, 8}) ==
        numbers{0, 0.5, 1});
}

TEST_CASE("at: index tensors add up, set the last, and compare", "[ops]") {
  const vec3 x{1, 2, 3};
  const ids3 i{0, 2, 2};
  const vec3 w{10, 20, 15};
  const auto adds = [](auto y, auto j, auto u) { return at(y, j).add(u); };
  const auto sets = [](auto y, auto j, auto u) { return at(y, j).set(u); };
  const auto largest = [](auto y, auto j, auto u) { return at(y, j).max(u); };
  const auto least = [](auto y, auto j, auto u) { return at(y, j).min(u); };
  CHECK(values_of(adds, x, i, w) == numbers{11, 2, 38});
  CHECK(values_of(sets, x, i, w) == numbers{10, 2, 15});
  CHECK(values_of(largest, x, i, w) == numbers{10, 2, 20});
  CHECK(values_of(least, x, i, vec3{0, 5, -1}) == numbers{0, 2, -1});
  CHECK(values_of([](auto y, auto j) { return at(y, j).multiply(2.0); }, x, ids2{2, 0}) ==
        numbers{2, 2, 6});

  CHECK(gradient_of(sets, x, i, w) == numbers{0, 1, 0});
  const auto by_update = [&](auto f) {
    return gradient_of([f](auto u, auto y, auto j) { return f(y, j, u); }, w, x, i);
  };
  CHECK(by_update(sets) == numbers{1, 0, 1});
  CHECK(by_update(adds) == numbers{1, 1, 1});
  CHECK(by_update(largest) == numbers{1, 1, 0});
  CHECK(gradient_of(largest, vec3{20, 2, 20}, i, w) == numbers{1, 1, 0.5});  // a tie with 20
  CHECK(gradient_of(adds, x, i, w) == numbers{1, 1, 1});
}

TEST_CASE("at: what lies outside is dropped, or clipped", "[ops]") {
  const vec3 x{};
  const ids2 i{0, 5};
  const tensor<f64, 2> u{7, 8};
  CHECK(values_of([](auto y, auto j, auto w) { return at(y, j).add(w); }, x, i, u) ==
        numbers{7, 0, 0});
  CHECK(values_of([](auto y, auto j, auto w) { return at(y, j).set(w); }, x, i, u) ==
        numbers{7, 0, 0});
  CHECK(values_of([](auto y, auto j, auto w) { return at(y, j).set(w, index_mode::clip); }, x, i,
                  u) == numbers{7, 0, 8});
}

TEST_CASE("at: an index tensor inside a window of a matrix", "[ops]") {
  CHECK(values_of([](auto x, auto j) { return at(x, 1, j).set(-1.0); }, m, ids2{2, 0}) ==
        numbers{0, 1, 2, -1, 11, -1});
  CHECK(values_of([](auto x, auto j, auto k) { return at(x, j, k).add(100.0); }, m, ids2{1, 0},
                  ids2{0, 2}) == numbers{0, 1, 102, 110, 11, 12});
  CHECK(values_of([](auto x, auto j) { return at(x, range(), j).min(1.5); }, m, ids2{1, 2}) ==
        numbers{0, 1, 1.5, 10, 1.5, 1.5});
}

TEST_CASE("indexing: what is ill-formed is one sentence", "[ops]") {
  using f23 = tensor<f32, 2, 3>;
  CHECK(sentence_of<f23>([](auto x) { return x(0, 3); }) ==
        "index: f32[2,3] at 3 of axis 1: the place must be from -3 to 2");
  CHECK(sentence_of<f23>([](auto x) { return x(0, 1, 2); }) ==
        "index: f32[2,3] at 3 places: it has 2 axes, and there is one ellipsis at most");
  CHECK(sentence_of<f23>([](auto x) { return x(range(), range(1, 5)); }) ==
        "index: f32[2,3]: axis 1 from 1 to 5 in steps of 1: it must go up from 0 or more to 3 or "
        "less");
  CHECK(sentence_of<f23>([](auto x) { return x(x > 0); }) ==
        "index: index boolean[2,3]: it must be integers; for conditions see where");
  CHECK(sentence_of<tensor<f32, 2, 3, 4>, tensor<i32, 2>>([](auto x, auto i) {
          return x(i, range(), i);
        }) == "index: index tensors at axes 0 and 2: they must stand side by side; use transpose");
  CHECK(sentence_of<f23, tensor<f32, 4>>([](auto x, auto y) { return at(x, 0).set(y); }) ==
        "at: f32[2,3] with f32[4]: the values must be f32[3]");
}
