// unit/core/axis_test.cpp: axes by number, by tag, in a list; names of mesh axes.
// SPDX-License-Identifier: MIT
#include "atled/core/axis.hpp"

#include "support/catch.hpp"
#include <type_traits>

using namespace atled;

namespace {
template <auto... Axes>
struct mesh_of {};

static_assert(axes().all && axes().size == 0);
static_assert(!axes(1).all && axes(1).list[0] == 1);
static_assert(axes(axis<-1>).list[0] == -1);
static_assert(axes{0, -2}.size == 2 && axes{0, -2}.list[1] == -2);
static_assert(axes(keepdims).all && axes(keepdims).keep);
static_assert(!kept().value && kept(keepdims).value);
static_assert(std::remove_cvref_t<decltype(axis<"model", 2>)>::label.name.view() == "model");
static_assert(std::remove_cvref_t<decltype(axis<"model", 2>)>::size == 2);
static_assert(!std::is_same_v<mesh_of<axis<"data">>, mesh_of<axis<"model">>>);
}  // namespace

TEST_CASE("axes: more than 8 are not stored", "[core]") {
  axes many = axes{std::initializer_list<int>{}};
  for (int i = 0; i < 12; ++i) many.push(i);
  CHECK(many.size == max_rank);
}
