// Optimizers and schedules against Optax, in one compiled program: optim_numbers.hpp.
// SPDX-License-Identifier: MIT
#include "atled/optim/adafactor.hpp"
#include "atled/optim/adam.hpp"
#include "atled/optim/adaptive.hpp"
#include "atled/optim/average.hpp"
#include "atled/optim/clip.hpp"
#include "atled/optim/combine.hpp"
#include "atled/optim/lamb.hpp"
#include "atled/optim/lion.hpp"
#include "atled/optim/muon.hpp"
#include "atled/optim/schedules.hpp"
#include "atled/optim/sgd.hpp"
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
namespace reference = atled::reference;

using params = std::pair<tensor<f64, 2, 3>, tensor<f64, 3>>;
constexpr int steps = 5;
// Optax takes the powers of adafactor in f32: so no narrower than 1e-8.

constexpr auto clipped = [](auto g) { return optim::clip_by_global_norm(g, 0.5); };
constexpr auto by_value = [](auto g) { return optim::clip_by_value(g, 0.5); };

constexpr std::tuple rules{
    optim::sgd{.learning_rate = 0.1},
    optim::momentum{.learning_rate = 0.1},
    optim::momentum{.learning_rate = 0.1, .is_nesterov = true},
    optim::adam{.learning_rate = 0.1},
    optim::adamw{.learning_rate = 0.1, .decay = 0.3},
    optim::adagrad{.learning_rate = 0.1},
    optim::rmsprop{.learning_rate = 0.1},
    optim::lion{.learning_rate = 0.1, .decay = 0.3},
    optim::lamb{.learning_rate = 0.1, .decay = 0.3},
    optim::adafactor{.learning_rate = 0.1},
    optim::muon{.learning_rate = 0.1},
    optim::chain(clipped, optim::adam{.learning_rate = 0.1}),
    optim::chain(by_value, optim::sgd{.learning_rate = 0.1}),
    optim::lookahead(optim::momentum{.learning_rate = 0.1}, 2),
    optim::apply_if_finite(optim::adam{.learning_rate = 0.1}, 3),
};
constexpr std::size_t num_rules = std::tuple_size_v<decltype(rules)>;
constexpr std::array expected{
    std::span<const f64>(reference::sgd),      std::span<const f64>(reference::momentum),
    std::span<const f64>(reference::nesterov), std::span<const f64>(reference::adam),
    std::span<const f64>(reference::adamw),    std::span<const f64>(reference::adagrad),
    std::span<const f64>(reference::rmsprop),  std::span<const f64>(reference::lion),
    std::span<const f64>(reference::lamb),     std::span<const f64>(reference::adafactor),
    std::span<const f64>(reference::muon),     std::span<const f64>(reference::clipped),
    std::span<const f64>(reference::by_value), std::span<const f64>(reference::lookahead),
    std::span<const f64>(reference::finite),
};

constexpr optim::ema moving_average{.decay = 0.9};

/// One step of each rule at its own rate; the last one sees other gradients.
constexpr auto step_all = [](auto all, auto gradients, auto broken, auto states, auto mean) {
  const auto one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    const auto& g = I + 1 == num_rules ? broken : gradients;
    return std::get<I>(rules).update(std::get<I>(all), g, std::get<I>(states));
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto next = moving_average.update(mean, gradients);
    return std::tuple(std::pair(moving_average.value(next), next),
                      one(std::integral_constant<std::size_t, I>{})...);
  }
  (std::make_index_sequence<num_rules>{});
};

params tree_of(std::span<const f64> flat) {
  params out;
  std::ranges::copy(flat.subspan(0, 6), out.first.data());
  std::ranges::copy(flat.subspan(6, 3), out.second.data());
  return out;
}
std::array<f64, 9> flat_of(const params& tree) {
  std::array<f64, 9> out{};
  std::ranges::copy(tree.first.span(), out.begin());
  std::ranges::copy(tree.second.span(), out.begin() + 6);
  return out;
}

}  // namespace

TEST_CASE("optimizers: five steps of each agree with Optax", "[reference][optim]") {
  const params start = tree_of(reference::start);
  std::array<params, num_rules> all;
  all.fill(start);
  auto states = std::apply([&](auto... rule) { return std::tuple(rule.init(start)...); }, rules);
  auto mean = moving_average.init(start);
  const auto step = jit(step_all);
  for (std::size_t t = 0; t < steps; ++t) {
    const params g = tree_of(std::span(reference::gradients).subspan(9 * t, 9));
    params broken = g;
    if (t == 1) broken.first(1, 1) = std::numeric_limits<f64>::quiet_NaN();
    if (t == 2) broken.first(0, 0) = std::numeric_limits<f64>::infinity();
    const auto out = step(all, g, broken, states, mean);
    INFO("step " << t);
    CHECK(near(flat_of(std::get<0>(out).first), std::span(reference::ema).subspan(9 * t, 9),
               {1e-12, 1e-13}));
    mean = std::get<0>(out).second;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto check = [&](std::size_t i, const auto& moved, auto& state) {
        INFO("rule " << i);
        CHECK(near(flat_of(moved.first), expected[i].subspan(9 * t, 9), {1e-8, 1e-9}));
        all[i] = moved.first;
        state = moved.second;
      };
      (check(I, std::get<I + 1>(out), std::get<I>(states)), ...);
    }
    (std::make_index_sequence<num_rules>{});
  }
}

namespace {

constexpr std::tuple schedules{
    optim::linear_rate{.from = 1, .to = 0.1, .length = 40, .begin = 5},
    optim::cosine_rate{.from = 1, .to = 0.1, .length = 50},
    optim::exponential_rate{.from = 1, .factor = 0.5, .length = 10},
    optim::polynomial_rate{.from = 1, .to = 0.1, .power = 2, .length = 40, .begin = 5},
    optim::one_cycle{.peak = 1, .length = 100, .end_factor = 25e4},
    optim::join(optim::linear_rate{.from = 0, .to = 1, .length = 10}, 10,
                optim::constant_rate{.rate = 1}, 49, optim::cosine_rate{.from = 1, .length = 50}),
};
constexpr std::array rates{
    std::span<const f64>(reference::linear),    std::span<const f64>(reference::cosine),
    std::span<const f64>(reference::decayed),   std::span<const f64>(reference::polynomial),
    std::span<const f64>(reference::one_cycle), std::span<const f64>(reference::joined),
};
constexpr auto traced_rates = [](auto step) {
  return std::apply([&](auto... schedule) { return std::array{schedule(step)...}; }, schedules);
};

}  // namespace

TEST_CASE("schedules: rates agree with Optax, on the host and in a program", "[reference][optim]") {
  const auto traced = jit(traced_rates);
  for (std::size_t i = 0; i < std::size(reference::schedule_steps); ++i) {
    const int step = reference::schedule_steps[i];
    INFO("step " << step);
    const auto host = std::apply([&](auto... s) { return std::array{s(step)...}; }, schedules);
    const auto in_program = traced(step);
    for (std::size_t s = 0; s < rates.size(); ++s) {
      INFO("schedule " << s);
      CHECK(host[s] == Approx(rates[s][i]).epsilon(1e-6).margin(1e-7));
      CHECK(static_cast<double>(in_program[s].item()) ==
            Approx(rates[s][i]).epsilon(1e-5).margin(1e-6));
    }
  }
}
