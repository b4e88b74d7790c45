// unit/ops/arguments_test.cpp: how calls name axes and sizes.
// SPDX-License-Identifier: MIT
#include "atled/ops/arguments.hpp"

#include "support/catch.hpp"
#include <memory>

using namespace atled;

namespace {
constexpr tensor_type cube{dtype::f32, shape::of({2, 3, 4})};

std::int64_t mask_of(const axes& along) {
  return ir::resolved_axes(*std::make_unique<ir::builder>(), cube, along);
}
static_assert(axes(keepdims).keep && axes(keepdims).all);
static_assert(axis_tag<"data", 0>::label.name.view() == "data");
static_assert(sizes{2, 3}.dims == shape::of({2, 3}));
static_assert(sizes{1, 1, 1, 1, 1, 1, 1, 1, 1}.count == 9);
static_assert(ir::size_along(cube.dims, 0b101) == 8);
static_assert(ir::with_ones(cube.dims, 0b101) == shape::of({1, 3, 1}));
static_assert(ir::other_axes(cube.dims, 0b101) == 0b010);
}  // namespace

TEST_CASE("axes: the first sentence is kept", "[ops]") {
  const auto b = std::make_unique<ir::builder>();
  b->site = call_site{"dir/model.cpp", 7, "sum"};
  CHECK(ir::resolved_axes(*b, cube, {0, 5}) == -1);
  CHECK(ir::resolved_axes(*b, cube, {0, 0}) == -1);
  CHECK(b->problem.view() ==
        "model.cpp:7: sum: f32[2,3,4] along axis 5: the axis must be from -3 to 2");
}

TEST_CASE("axes: by number from both ends, as a tag, in a list, or all", "[ops]") {
  CHECK(mask_of({}) == 0b111);
  CHECK(mask_of(0) == 0b001);
  CHECK(mask_of(-1) == 0b100);
  CHECK(mask_of(axis<-2>) == 0b010);
  CHECK(mask_of({0, -1}) == 0b101);
  CHECK(mask_of(std::initializer_list<int>{}) == 0);
  CHECK(mask_of(3) == -1);
  CHECK(mask_of({1, -2}) == -1);
}
