// unit/core/mesh_test.cpp: a mesh as a type and as a value: text, sizes, places, sentences.
// SPDX-License-Identifier: MIT
#include "atled/core/mesh.hpp"

#include "support/catch.hpp"
#include <type_traits>

using namespace atled;

namespace {
using grid = mesh<axis<"data">, axis<"model", 2>>;
constexpr mesh_shape open_shape = grid::shape_value;
constexpr mesh_shape fixed_shape = mesh<axis<"data", 4>, axis<"model", 2>>::shape_value;

static_assert(open_shape.text().view() == "mesh{data:?,model:2}");
static_assert(fixed_shape.text().view() == "mesh{data:4,model:2}");
static_assert(open_shape.names_text().view() == "data, model");
static_assert(open_shape.num_axes == 2 && open_shape.is_open(0) && !open_shape.is_open(1));
static_assert(open_shape.axis_named("model") == 1 && open_shape.axis_named("batch") == -1);
static_assert(open_shape.known_size() == 2 && fixed_shape.known_size() == 8);
static_assert(open_shape.of_ranks(8) == fixed_shape && !(open_shape == fixed_shape));
static_assert(fixed_shape.place_of(5, 0) == 2 && fixed_shape.place_of(5, 1) == 1);
static_assert(std::is_same_v<grid, mesh<axis<"data">, axis<"model", 2>>>);
static_assert(!std::is_same_v<grid, mesh<axis<"data">, axis<"model", 4>>>);
static_assert(detail::is_mesh_v<grid> && !detail::is_mesh_v<int>);
}  // namespace

TEST_CASE("mesh: a number of ranks that does not fit is a sentence", "[core]") {
  CHECK(open_shape.problem_with(4).empty());
  CHECK(open_shape.problem_with(3).view() ==
        "mesh{data:?,model:2}: 3 ranks are not a multiple of 2");
  CHECK(fixed_shape.problem_with(8).empty());
  CHECK(fixed_shape.problem_with(1).view() == "mesh{data:4,model:2}: 1 rank is not 8");
  const mesh_shape twice = mesh<axis<"x">, axis<"y">>::shape_value;
  CHECK(twice.problem_with(4).view() == "mesh{x:?,y:?}: one axis at most may be without a size");
}
