// unit/loops/eager_space_test.cpp: how the axes of broadcast operands are merged.
// Reads: atled/loops/eager_space.hpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_space.hpp"

#include "support/catch.hpp"

namespace {

using namespace atled;
using namespace atled::loops::eager;

constexpr loop_space space_of(const shape& result, std::initializer_list<shape> operands) {
  unsigned cuts = 0;
  for (const shape& operand : operands) cuts |= cuts_of(operand, result);
  return loop_space::of(result, cuts);
}

constexpr shape cube = shape::of({4, 5, 6});
static_assert(space_of(cube, {cube, shape{}}).groups == shape::of({120}));
static_assert(space_of(cube, {shape::of({6})}).groups == shape::of({20, 6}));
static_assert(space_of(cube, {shape::of({4, 1, 1})}).groups == shape::of({4, 30}));
static_assert(space_of(cube, {shape::of({5, 1})}).groups == shape::of({4, 5, 6}));
static_assert(space_of(shape::of({4, 1, 6}), {shape::of({4, 1, 6})}).groups == shape::of({24}));
static_assert(space_of(shape{}, {shape{}}).groups == shape::of({1}));

constexpr loop_space middle = space_of(cube, {shape::of({5, 1}), cube});
static_assert(middle.strides_of(cube) == shape::of({30, 6, 1}));
static_assert(middle.strides_of(shape::of({5, 1})) == shape::of({0, 1, 0}));
static_assert(middle.strides_of(shape{}) == shape::of({0, 0, 0}));

static_assert(lanes_for<f32>(3) == 4 && lanes_for<f32>(1) == 1);
static_assert(lanes_for<f64>(1000) == loops::simd_bytes / 8 &&
              lanes_for<bf16>(1000) == loops::simd_bytes / 4);

}  // namespace

TEST_CASE("eager_space: a run of rows and a row are written as one would write a loop", "[loops]") {
  const float row[3] = {1, 2, 3};
  float out[6] = {};
  const leaf_cursor<f32, true, 1> cursor{row, {0}};
  run_rows<4, 1, false>(cursor, shape::of({2, 3}), static_cast<float*>(out), false);
  for (int i = 0; i < 6; ++i) CHECK(out[i] == row[i % 3]);
}
