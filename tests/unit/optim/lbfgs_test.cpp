// SPDX-License-Identifier: MIT
#include "atled/optim/lbfgs.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/indexing.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/transform/jit.hpp"

#include "reference/optim_numbers.hpp"
#include "support/catch.hpp"
#include "support/near.hpp"
#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

namespace {

using namespace atled;

using params = std::pair<tensor<f64, 2, 3>, tensor<f64, 3>>;

/// `fit` of reference/make_optim.py.
constexpr auto fit = [](auto p) {
  const auto& [matrix, vector] = p;
  return sum(square(matmul(matrix, vector) - 1.0)) + 0.1 * sum(square(square(matrix))) +
         0.05 * sum(square(vector));
};
constexpr optim::lbfgs<3> at_rate{.learning_rate = 0.5, .line_steps = 0};
constexpr auto step_at_rate = [](auto p, auto state) { return at_rate.update(fit, p, state); };

/// Rosenbrock's valley; `scale` comes with each call.
constexpr auto valley = [](auto x, auto scale) {
  return scale * square(x(1) - square(x(0))) + square(1.0 - x(0));
};
constexpr optim::lbfgs<5> searching{};
constexpr auto step_down = [](auto x, auto state, auto scale) {
  return searching.update(valley, x, state, scale);
};

}  // namespace

TEST_CASE("lbfgs: eight steps at a fixed rate agree with Optax", "[optim]") {
  params p;
  std::copy_n(reference::start, 6, p.first.data());
  std::copy_n(reference::start + 6, 3, p.second.data());
  auto state = at_rate.init(p);
  tensor<f64> value;
  for (std::size_t t = 0; t < 8; ++t) {
    std::tie(p, state, value) = jit(step_at_rate)(p, state);
    std::array<f64, 9> flat{};
    std::copy_n(p.first.data(), 6, flat.begin());
    std::copy_n(p.second.data(), 3, flat.begin() + 6);
    INFO("step " << t);
    CHECK(near(flat, std::span(reference::lbfgs).subspan(9 * t, 9), {1e-11, 1e-12}));
  }
  CHECK(std::get<2>(state).item() == 8);
}

TEST_CASE("lbfgs: its line search leads down Rosenbrock's valley", "[optim]") {
  tensor<f64, 2> x{-1.2, 1};
  auto state = searching.init(x);
  tensor<f64> value;
  double before = 24.2;
  int made = 0;
  for (; made < 60; ++made) {
    std::tie(x, state, value) = jit(step_down)(x, state, 100.0);
    CHECK(value.item() <= before);
    before = value.item();
    if (value.item() < 1e-25) break;
  }
  CHECK(made < 45);
  CHECK(x(0) == Approx(1).epsilon(1e-10));
  CHECK(x(1) == Approx(1).epsilon(1e-10));
  // At the minimum nothing moves, and nothing becomes a NaN.
  std::tie(x, state, value) = jit(step_down)(tensor<f64, 2>{1, 1}, searching.init(x), 100.0);
  CHECK(x(0) == 1);
  CHECK(value.item() == 0);
}
