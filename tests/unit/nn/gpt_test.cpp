// The model of examples/gpt, as a user of nn/ and optim/.
// SPDX-License-Identifier: MIT
#include "gpt/model.hpp"
#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

namespace {

using namespace atled;

constexpr gpt::config nano{4, 4, 128, 64, 12, 65};
constexpr gpt::config tiny{2, 2, 16, 8, 4, 11};

static_assert(nn::num_parameters<gpt::model<values, nano>>() == 809'856);

tensor<i32, 4, 8> counting(int start) {
  tensor<i32, 4, 8> out;
  for (std::int64_t i = 0; i < 32; ++i) {
    out.data()[i] = static_cast<i32>((start + i % 8 + i / 8 * 3) % 11);
  }
  return out;
}

}  // namespace

TEST_CASE("gpt: an untrained model is as wrong as a guess, and learns to count", "[nn]") {
  auto step = jit(gpt::train_step);
  auto state = gpt::initial_state<tiny>(0);
  const auto text = counting(0);
  const auto next = counting(1);
  float first = 0;
  float last = 0;
  for (int i = 0; i < 40; ++i) {
    auto [moved, metrics] = step(std::move(state), text, next, 1e-2F);
    state = std::move(moved);
    last = metrics.loss;
    if (i == 0) first = last;
  }
  CHECK(first == Approx(std::log(11.0)).margin(0.05));
  CHECK(last < 0.8F);
  CHECK(std::get<2>(state.optimizer).item() == 40);
}

TEST_CASE("gpt: a place sees no later one", "[nn]") {
  const auto model = nn::init<gpt::model<values, tiny>>(random::key(1));
  const auto run = jit([](auto net, auto in) { return net(in); });
  auto text = counting(0);
  const auto before = run(model, text);
  text(0, 5) = (text(0, 5) + 1) % 11;
  const auto after = run(model, text);
  for (std::int64_t t = 0; t < 8; ++t) {
    bool is_same = true;
    for (std::int64_t v = 0; v < 11; ++v) is_same = is_same && before(0, t, v) == after(0, t, v);
    CHECK(is_same == (t < 5));
  }
}
