// unit/ops/slice_test.cpp: parts of tensors, and tensors from parts.
// SPDX-License-Identifier: MIT
#include "atled/ops/slice.hpp"

#include "atled/ops/pad.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 2, 3>;
using vec5 = tensor<f64, 5>;
using m = tensor<f32, 8, 16>;

static_assert(types_of<m>([](auto x) {
                return std::tuple{slice(x, {0, 4}, {8, 12}),      slice(x, {1, 0}, {8, 16}, {3, 5}),
                                  slice_in_dim(x, 1, 8),          slice_in_dim(x, 0, -1, 1, -1),
                                  slice_in_dim(x, -3, 8),         index_in_dim(x, -1),
                                  index_in_dim(x, 0, 1, keepdims)};
              }).view() == "f32[8,8] f32[3,4] f32[7,16] f32[8,15] f32[3,16] f32[16] f32[8,1]");
static_assert(types_of<m>([](auto x) {
                const auto [q, k, v, w] = split<4>(x, -1);
                return std::tuple{q, concatenate({k, v, w}, 1), stack({q, k}), stack({q, k}, -1)};
              }).view() == "f32[8,4] f32[8,12] f32[2,8,4] f32[8,4,2]");
static_assert(types_of<m, tensor<bf16, 2, 16>>([](auto x, auto y) {
                return std::tuple{concatenate({y, x}), pad(x, {1, 0}, {2, 0}), flip(x, 0),
                                  roll(x, 3, 1),       repeat(x, 2, 1),        tile(x, {2, 3})};
              }).view() == "f32[10,16] f32[11,16] f32[8,16] f32[8,16] f32[8,32] f32[16,48]");
}  // namespace

TEST_CASE("slice: the gradient goes to the places that were read", "[ops]") {
  const vec5 x{1, 2, 3, 4, 5};
  const auto f = [](auto y) { return slice(y, {0}, {5}, {2}); };
  CHECK(values_of(f, x) == numbers{1, 3, 5});
  CHECK(gradient_of(f, x) == numbers{1, 0, 1, 0, 1});
  CHECK(values_of([](auto y) { return slice_in_dim(y, -2, 5); }, x) == numbers{4, 5});
  CHECK(values_of([](auto y) { return slice_in_dim(y, 1, 1); }, x).empty());
}

TEST_CASE("split: concatenate undoes it, along any axis", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6};
  const auto f = [](auto y) {
    const auto [a, b, c] = split<3>(y, 1);
    return concatenate({c, b, a}, -1);
  };
  CHECK(values_of(f, x) == numbers{3, 2, 1, 6, 5, 4});
  CHECK(values_of([](auto y) { return split<2>(y)[1]; }, x) == numbers{4, 5, 6});
  CHECK(gradient_of([](auto y) { return split<3>(y, 1)[2] * 2; }, x) == numbers{0, 0, 2, 0, 0, 2});
}

TEST_CASE("concatenate: more parts than one op takes", "[ops]") {
  const auto joined = values_of(
      [](auto x) {
        std::vector<expr> parts;
        for (int i = 0; i < 150; ++i) parts.push_back(x + i);
        return concatenate(std::span<const expr>(parts));
      },
      tensor<f64, 2>{0, 1000});
  REQUIRE(joined.size() == 300);
  CHECK(joined[298] == 149);
  CHECK(joined[127] == 1063);
  const auto stacked = values_of(
      [](auto x) {
        std::vector<expr> parts;
        for (int i = 0; i < 150; ++i) parts.push_back(x + i);
        return stack(std::span<const expr>(parts), 1);
      },
      tensor<f64, 2>{0, 1000});
  REQUIRE(stacked.size() == 300);
  CHECK(stacked[149] == 149);
  CHECK(stacked[150] == 1000);
}

TEST_CASE("roll, flip, repeat, tile: elements by name", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6};
  CHECK(values_of([](auto y) { return roll(y, 1, 1); }, x) == numbers{3, 1, 2, 6, 4, 5});
  CHECK(values_of([](auto y) { return roll(y, -4, 1); }, x) == numbers{2, 3, 1, 5, 6, 4});
  CHECK(values_of([](auto y) { return flip(y); }, x) == numbers{6, 5, 4, 3, 2, 1});
  CHECK(values_of([](auto y) { return flip(y, 1); }, x) == numbers{3, 2, 1, 6, 5, 4});
  CHECK(values_of([](auto y) { return repeat(y, 2, 0); }, x) ==
        numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(values_of([](auto y) { return repeat(y, 2, 1); }, x) ==
        numbers{1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6});
  CHECK(values_of(
            [](auto y) {
              return tile(y, {1, 2});
            },
            x) == numbers{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  CHECK(gradient_of([](auto y) { return tile(y, {2, 3}); }, x) == numbers(6, 6));
  CHECK(values_of([](auto y) { return tile(y, {0, 3}); }, x).empty());
}

TEST_CASE("slice: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<m>([](auto x) { return slice(x, {0}, {8}); }) ==
        "slice: f32[8,16] from [0] to [8]: there must be one number for each axis");
  CHECK(sentence_of<m>([](auto x) { return slice_in_dim(x, 2, 17, 1, 1); }) ==
        "slice_in_dim: f32[8,16]: axis 1 from 2 to 17 in steps of 1: it must go up from 0 or "
        "more to 16 or less");
  CHECK(sentence_of<m>([](auto x) { return index_in_dim(x, 8); }) ==
        "index_in_dim: f32[8,16] at 8 of axis 0: the place must be from -8 to 7");
  CHECK(sentence_of<m>([](auto x) { return split<3>(x, 1)[2]; }) ==
        "split: f32[8,16]: axis 1 (16) must be divisible by 3");
  CHECK(sentence_of<m>([](auto x) {
          return concatenate({x, index_in_dim(x, 0)});
        }) == "concatenate: f32[8,16] and f32[16]: all but axis 0 must be equal");
  CHECK(sentence_of<m>([](auto x) {
          return concatenate({x, x}, 2);
        }) == "concatenate: f32[8,16] along axis 2: the axis must be from -2 to 1");
  CHECK(sentence_of<m>([](auto x) {
          return pad(x, {1, 0}, {-1, 0});
        }) == "pad: [-1,0]: size -1 must be 0 or more");
}

TEST_CASE("split: at places, with what is left behind the last", "[ops]") {
  const auto parts = all_values(
      [](auto x) {
        const auto [a, b, c] = split(x, {1, 3});
        return std::tuple{a, b, c};
      },
      tensor<f64, 4>{1, 2, 3, 4});
  CHECK(parts[0] == numbers{1});
  CHECK(parts[1] == numbers{2, 3});
  CHECK(parts[2] == numbers{4});
  CHECK(sentence_of<tensor<f32, 4>>([](auto x) {
          return split(x, {3, 2})[1];
        }) ==
        "split: f32[4]: axis 0 from 3 to 2 in steps of 1: it must go up from 0 or more to 4 or "
        "less");
}
