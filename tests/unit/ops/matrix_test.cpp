// unit/ops/matrix_test.cpp: diagonals, traces, grids, kron and cross.
// SPDX-License-Identifier: MIT
#include "atled/ops/matrix.hpp"

#include "atled/ops/indexing.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using matrix = tensor<f64, 2, 3>;
const matrix m{1, 2, 3, 4, 5, 6};

static_assert(types_of<tensor<f32, 5, 3, 4>, tensor<i32, 2>>([](auto x, auto y) {
                const auto [u, v, w] = meshgrid(y, reshape<3>(diagonal(x, 0, 1, 2)(0)), y);
                return std::tuple{diagonal(x), diagonal(x, 1, 1, 2), trace(x, 0, 2, 0), u, v, w};
              }).view() == "f32[4,3] f32[5,3] f32[3] i32[3,2,2] f32[3,2,2] i32[3,2,2]");
}  // namespace

TEST_CASE("diagonal: above, on and below the main one", "[ops]") {
  CHECK(values_of([](auto x) { return diagonal(x); }, m) == numbers{1, 5});
  CHECK(values_of([](auto x) { return diagonal(x, 1); }, m) == numbers{2, 6});
  CHECK(values_of([](auto x) { return diagonal(x, 2); }, m) == numbers{3});
  CHECK(values_of([](auto x) { return diagonal(x, 3); }, m).empty());
  CHECK(values_of([](auto x) { return diagonal(x, -1); }, m) == numbers{4});
  CHECK(values_of([](auto x) { return diagonal(x, 0, 1, 0); }, m) == numbers{1, 5});
  CHECK(values_of([](auto x) { return trace(x); }, m) == numbers{6});
  CHECK(gradient_of([](auto x) { return trace(x, 1); }, m) == numbers{0, 1, 0, 0, 0, 1});
}

TEST_CASE("diag: a vector becomes a matrix, and back", "[ops]") {
  const vec2 v{7, 8};
  CHECK(values_of([](auto x) { return diag(x); }, v) == numbers{7, 0, 0, 8});
  CHECK(values_of([](auto x) { return diag(x, 1); }, v) == numbers{0, 7, 0, 0, 0, 8, 0, 0, 0});
  CHECK(values_of([](auto x) { return diag(x, -1); }, v) == numbers{0, 0, 0, 7, 0, 0, 0, 8, 0});
  CHECK(values_of([](auto x) { return diag(diag(x, -1), -1); }, v) == numbers{7, 8});
  CHECK(gradient_of([](auto x) { return diag(x, 1); }, v) == numbers{1, 1});
}

TEST_CASE("kron, cross: as NumPy has them", "[ops]") {
  CHECK(values_of([](auto x, auto y) { return kron(x, y); }, tensor<f64, 1, 2>{1, 2},
                  tensor<f64, 2, 2>{1, 2, 3, 4}) == numbers{1, 2, 2, 4, 3, 4, 6, 8});
  const auto f = [](auto x, auto y) { return cross(x, y); };
  CHECK(values_of(f, vec3{1, 2, 3}, vec3{4, 5, 6}) == numbers{-3, 6, -3});
  CHECK(values_of(f, tensor<f64, 2, 3>{1, 0, 0, 0, 1, 0}, vec3{0, 0, 1}) ==
        numbers{0, -1, 0, 1, 0, 0});
  CHECK(gradient_of(f, vec3{1, 2, 3}, vec3{4, 5, 6}) == numbers{-1, 2, -1});
}

TEST_CASE("meshgrid: x along the columns, or in the order of matrices", "[ops]") {
  const vec2 x{1, 2};
  const vec3 y{3, 4, 5};
  const auto both = all_values(
      [](auto u, auto v) {
        const auto [a, b] = meshgrid(u, v);
        const auto [c, d] = meshgrid_ij(u, v);
        return std::tuple{a, b, c, d};
      },
      x, y);
  CHECK(both[0] == numbers{1, 2, 1, 2, 1, 2});
  CHECK(both[1] == numbers{3, 3, 4, 4, 5, 5});
  CHECK(both[2] == numbers{1, 1, 1, 2, 2, 2});
  CHECK(both[3] == numbers{3, 4, 5, 3, 4, 5});
}

TEST_CASE("matrix: what is ill-formed is one sentence", "[ops]") {
  using f23 = tensor<f32, 2, 3>;
  CHECK(sentence_of<f23>([](auto x) { return diagonal(x, 4); }) ==
        "diagonal: f32[2,3]: there is no diagonal 4");
  CHECK(sentence_of<f23>([](auto x) { return cross(x, transpose(x)); }) ==
        "cross: f32[2,3] and f32[3,2]: the last axis must have size 3");
  CHECK(sentence_of<f23, tensor<f32, 2>>([](auto x, auto y) { return kron(x, y); }) ==
        "kron: f32[2,3] and f32[2]: the ranks must be equal, and 4 at most");
}
