// unit/ops/index_test.cpp: repeated and out-of-range indices, one mode forward and backward.
// SPDX-License-Identifier: MIT
#include "atled/ops/index.hpp"

#include "atled/ops/reduce.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using ids2 = tensor<i32, 2>;
using ids3 = tensor<i32, 3>;
using table = tensor<f32, 10, 4>;

static_assert(types_of<table, tensor<i32, 2, 5>>([](auto x, auto i) {
                return std::tuple{take(x, i, 0), take(x, i, -1), take(x, i), one_hot(i, 7),
                                  one_hot(i, 7, dtype::i32)};
              }).view() == "f32[2,5,4] f32[10,2,5] f32[2,5] f32[2,5,7] i32[2,5,7]");
static_assert(types_of<table, tensor<i32, 10, 1>, tensor<i32, 6, 4>>([](auto x, auto i, auto j) {
                return std::tuple{take_along_axis(x, i), take_along_axis(x, j, 0),
                                  segment_sum(x, reshape<10>(i), 3)};
              }).view() == "f32[10,1] f32[6,4] f32[3,4]");
}  // namespace

TEST_CASE("take: the gradients of repeated indices add up", "[ops]") {
  const auto f = [](auto x, auto i, auto w) { return take(x, i, 0) * w; };
  CHECK(gradient_of(f, vec3{1, 2, 3}, ids3{0, 2, 2}, vec3{1, 10, 100}) == numbers{1, 0, 110});
}

TEST_CASE("take: clip reads the nearest, fill the filler, and so the gradient", "[ops]") {
  const vec3 x{10, 20, 30};
  const ids2 i{0, 5};
  const tensor<f64, 2> w{1, 10};
  const auto clipped = [](auto y, auto j) { return take(y, j, 0, index_mode::clip); };
  CHECK(values_of(clipped, x, i) == numbers{10, 30});
  CHECK(gradient_of([&](auto y, auto j, auto v) { return clipped(y, j) * v; }, x, i, w) ==
        numbers{1, 0, 10});
  const auto filled = [](auto y, auto j) { return take(y, j, 0, index_mode::fill, -1); };
  CHECK(values_of(filled, x, i) == numbers{10, -1});
  CHECK(gradient_of([&](auto y, auto j, auto v) { return filled(y, j) * v; }, x, i, w) ==
        numbers{1, 0, 0});
  CHECK(values_of([](auto y, auto j) { return take(y, j, 0); }, x, ids2{-1, 2}) == numbers{0, 30});
}

TEST_CASE("take: rows, columns, and a filler for whole rows", "[ops]") {
  const tensor<f64, 2, 3> x{1, 2, 3, 4, 5, 6};
  const ids3 i{1, 7, 0};
  CHECK(values_of([](auto y, auto j) { return take(y, j, 0, index_mode::fill, 9); }, x, i) ==
        numbers{4, 5, 6, 9, 9, 9, 1, 2, 3});
  CHECK(values_of([](auto y, auto j) { return take(y, j, 1, index_mode::fill, 9); }, x, i) ==
        numbers{2, 9, 1, 5, 9, 4});
  CHECK(values_of([](auto y, auto j) { return take(y, j); }, x, i) == numbers{2, 0, 1});
}

TEST_CASE("take: the gradient of an embedding adds the rows of one id", "[ops]") {
  const tensor<f64, 3, 2> x{};
  const tensor<f64, 3, 2> w{1, 1, 2, 2, 4, 4};
  CHECK(gradient_of([](auto y, auto i, auto v) { return take(y, i, 0) * v; }, x, ids3{2, 2, 0},
                    w) == numbers{4, 4, 0, 0, 3, 3});
}

TEST_CASE("take_along_axis: one element a row, along any axis", "[ops]") {
  const tensor<f64, 2, 3> x{1, 2, 3, 4, 5, 6};
  const tensor<i32, 2, 1> i{2, 3};
  const auto f = [](auto y, auto j) { return take_along_axis(y, j); };
  CHECK(values_of(f, x, i) == numbers{3, 0});
  CHECK(gradient_of(f, x, i) == numbers{0, 0, 1, 0, 0, 0});
  const tensor<i32, 1, 3> j{1, 0, 1};
  CHECK(values_of([](auto y, auto k) { return take_along_axis(y, k, 0); }, x, j) ==
        numbers{4, 2, 6});
  CHECK(values_of([](auto y, auto k) { return take_along_axis(y, k, 1); }, x, j) ==
        numbers{2, 1, 2, 5, 4, 5});
  CHECK(values_of([](auto y, auto k) { return take_along_axis(y, k, 1, index_mode::clip); }, x,
                  i) == numbers{3, 6});
}

TEST_CASE("scatter_add: drops or clips what is outside, the same backward", "[ops]") {
  const ids2 i{0, 5};
  const tensor<f64, 2> u{7, 8};
  const vec3 w{1, 2, 3};
  const vec3 zeros{};
  const auto drop = [](auto v, auto x, auto j) { return scatter_add(x, j, v); };
  const auto clip = [](auto v, auto x, auto j) {
    return scatter_add(x, j, v, 0, index_mode::clip);
  };
  CHECK(values_of(drop, u, zeros, i) == numbers{7, 0, 0});
  CHECK(values_of(clip, u, zeros, i) == numbers{7, 0, 8});
  CHECK(gradient_of([&](auto v, auto x, auto j, auto c) { return drop(v, x, j) * c; }, u, zeros, i,
                    w) == numbers{1, 0});
  CHECK(gradient_of([&](auto v, auto x, auto j, auto c) { return clip(v, x, j) * c; }, u, zeros, i,
                    w) == numbers{1, 3});
  CHECK(values_of([](auto x, auto j) { return scatter_add(x, j, 1); }, zeros, ids3{1, 1, 2}) ==
        numbers{0, 2, 1});
}

TEST_CASE("segment_sum: ids outside are dropped, their gradient is 0", "[ops]") {
  const tensor<f64, 2> data{5, 6};
  const auto f = [](auto x, auto i) { return segment_sum(x, i, 2); };
  CHECK(values_of(f, data, ids2{2, 3}) == numbers{0, 0});
  CHECK(gradient_of(f, data, ids2{2, 3}) == numbers{0, 0});
  CHECK(values_of(f, data, ids2{1, 1}) == numbers{0, 11});
}

TEST_CASE("one_hot: all 0 for an index outside", "[ops]") {
  CHECK(values_of([](auto i) { return one_hot(i, 3); }, ids3{5, 1, -1}) ==
        numbers{0, 0, 0, 0, 1, 0, 0, 0, 0});
}

TEST_CASE("argmax: nothing flows through the index", "[ops]") {
  const auto f = [](auto x) { return take(x, argmax(x), 0); };
  CHECK(values_of(f, vec3{3, 5, 5}) == numbers{5});
  CHECK(gradient_of(f, vec3{3, 5, 5}) == numbers{0, 1, 0});
}

TEST_CASE("index: the graph has no more nodes than it needs", "[ops]") {
  CHECK(count_of<op::select, table, ids2>([](auto x, auto i) { return take(x, i, 0); }) == 0);
}

TEST_CASE("index: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<table, tensor<f32, 2>>([](auto x, auto i) { return take(x, i, 0); }) ==
        "take: indices f32[2]: they must be integers");
  CHECK(sentence_of<table, ids2>([](auto x, auto i) { return take(x, i, 2); }) ==
        "take: f32[10,4] along axis 2: the axis must be from -2 to 1");
  CHECK(sentence_of<table, ids2>([](auto x, auto i) { return take_along_axis(x, i); }) ==
        "take_along_axis: f32[10,4] at indices i32[2]: the ranks must be equal");
  CHECK(sentence_of<table, ids2>([](auto x, auto i) { return scatter_add(x, i, x); }) ==
        "scatter_add: f32[10,4] with updates f32[10,4] at indices i32[2]: updates must be "
        "f32[2,4]");
  CHECK(sentence_of<table, ids2>([](auto x, auto i) { return segment_sum(x, i, 3); }) ==
        "segment_sum: data f32[10,4] and ids i32[2]: there must be one id for each row");
  CHECK(sentence_of<table>([](auto x) { return one_hot(x, 3); }) ==
        "one_hot: indices f32[10,4]: they must be integers");
}
