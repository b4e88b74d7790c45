// unit/passes/vmap_regions_test.cpp: lanes that share loops and branches, or go their own ways.
// SPDX-License-Identifier: MIT
#include "atled/passes/vmap_regions.hpp"

#include "atled/ops/control.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <utility>

using namespace atled;

namespace {
constexpr auto below_100 = [](auto x) {  // VM2
  return while_loop([](auto s) { return s.second < 100.0; },
                    [](auto s) { return std::pair(s.first + 1, s.second * 2.0); }, std::pair(0, x),
                    max_trips<8>);
};
constexpr auto doubled = [](auto x) { return below_100(x).second; };
constexpr auto root = [](auto x) {  // VM3
  return cond(
      x > 0.0, [&] { return sqrt(x); }, [] { return 0.0; });
};
constexpr auto guarded = [](auto x) {  // VM4: for 0 the loop would never end
  const auto loop = [](auto y) {
    return while_loop([](auto z) { return z < 100.0; }, [](auto z) { return z * 2.0; }, y);
  };
  return cond(
      x > 0.0, loop, [](auto y) { return y; }, x);
};
constexpr auto last_of_decay = [](auto a, auto x, auto c0) {  // VM7
  const auto step = [&](auto c, auto row) { return std::pair(a * c + row, std::tuple<>{}); };
  return scan(step, c0, x).first;
};
constexpr auto counted_roots = [](auto x) {  // VM11: after its end a lane would take root of -1
  const auto step = [](auto s) { return std::pair(s.first - 1.0, s.second + sqrt(s.first)); };
  return while_loop([](auto s) { return s.first > 0.0; }, step, std::pair(x, x * 0.0), max_trips<5>)
      .second;
};
constexpr auto chosen = [](auto i, auto x) {
  const auto branches = std::tuple([](auto y) { return y; }, [](auto y) { return y * y; },
                                   [](auto y) { return sqrt(y); });
  return switch_(i, branches, x);
};
constexpr auto powers = [](auto n, auto x) {
  return fori_loop(
      0, n, [&](auto, auto c) { return c * x; }, x * 0.0 + 1.0, max_trips<6>);
};
}  // namespace

TEST_CASE("vmap: lanes of a loop end on their own", "[passes]") {
  const tensor<f64, 3> x{60, 3, 150};
  const auto [counts, results] = jit(vmap(below_100))(x);
  CHECK(same_bits(counts, tensor<i32, 3>{1, 6, 0}));
  CHECK(same_bits(results, tensor<f64, 3>{120, 192, 150}));
  CHECK(same_bits(jit(vmap(grad(doubled)))(x), tensor<f64, 3>{2, 64, 1}));
  constexpr auto total = [](auto lanes) { return sum(vmap(doubled)(lanes)); };
  CHECK(same_bits(jit(grad(total))(x), tensor<f64, 3>{2, 64, 1}));
}

TEST_CASE("vmap: lanes of a cond take branches of their own", "[passes]") {
  const tensor<f64, 2> x{-1, 4};
  CHECK(same_bits(jit(vmap(root))(x), tensor<f64, 2>{0, 2}));
  CHECK(same_bits(jit(vmap(grad(root)))(x), tensor<f64, 2>{0, 0.25}));
  constexpr auto total = [](auto lanes) { return sum(vmap(root)(lanes)); };
  CHECK(same_bits(jit(grad(total))(x), tensor<f64, 2>{0, 0.25}));
}

TEST_CASE("vmap: a loop in a branch runs for the lanes in it only", "[passes]") {
  CHECK(same_bits(jit(vmap(guarded))(tensor<f64, 2>{0, 3}), tensor<f64, 2>{0, 192}));
}

TEST_CASE("vmap: a scan over mapped rows", "[passes]") {
  const tensor<f64> a(0.5);
  const tensor<f64> c0(1.0);
  const tensor<f64, 2, 3> x{1, 2, 3, 0, 0, 0};
  constexpr auto axes = in_axes<none, 0, none>;
  CHECK(same_bits(jit(vmap(last_of_decay, axes))(a, x, c0), tensor<f64, 2>{4.375, 0.125}));
  CHECK(same_bits(jit(vmap(grad(last_of_decay), axes))(a, x, c0), tensor<f64, 2>{3.75, 0.75}));
}

TEST_CASE("vmap: a lane that has ended keeps its carry and raises nothing", "[passes]") {
  const tensor<f64, 3> x{1, 4, 0};
  const auto out = jit(vmap(counted_roots))(x);
  CHECK(near(out, tensor<f64, 3>{1, 2 + 1.7320508075688772 + 1.4142135623730951 + 1, 0}));
  const auto slopes = jit(vmap(grad(counted_roots)))(x);
  CHECK(
      near(slopes, tensor<f64, 3>{0.5, 0.25 + 0.28867513459481287 + 0.35355339059327373 + 0.5, 0}));
}

TEST_CASE("vmap: each lane its own case, and its own number of trips", "[passes]") {
  const tensor<i32, 3> i{2, 0, 9};
  const tensor<f64, 3> x{4, 3, 9};
  CHECK(same_bits(jit(vmap(chosen))(i, x), tensor<f64, 3>{2, 3, 3}));
  const tensor<i32, 3> n{0, 2, 5};
  const tensor<f64, 3> y{7, 3, 2};
  CHECK(same_bits(jit(vmap(powers))(n, y), tensor<f64, 3>{1, 9, 32}));
  CHECK(same_bits(jit(vmap(grad(powers, argnums<1>)))(n, y), tensor<f64, 3>{0, 6, 80}));
}
