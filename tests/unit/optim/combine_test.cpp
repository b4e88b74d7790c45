// SPDX-License-Identifier: MIT
#include "atled/optim/combine.hpp"

#include "atled/optim/clip.hpp"
#include "atled/optim/mask.hpp"
#include "atled/optim/schedules.hpp"
#include "atled/optim/sgd.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include <memory>
#include <tuple>

namespace {

using namespace atled;

using params = std::pair<tensor<f32, 1, 2>, tensor<f32, 2>>;

constexpr optim::sgd slow{.learning_rate = 0.5};
constexpr optim::momentum fast{.learning_rate = 1, .decay = 0.5};
constexpr auto matrices = optim::masked(fast, optim::rank_at_least<2>{});
constexpr auto both = optim::partition(optim::rank_at_least<2>{}, fast, slow);
constexpr optim::multi_steps<optim::sgd> every_second{slow, 2};

constexpr auto step_all = [](auto p, auto g, auto states, auto tokens) {
  const auto& [masked_state, both_state, sum_state] = states;
  return std::tuple(matrices.update(p, g, masked_state), both.update(p, g, both_state),
                    both.update(p, g, both_state, 2.0),
                    every_second.update(p, g, tokens, sum_state));
};
constexpr auto clipped = [](auto tree) {
  return std::pair(optim::clip_by_value(tree, 1.5), optim::clip_by_norm(tree, 5.0));
};

}  // namespace

TEST_CASE("masked, partition, multi_steps: two steps by hand", "[optim]") {
  const params start{{1, 2}, {3, 4}};
  const params g{{1, -1}, {2, 4}};
  const auto step = jit(step_all);
  const auto states = std::tuple(matrices.init(start), both.init(start), every_second.init(start));
  const auto [masked, two, at_rate, held] = step(start, g, states, 2);

  CHECK(masked.first.first(0, 0) == 0);
  CHECK(masked.first.first(0, 1) == 3);
  CHECK(masked.first.second(1) == 4);  // outside the mask
  CHECK(two.first.first(0, 0) == 0);
  CHECK(two.first.second(1) == 2);       // 4 - 0.5 * 4
  CHECK(at_rate.first.second(1) == -4);  // 4 - 2 * 4
  CHECK(held.first.first(0, 0) == 1);    // the first of two calls
  CHECK(std::get<2>(held.second).item() == 1);

  const auto next = std::tuple(masked.second, two.second, held.second);
  const params more{{4, 0}, {8, 0}};
  const auto [masked2, two2, at_rate2, made] = step(start, more, next, 8);
  CHECK(masked2.first.first(0, 0) == 1 - 4.5F);  // the momentum of the first step
  CHECK(made.first.first(0, 0) == 0.75F);        // 1 - 0.5 (1 + 4) / (2 + 8)
  CHECK(made.first.second(1) == 3.8F);           // 4 - 0.5 (4 + 0) / 10
  CHECK(std::get<1>(made.second).second.item() == 0);
  CHECK(std::get<2>(made.second).item() == 0);
}

TEST_CASE("clip_by_value, clip_by_norm: each element, each leaf", "[optim]") {
  const auto [by_value, by_norm] = jit(clipped)(params{{-2, 1}, {6, 8}});
  CHECK(by_value.first(0, 0) == -1.5F);
  CHECK(by_value.first(0, 1) == 1);
  CHECK(by_value.second(1) == 1.5F);
  CHECK(by_norm.first(0, 0) == -2);
  CHECK(by_norm.second(0) == 3);
  CHECK(by_norm.second(1) == 4);
}

TEST_CASE("wsd: a rise, a plain, a fall", "[optim]") {
  constexpr optim::wsd rate{.peak = 2, .floor = 1, .warmup = 10, .decay = 20, .length = 100};
  CHECK(rate(0) == 0);
  CHECK(rate(5) == 1);
  CHECK(rate(10) == 2);
  CHECK(rate(80) == 2);
  CHECK(rate(90) == 1.5);
  CHECK(rate(200) == 1);
}

TEST_CASE("rules: a gradient of another shape is a sentence on the user's line", "[optim]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const std::tuple<expr> weight{expr(b, b.parameter({dtype::f32, shape::of({3, 4})}))};
  const std::tuple<expr> gradient{expr(b, b.parameter({dtype::f32, shape::of({4})}))};
  const auto moved = slow.update(weight, gradient, std::tuple<>{}, located(0.1, {"t.cpp", 9, ""}));
  CHECK(std::get<0>(moved.first).is_poison());
  CHECK(b.problem.view() ==
        "t.cpp:9: sgd: parameter f32[3,4] and gradient f32[4]: shapes must be equal");
}
