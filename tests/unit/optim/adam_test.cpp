// SPDX-License-Identifier: MIT
#include "atled/optim/adam.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "support/resident.hpp"
#include <cmath>
#include <memory>
#include <tuple>

namespace {

using namespace atled;

constexpr optim::adamw rule{.learning_rate = 1e-3, .beta2 = 0.95, .decay = 0.1};
constexpr auto one_step = [](auto params, auto gradients, auto state, auto rate) {
  return rule.update(params, gradients, state, rate);
};

using params = std::tuple<tensor<f64, 1, 1>, tensor<f64, 1>>;
/// A model whose members do not begin at zero.
template <class K>
struct line {
  typename K::template leaf<f64, 2> slope = tensor<f64, 2>{1, 2};
  typename K::template leaf<f64> shift = tensor<f64>(3);
  ATLED_TREE(line, slope, shift)
};

params both(double matrix, double vector) {
  return {tensor<f64, 1, 1>(matrix), tensor<f64, 1>(vector)};
}

}  // namespace

TEST_CASE("adamw: the first step by hand; vectors do not decay", "[optim]") {
  const params start = both(1, 1);
  const params gradient = both(0.1, 0.1);
  const auto step = jit([](auto p, auto g, auto state) { return rule.update(p, g, state); });
  const auto [moved, state] = step(start, gradient, optim::adamw::init(start));
  CHECK(std::get<0>(moved)(0, 0) == Approx(0.9989000001).epsilon(1e-13));
  CHECK(std::get<1>(moved)(0) == Approx(0.9990000001).epsilon(1e-13));
  CHECK(std::get<2>(state).item() == 1);
}

TEST_CASE("adamw: ten steps agree with the formulas of the paper", "[optim]") {
  params p = both(0.5, -2);
  auto state = optim::adamw::init(p);
  double theta[2] = {0.5, -2};
  double m[2]{};
  double v[2]{};
  const auto step = jit(one_step);
  for (int t = 1; t <= 10; ++t) {
    const double g[2] = {std::sin(t), std::cos(3 * t) * 100};
    const double rate = 0.01 / t;
    std::tie(p, state) = step(p, both(g[0], g[1]), state, rate);
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.95 * v[i] + 0.05 * g[i] * g[i];
      const double m_hat = m[i] / (1 - std::pow(0.9, t));
      const double v_hat = v[i] / (1 - std::pow(0.95, t));
      theta[i] -= rate * (m_hat / (std::sqrt(v_hat) + 1e-8) + (i == 0 ? 0.1 : 0) * theta[i]);
    }
  }
  CHECK(std::get<0>(p)(0, 0) == Approx(theta[0]).epsilon(1e-12));
  CHECK(std::get<1>(p)(0) == Approx(theta[1]).epsilon(1e-12));
}

TEST_CASE("adamw: the corrections keep their digits in f32", "[optim]") {
  const std::tuple start{tensor<f32, 2>{1, 2}};
  const std::tuple gradient{tensor<f32, 2>{1e-3F, -7}};
  constexpr auto slow = [](auto p, auto g, auto state) {
    return optim::adamw{.learning_rate = 1, .beta2 = 0.9999, .decay = 0}.update(p, g, state);
  };
  const auto [moved, state] = jit(slow)(start, gradient, optim::adamw::init(start));
  CHECK(near(std::get<0>(moved), tensor<f32, 2>{0.00001F, 3}, {2e-6, 2e-6}));
}

TEST_CASE("adamw: moments begin at zero, whatever the members of a struct begin with", "[optim]") {
  const auto [m, v, steps] = optim::adamw::init(line<values>{});
  for (const line<values>& moment : {m, v}) {
    CHECK((moment.slope(0) == 0 && moment.slope(1) == 0 && moment.shift.item() == 0));
  }
  CHECK(steps.item() == 0);
}

TEST_CASE("adamw: moments of large parameters take no memory before the first step", "[optim]") {
  const std::tuple<tensor<f32, 2048, 4096>> large;  // 32 MB
  const std::int64_t before = resident_bytes();
  const auto state = optim::adamw::init(large);
  if (memory_is_plain) CHECK(resident_bytes() - before < (std::int64_t{8} << 20));
  CHECK(std::get<0>(std::get<0>(state))(2047, 4095) == 0);
}

TEST_CASE("adamw: a zero gradient moves nothing but the decay", "[optim]") {
  const params start = both(2, 2);
  const auto [moved, state] = jit(one_step)(start, params{}, optim::adamw::init(start), 0.5);
  CHECK(std::get<0>(moved)(0, 0) == Approx(2 - 0.5 * 0.1 * 2));
  CHECK(std::get<1>(moved)(0) == 2);
}

TEST_CASE("adamw: a mask says what decays", "[optim]") {
  const params start = both(2, 2);
  const auto step = jit([](auto p, auto g, auto state, auto rate) {
    return rule.update(p, g, state, rate, [](const expr& leaf) { return leaf.rank() == 1; });
  });
  const auto [moved, state] = step(start, params{}, optim::adamw::init(start), 0.5);
  CHECK(std::get<0>(moved)(0, 0) == 2);
  CHECK(std::get<1>(moved)(0) == Approx(1.9));
}

TEST_CASE("adamw: f32 weights move where bf16 alone would stand still", "[optim]") {
  const auto step = jit([](auto w) {
    const expr moved = w - 6e-4;
    return std::pair(moved, astype<bf16>(moved));
  });
  tensor<f32> weight(1);
  tensor<bf16> seen;
  for (int i = 0; i < 100; ++i) std::tie(weight, seen) = step(weight);
  CHECK(weight.item() == Approx(0.94).epsilon(1e-5));
  CHECK(static_cast<float>(seen.item()) == 0.94140625F);
}

TEST_CASE("adamw: a gradient of another shape is a sentence", "[optim]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const std::tuple<expr> weight{expr(b, b.parameter({dtype::f32, shape::of({3, 4})}))};
  const std::tuple<expr> gradient{expr(b, b.parameter({dtype::f32, shape::of({4})}))};
  const auto state = optim::adamw::init(weight);
  const auto moved = rule.update(weight, gradient, state, located(0.1, {"t.cpp", 9, ""}));
  CHECK(std::get<0>(moved.first).is_poison());
  CHECK(b.problem.view() ==
        "t.cpp:9: adamw: parameter f32[3,4] and gradient f32[4]: shapes must be equal");
}
