// unit/passes/vmap_custom_test.cpp: rules of the user's own, host functions and checkpoints on
// lanes.
// SPDX-License-Identifier: MIT
#include "atled/passes/vmap_custom.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/external.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/checkpoint.hpp"
#include "atled/transform/custom_jvp.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/jvp.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {

using scalar = tensor<f64>;
using vec3 = tensor<f64, 3>;

constexpr auto ten_times = custom_jvp([](auto x, auto y) { return x * y; },
                                      [](auto primals, auto tangents) {
                                        const auto [x, y] = primals;
                                        const auto [dx, dy] = tangents;
                                        return std::pair(x * y, 10.0 * (x * dy + y * dx));
                                      });
constexpr auto hundred_times =
    custom_vjp([](auto x, auto y) { return std::pair(x * y, x + y); },
               [](auto x, auto y) { return std::pair(std::pair(x * y, x + y), std::pair(x, y)); },
               [](auto kept, auto ct) {
                 const auto [x, y] = kept;
                 const auto [product, total] = ct;
                 return std::tuple(100.0 * y * product + total, 100.0 * x * product + total);
               });
constexpr auto both = [](auto x, auto y) {
  const auto [product, total] = hundred_times(x, y);
  return product + total * 2.0;
};

tensor<f64> energy(const tensor_view<const f64, 2>& x, f64 scale) {
  return scale * (x(0) * x(0) + x(1) * x(1));
}
std::pair<tensor<f64>, tensor<f32>> next_two(f64 x) {
  return {tensor<f64>(x + 1), tensor<f32>(static_cast<f32>(x + 2))};
}

}  // namespace

TEST_CASE("vmap_custom: a custom_jvp on lanes, and its derivative", "[passes]") {
  const auto lanes = [](auto x, auto y) { return vmap(ten_times, in_axes<0, none>)(x, y); };
  CHECK(values_of(lanes, vec3{1, 2, 3}, scalar{2}) == numbers{2, 4, 6});
  const auto total = [=](auto x, auto y) { return sum(lanes(x, y)); };
  const auto outside = [=](auto x, auto y) { return grad(total, argnums<0, 1>)(x, y); };
  CHECK(all_values(outside, vec3{1, 2, 3}, scalar{2}) == std::vector<numbers>{{20, 20, 20}, {60}});
  const auto inside = [](auto x, auto y) {
    return vmap([](auto u, auto v) { return grad(ten_times)(u, v); })(x, y);
  };
  CHECK(values_of(inside, vec3{1, 2, 3}, vec3{4, 5, 6}) == numbers{40, 50, 60});
  const auto forward = [=](auto x, auto y) {
    return jvp(lanes, std::tuple(x, y), std::tuple(x, y));
  };
  CHECK(all_values(forward, vec3{1, 2, 3}, scalar{2})[1] == numbers{40, 80, 120});
}

TEST_CASE("vmap_custom: a custom_vjp on lanes, and its derivative", "[passes]") {
  const auto lanes = [](auto x, auto y) { return vmap(both, in_axes<0, none>)(x, y); };
  const auto total = [=](auto x, auto y) { return sum(lanes(x, y)); };
  const auto outside = [=](auto x, auto y) { return grad(total, argnums<0, 1>)(x, y); };
  CHECK(all_values(outside, vec3{1, 2, 3}, scalar{2}) ==
        std::vector<numbers>{{202, 202, 202}, {606}});
  const auto inside = [](auto x, auto y) {
    return vmap([](auto u, auto v) { return grad(both)(u, v); })(x, y);
  };
  CHECK(values_of(inside, vec3{1, 2, 3}, vec3{4, 5, 6}) == numbers{402, 502, 602});
  const auto nested = [=](auto x) {
    return sum(vmap([=](auto u) { return sum(vmap(both, in_axes<none, 0>)(u, x)); })(x));
  };
  // sum_ij x_i x_j, each derivative a hundred times, and 2 (x_i + x_j)
  CHECK(values_of([=](auto x) { return grad(nested)(x); }, vec3{1, 2, 3}) ==
        numbers{1212, 1212, 1212});
}

TEST_CASE("vmap_custom: a host function is called once for each lane", "[passes]") {
  const auto f = jit([](auto x, auto scale) {
    return vmap([](auto u, auto s) { return external_call<energy>(u, s); }, in_axes<0, none>)(
        x, scale);
  });
  CHECK(array_equal(f(tensor<f64, 3, 2>{{1, 0}, {1, 1}, {2, 1}}, scalar{10}), vec3{10, 20, 50}));
  const auto g = jit([](auto x, auto scale) {
    return vmap([&](auto row) {
      return vmap([&](auto u, auto s) { return external_call<energy>(u, s); }, in_axes<none, 0>)(
          row, scale);
    })(x);
  });
  CHECK(array_equal(g(tensor<f64, 2, 2>{{1, 0}, {1, 1}}, vec3{1, 2, 3}),
                    tensor<f64, 2, 3>{{1, 2, 3}, {2, 4, 6}}));
  const auto h = jit([](auto x) {
    return vmap([](auto u) {
      const auto [a, b] = external_call<next_two>(u);
      return a * convert(b, dtype::f64);
    })(x);
  });
  CHECK(array_equal(h(vec3{0, 1, 2}), vec3{2, 6, 12}));
}

TEST_CASE("vmap_custom: a checkpoint on lanes is one still", "[passes]") {
  const auto wave = [](auto x) { return sin(sin(sin(x))); };
  const auto with = [=](auto x) { return sum(vmap(checkpoint(wave))(x)); };
  const auto b = oracle::make_builder();
  const expr x(*b, b->parameter(vec3::type));
  const auto slope = grad(with)(x);
  int inner = 0;
  for (int id = 0; id < b->g.num_nodes; ++id) {
    const ir::node& n = b->g[id];
    inner += n.code == op::sin && n.type == vec3::type && n.home != 0 ? 1 : 0;
  }
  CHECK(inner == 2);  // on all lanes; the third is the result
  CHECK(!slope.is_poison());
}
