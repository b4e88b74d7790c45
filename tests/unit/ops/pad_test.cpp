// unit/ops/pad_test.cpp: tensors made larger by a value, or by what they hold.
// SPDX-License-Identifier: MIT
#include "atled/ops/pad.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;

numbers padded(pad_mode mode, std::int64_t low, std::int64_t high) {
  return values_of([=](auto x) { return pad(x, {low}, {high}, mode); }, vec3{1, 2, 3});
}
}  // namespace

TEST_CASE("pad: the filler stands before and after", "[ops]") {
  const tensor<f64, 2, 3> x{1, 2, 3, 4, 5, 6};
  CHECK(values_of(
            [](auto y) {
              return pad(y, {0, 1}, {1, 0}, -1);
            },
            x) == numbers{-1, 1, 2, 3, -1, 4, 5, 6, -1, -1, -1, -1});
  CHECK(gradient_of([](auto y) { return pad(y, {0, 1}, {1, 0}) * 3; }, x) == numbers(6, 3));
}

TEST_CASE("pad: each mode puts what NumPy puts", "[ops]") {
  CHECK(padded(pad_mode::edge, 2, 4) == numbers{1, 1, 1, 2, 3, 3, 3, 3, 3});
  CHECK(padded(pad_mode::reflect, 2, 1) == numbers{3, 2, 1, 2, 3, 2});
  CHECK(padded(pad_mode::symmetric, 2, 1) == numbers{2, 1, 1, 2, 3, 3});
  CHECK(padded(pad_mode::wrap, 1, 2) == numbers{3, 1, 2, 3, 1, 2});
  CHECK(padded(pad_mode::reflect, 0, 0) == numbers{1, 2, 3});
}

TEST_CASE("pad: the corners of a matrix follow axis by axis", "[ops]") {
  const tensor<f64, 2, 2> m{1, 2, 3, 4};
  CHECK(values_of(
            [](auto x) {
              return pad(x, {1, 0}, {0, 1}, pad_mode::wrap);
            },
            m) == numbers{3, 4, 3, 1, 2, 1, 3, 4, 3});
}

TEST_CASE("pad: the gradient adds up at each place an element was put", "[ops]") {
  const vec3 x{1, 2, 3};
  CHECK(gradient_of([](auto y) { return pad(y, {2}, {1}, pad_mode::edge); }, x) ==
        numbers{3, 1, 2});
  CHECK(gradient_of([](auto y) { return pad(y, {2}, {1}, pad_mode::reflect); }, x) ==
        numbers{1, 3, 2});
}

TEST_CASE("pad: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tensor<f32, 3>>([](auto x) { return pad(x, {3}, {0}, pad_mode::reflect); }) ==
        "pad: f32[3] by [3] and [0]: axis 0 (3) holds fewer elements than are wanted");
}
