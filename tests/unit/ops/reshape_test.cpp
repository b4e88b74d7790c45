// unit/ops/reshape_test.cpp: the same elements under other axes.
// SPDX-License-Identifier: MIT
#include "atled/ops/reshape.hpp"

#include "atled/ops/reduce.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 2, 3>;
using cube = tensor<f32, 2, 3, 4>;

static_assert(types_of<cube>([](auto x) {
                return std::tuple{reshape(x, {6, -1}), reshape<4, 6>(x), reshape(x, x.dims()),
                                  ravel(x), reshape<-1, 8>(x)};
              }).view() == "f32[6,4] f32[4,6] f32[2,3,4] f32[24] f32[3,8]");
static_assert(types_of<cube>([](auto x) {
                return std::tuple{
                    transpose(x),       transpose(x, {0, 2, 1}), transpose(x, {-1, 0, 1}),
                    swapaxes(x, 0, -1), matrix_transpose(x),     moveaxis(x, 0, 2),
                    moveaxis(x, -1, 0), moveaxis(x, 0, 1)};
              }).view() ==
              "f32[4,3,2] f32[2,4,3] f32[4,2,3] f32[4,3,2] f32[2,4,3] f32[3,4,2] f32[4,2,3] "
              "f32[3,2,4]");
static_assert(types_of<cube>([](auto x) {
                return std::tuple{expand_dims(x, 0),
                                  expand_dims(x, {0, -1}),
                                  squeeze(expand_dims(x, {1, 2})),
                                  squeeze(expand_dims(x, 1), 1),
                                  broadcast_to<5, 2, 3, 4>(x),
                                  broadcast_to(sum(x, 1, keepdims), {2, 9, 4})};
              }).view() ==
              "f32[1,2,3,4] f32[1,2,3,4,1] f32[2,3,4] f32[2,3,4] f32[5,2,3,4] f32[2,9,4]");
}  // namespace

TEST_CASE("reshape: the elements keep their order", "[ops]") {
  const matrix x{1, 2, 3, 4, 5, 6};
  CHECK(values_of([](auto y) { return reshape(y, {3, 2}); }, x) == numbers{1, 2, 3, 4, 5, 6});
  CHECK(values_of([](auto y) { return transpose(y); }, x) == numbers{1, 4, 2, 5, 3, 6});
  CHECK(values_of(
            [](auto y) {
              return transpose(reshape(transpose(y), {2, 3}));
            },
            x) == numbers{1, 5, 4, 3, 2, 6});
}

TEST_CASE("moveaxis: the other axes keep their order", "[ops]") {
  tensor<f64, 2, 3, 4> x;
  for (int i = 0; i < 24; ++i) x.data()[i] = i;
  const auto moved = values_of([](auto y) { return moveaxis(y, 0, -1); }, x);
  CHECK(moved[1] == 12);  // [0, 0, 1] is x[1, 0, 0]
  CHECK(moved[2] == 1);   // [0, 1, 0] is x[0, 0, 1]
  CHECK(moved[23] == 23);
  CHECK(values_of([](auto y) { return moveaxis(moveaxis(y, 0, 2), 2, 0); }, x)[13] == 13);
}

TEST_CASE("broadcast_to: the gradient is summed over what was repeated", "[ops]") {
  const tensor<f64, 4> x{1, -2, 3, 0};
  const auto f = [](auto y) {
    const auto wide = broadcast_to<8, 4>(y);
    return wide * wide;
  };
  CHECK(gradient_of(f, x) == numbers{16, -32, 48, 0});
  CHECK(gradient_of(
            [](auto y) {
              return broadcast_to(expand_dims(y, 1), {4, 5});
            },
            x) == numbers{5, 5, 5, 5});
}

TEST_CASE("reshape: the graph has no more nodes than it needs", "[ops]") {
  // What changes nothing makes no node.
  CHECK(count_of<op::transpose, cube>([](auto x) { return transpose(x, {0, 1, 2}); }) == 0);
  CHECK(count_of<op::reshape, cube>([](auto x) { return squeeze(x); }) == 0);
}

TEST_CASE("reshape: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<cube>([](auto x) {
          return reshape(x, {5, 5});
        }) == "reshape: f32[2,3,4] to f32[5,5]: 24 elements must equal 25");
  CHECK(sentence_of<cube>([](auto x) {
          return reshape(x, {5, -1});
        }) == "reshape: f32[2,3,4] to [5,-1]: 24 elements must be divisible by 5");
  CHECK(sentence_of<cube>([](auto x) {
          return reshape(x, {-1, -1});
        }) == "reshape: [-1,-1]: at most one size may be -1");
  CHECK(sentence_of<cube>([](auto x) {
          return reshape(x, {-2, 12});
        }) == "reshape: [-2,12]: size -2 must be 0 or more");
  CHECK(sentence_of<cube>([](auto x) {
          return reshape(x, {1, 1, 1, 1, 1, 1, 1, 1, 24});
        }) == "reshape: 9 sizes: a shape has at most 8 axes");
  CHECK(sentence_of<cube>([](auto x) {
          return transpose(x, {0, 1});
        }) == "transpose: f32[2,3,4] by 2 axes: each of its 3 axes must be given once");
  CHECK(sentence_of<cube>([](auto x) {
          return transpose(x, {0, 1, 1});
        }) == "transpose: f32[2,3,4]: axis 1 is given twice: each axis once");
  CHECK(sentence_of<cube>([](auto x) {
          return broadcast_to(x, {2, 5, 4});
        }) == "broadcast_to: f32[2,3,4] to [2,5,4]: axis 1 (3) must be 1 or 5");
  CHECK(sentence_of<cube>([](auto x) {
          return broadcast_to(x, {3, 4});
        }) == "broadcast_to: f32[2,3,4] to [3,4]: the result must have at least 3 axes");
  CHECK(sentence_of<cube>([](auto x) { return squeeze(x, 1); }) ==
        "squeeze: f32[2,3,4]: axis 1 (3) must have size 1");
  CHECK(sentence_of<cube>([](auto x) { return swapaxes(x, 0, 3); }) ==
        "swapaxes: f32[2,3,4] along axis 3: the axis must be from -3 to 2");
}
