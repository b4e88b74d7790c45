// unit/loops/eager_shape_test.cpp: transpose, reshape and broadcast_to of plain tensors.
// Reads: atled/loops/eager_shape.hpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_shape.hpp"

#include "atled/core/creation.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <type_traits>

namespace {
using namespace atled;
using cube = tensor<f32, 3, 40, 50>;
}  // namespace

TEST_CASE("eager_shape: transpose moves every axis order", "[loops]") {
  const cube x = reshape<3, 40, 50>(arange<f32, 6000>());
  const auto check = [&](const auto& moved, auto index) {
    bool all_right = true;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 40; ++j) {
        for (int k = 0; k < 50; ++k) all_right = all_right && index(moved, i, j, k) == x(i, j, k);
      }
    }
    return all_right;
  };
  CHECK(check(transpose(x), [](auto& m, int i, int j, int k) { return m(k, j, i); }));
  CHECK(check(transpose<0, 2, 1>(x), [](auto& m, int i, int j, int k) { return m(i, k, j); }));
  CHECK(check(transpose<1, 0, 2>(x), [](auto& m, int i, int j, int k) { return m(j, i, k); }));
  CHECK(check(transpose<1, 2, 0>(x), [](auto& m, int i, int j, int k) { return m(j, k, i); }));
  CHECK(check(transpose<-1, 0, 1>(x), [](auto& m, int i, int j, int k) { return m(k, i, j); }));
}

TEST_CASE("eager_shape: expressions are moved as tensors are", "[loops]") {
  const tensor<f32, 2, 2> a{{1, 2}, {3, 4}};
  CHECK(same_bits(transpose(a * 2), tensor<f32, 2, 2>{2, 6, 4, 8}));
  CHECK(same_bits(reshape<4>(a + 1), tensor<f32, 4>{2, 3, 4, 5}));
  CHECK(same_bits((broadcast_to<2, 2>(tensor<f32, 2, 1>{1, 2}) + 1).eval(),
                  tensor<f32, 2, 2>{2, 2, 3, 3}));
}

TEST_CASE("eager_shape: ranks 0 and 1 transpose to themselves", "[loops]") {
  CHECK(same_bits(transpose(tensor<f32, 3>{1, 2, 3}), tensor<f32, 3>{1, 2, 3}));
  CHECK(transpose(tensor<f32>(2)).item() == 2);
}
