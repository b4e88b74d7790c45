// unit/transform/compose_test.cpp: transformations of transformations, as deep as one would write.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

using namespace atled;

namespace {

/// The identity, whose cotangent counts twice.
constexpr auto doubled_back =
    custom_vjp([](auto x) { return x; }, [](auto x) { return std::pair(x, std::tuple()); },
               [](auto, auto ct) { return 2.0 * ct; });

/// A scan whose body is a checkpoint around a custom_vjp.
constexpr auto last_of = [](auto w, auto xs) {
  const auto body = checkpoint([](auto c, auto x, auto by) { return doubled_back(c * by + x); });
  const auto step = [&](auto c, auto x) {
    const auto next = body(c, x, w);
    return std::pair(next, next);
  };
  return scan(step, zeros_like(w), xs).first;
};
constexpr auto total = [](auto w, auto xs) { return sum(vmap(last_of, in_axes<none, 0>)(w, xs)); };

/// The last c of c = w c + x, and its slope by w, in which each step counts twice.
struct by_hand {
  double value = 0;
  double slope = 0;
  void step(double w, double x) {
    slope = 2 * (value + w * slope);
    value = w * value + x;
  }
};

constexpr auto wave = [](auto x) { return sin(x) * x(0); };
constexpr auto twice = [](auto x, auto u, auto v) {
  const auto [y, pullback] = vjp(wave, x);
  const auto [z, df] = linearize(wave, x);
  const auto [d_u] = pullback(u);
  const auto [d_v] = pullback(v);
  return std::tuple(y - z, d_u + d_v, df(u), df(v), sum(u * df(v)) - sum(d_u * v));
};

}  // namespace

TEST_CASE("transformations: grad of vmap of scan of checkpoint of custom_vjp", "[transform]") {
  const tensor<f64, 2, 4> xs{{1, 2, 3, 4}, {0.5, -1, 2, 0}};
  const auto [value, slope] = value_and_grad(total)(tensor<f64>(0.75), xs);
  by_hand rows[2];
  for (int i = 0; i < 2; ++i) {
    for (int t = 0; t < 4; ++t) rows[i].step(0.75, xs(i, t));
  }
  CHECK(near(value.item(), rows[0].value + rows[1].value));
  CHECK(near(slope.item(), rows[0].slope + rows[1].slope));
  constexpr auto each = vmap(grad(last_of), in_axes<none, 0>);
  const auto slopes = jit(each)(tensor<f64>(0.75), xs);
  for (int i = 0; i < 2; ++i) CHECK(near(slopes(i), rows[i].slope));
}

TEST_CASE("transformations: a pullback and a linear map are called more than once", "[transform]") {
  using vec3 = tensor<f64, 3>;
  const vec3 x{0.5, -1, 2}, u{1, 2, 3}, v{-1, 0.5, 0};
  const auto [rest, d_both, along_u, along_v, adjoint] = jit(twice)(x, u, v);
  CHECK(array_equal(rest, vec3{}));
  CHECK(std::abs(adjoint.item()) < 1e-14);
  const auto [y, pullback] = vjp(wave, x);
  const auto [by_u] = pullback(u);
  const auto [by_v] = pullback(v);
  for (int i = 0; i < 3; ++i) CHECK(near(d_both(i), by_u(i) + by_v(i)));
}
