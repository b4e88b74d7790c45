// unit/ops/scatter_product_test.cpp: products of updates by index: repeated, zero, outside, in
// lanes. SPDX-License-Identifier: MIT
#include "atled/ops/scatter_product.hpp"

#include "atled/ops/creation.hpp"
#include "atled/ops/indexing.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec6 = tensor<f64, 6>;
using ids6 = tensor<i32, 6>;
constexpr auto product = [](auto u, auto x, auto i) { return scatter_multiply(x, i, u); };
constexpr auto by_x = [](auto x, auto u, auto i) { return scatter_multiply(x, i, u); };

struct scatter_rows {
  constexpr auto operator()(auto x, auto i, auto u) const { return scatter_multiply(x, i, u); }
};
struct total_of_product {
  constexpr auto operator()(auto u, auto x, auto i) const { return sum(scatter_multiply(x, i, u)); }
};
}  // namespace

TEST_CASE("scatter_multiply: the updates of one place are multiplied, as in a loop", "[ops]") {
  const vec3 x{2, 3, 5};
  const vec6 u{7, 0, 11, 13, 0.5, 17};
  CHECK(values_of(product, u, x, ids6{0, 2, 0, 2, 1, 0}) == numbers{2 * 7 * 11 * 17, 1.5, 0});
  CHECK(values_of(product, u, x, ids6{0, 0, 0, 0, 0, 0}) == numbers{0, 3, 5});
  // outside: dropped, or to the nearest place
  CHECK(values_of(product, u, x, ids6{-1, 3, 0, 9, -4, 2}) == numbers{22, 3, 85});
  const auto clipped = [](auto y, auto i, auto w) {
    return scatter_multiply(y, i, w, 0, index_mode::clip);
  };
  CHECK(values_of(clipped, x, ids6{-1, 3, 0, 9, -4, 2}, u) == numbers{2 * 7 * 11 * 0.5, 3, 0});
  const auto whole = [](auto y, auto i) { return at(y, i).multiply(3); };
  CHECK(values_of(whole, tensor<i32, 3>{1, 2, -4}, ids6{2, 2, 0, 2, 9, 0}) == numbers{9, 2, -108});
}

TEST_CASE("scatter_multiply: the derivative by a factor is the product of the others", "[ops]") {
  const vec3 x{2, 3, 5};
  const ids6 i{0, 2, 0, 2, 1, 0};
  // one factor of place 2 is 0, none of place 0
  CHECK(gradient_of(product, vec6{7, 0, 11, 13, 0.5, 17}, x, i) ==
        numbers{2 * 11 * 17, 5 * 13, 2 * 7 * 17, 0, 3, 2 * 7 * 11});
  CHECK(gradient_of(by_x, x, vec6{7, 0, 11, 13, 0.5, 17}, i) == numbers{7 * 11 * 17, 0.5, 0});
  // two factors are 0, and x itself
  CHECK(gradient_of(product, vec6{0, 1, 11, 1, 1, 0}, vec3{2, 0, 5}, i) ==
        numbers{0, 5, 0, 5, 0, 0});
  CHECK(gradient_of(product, vec6{0, 1, 11, 1, 1, 3}, x, i) == numbers{66, 5, 0, 5, 3, 0});
}

TEST_CASE("scatter_multiply: second derivatives are the products of all but two", "[ops]") {
  const auto second = [](auto u, auto x, auto i) {
    const auto slope = [=](auto v) {
      return sum(grad([=](auto w) { return sum(scatter_multiply(x, i, w)); })(v) *
                 (iota_like(v, 0, dtype::f64) + 1));
    };
    return grad(slope)(u);
  };
  // place 0 has the factors 0, 0, 3 (weights 1, 3, 6) and x = 2: d/du0 sum_k w_k d/du_k
  const numbers out =
      values_of(second, vec6{0, 1, 0, 1, 1, 3}, vec3{2, 3, 5}, ids6{0, 2, 0, 2, 1, 0});
  CHECK(out == numbers{3 * 2 * 3, 4 * 5, 1 * 2 * 3, 2 * 5, 0, 0});
}

TEST_CASE("at: multiply and divide take all values of a place", "[ops]") {
  const vec3 x{2, 3, 60};
  const tensor<i32, 3> i{2, 0, 2};
  const auto times = [](auto y, auto j, auto u) { return at(y, j).multiply(u); };
  const auto over = [](auto y, auto j, auto u) { return at(y, j).divide(u); };
  CHECK(values_of(times, x, i, vec3{3, 5, 4}) == numbers{10, 3, 720});
  CHECK(values_of(over, x, i, vec3{3, 4, 4}) == numbers{0.5, 3, 5});
  CHECK(gradient_of(over, x, i, vec3{2, 4, 4}) == numbers{0.25, 1, 0.125});
  CHECK(gradient_of([over](auto u, auto y, auto j) { return over(y, j, u); }, vec3{2, 4, 4}, x,
                    i) == numbers{-3.75, -0.125, -1.875});
  CHECK(values_of(over, tensor<i32, 3>{-7, 2147483647, 9}, i, tensor<i32, 3>{2, 2, 2}) ==
        numbers{-3, 2147483647, 2});
  const tensor<f64, 2, 3> m{1, 2, 3, 4, 5, 6};
  CHECK(values_of([](auto y, auto j) { return at(y, range(), j).multiply(2.0); }, m, i) ==
        numbers{2, 2, 12, 8, 5, 24});
  CHECK(values_of([](auto y, auto r, auto c) { return at(y, r, c).multiply(3.0); }, m,
                  tensor<i32, 3>{0, 1, 0}, tensor<i32, 3>{1, 1, 1}) == numbers{1, 18, 3, 4, 15, 6});
}

TEST_CASE("scatter_multiply: lanes and kernels equal single calls", "[ops]") {
  const tensor<f64, 2, 3> x{2, 3, 5, 7, 11, 13};
  const tensor<f64, 2, 6> u{7, 0, 11, 13, 0.5, 17, 1, 2, 3, 4, 5, 6};
  const tensor<i32, 2, 6> i{0, 2, 0, 2, 1, 0, 1, 1, 1, 2, 9, -1};
  const auto all = [](auto y, auto j, auto w) { return vmap(scatter_rows{})(y, j, w); };
  CHECK(values_of(all, x, i, u) == numbers{2618, 1.5, 0, 7, 66, 52});
  constexpr auto f = [](auto w, auto y, auto j) { return grad(total_of_product{})(w, y, j); };
  const auto d_u =
      jit(f, by_kernels)(vec6{0, 1, 11, 1, 1, 3}, vec3{2, 3, 5}, ids6{0, 2, 0, 2, 1, 0});
  CHECK(numbers(d_u.begin(), d_u.end()) == numbers{66, 5, 0, 5, 3, 0});
}

TEST_CASE("segment_prod: products of rows, 1 where there is none", "[ops]") {
  const auto f = [](auto y, auto j) { return segment_prod(y, j, 3); };
  CHECK(values_of(f, tensor<f64, 4>{3, 1, 2, 7}, tensor<i32, 4>{0, 2, 0, 5}) == numbers{6, 1, 1});
  CHECK(gradient_of(f, tensor<f64, 4>{0, 1, 2, 7}, tensor<i32, 4>{0, 2, 0, 5}) ==
        numbers{2, 1, 0, 0});
}

TEST_CASE("scatter_multiply: a bounded number of updates is refused", "[ops]") {
  CHECK(sentence_of<vec3, tensor<i32, upto<6>>, tensor<f64, upto<6>>>([](auto x, auto i, auto u) {
          return scatter_multiply(x, i, u);
        }) == "scatter_multiply: indices i32[upto<6>]: products of them need a fixed size");
}
