// property/jit_sort_test.cpp: compiled programs that sort or run along an axis equal their graphs
// run node by node. Reads: property/compiled.hpp.
#include "property/compiled.hpp"

using namespace atled;
using namespace atled::test;

TEST_CASE("jit: sorting along any axis, and its gradient", "[property]") {
  constexpr auto f = [](auto x) {
    const auto [most, places] = top_k(x, 3);
    return std::tuple{sort(x, 0), argsort(x, 1, descending), most, places, median(x, {0, 2})};
  };
  const auto x = numbers_for<tensor<f32, 3, 60, 5>>(1);
  CHECK(compiled_distance(f, x) < 1e-6);
  constexpr auto loss = [](auto y) { return sum(square(sort(y, 1) * iota_like(y, 1))); };
  CHECK(compiled_distance(grad(loss), x) < 1e-6);
}

TEST_CASE("jit: running results along any axis, and their gradients", "[property]") {
  constexpr auto f = [](auto x) {
    return std::tuple{cumsum(x, 0, reversed), cumprod(x, 1), cummax(x, 2, reversed), cummin(x, 1),
                      cumlogsumexp(x, 1)};
  };
  const auto x = numbers_for<tensor<f32, 3, 9, 5>>(2);
  CHECK(compiled_distance(f, x) < 1e-6);
  constexpr auto loss = [](auto y) {
    return sum(cumprod(y, 1, reversed) + square(cumlogsumexp(y, 2)) + square(cummax(y, 1)));
  };
  CHECK(compiled_distance(grad(loss), x) < 1e-5);
}
