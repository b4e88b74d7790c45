// bench/run_time/gpt_step/measured.hpp: the three programs of a GPT of one size.
// Reads: gpt/model.hpp, gpt_step/preset.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"

#include "gpt/model.hpp"
#include "run_time/gpt_step/preset.hpp"
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace bench {

/// The loss and its gradient, which takes over the memory of the previous one.
inline constexpr auto loss_and_gradient = [](auto model, [[maybe_unused]] auto previous, auto text,
                                             auto next) {
  return atled::value_and_grad(gpt::loss)(model, text, next);
};

template <gpt::config C>
class measured final : public preset {
  using batch = atled::tensor_view<const std::int32_t, C.batch, C.context>;
  using state_type = gpt::state<atled::values, C>;
  using model_type = gpt::model<atled::values, C>;

  // The programs that the calls below run; `&&` marks an argument that is given up.
  template <class F, class... Args>
  using program = typename atled::jit_function<std::remove_const_t<F>>::template program<Args...>;

  using forward = program<decltype(gpt::loss), model_type, batch, batch>;
  using gradient = program<decltype(loss_and_gradient), model_type, model_type&&, batch, batch>;
  using step = program<decltype(gpt::train_step), state_type&&, batch, batch, float>;

  template <class Program>
  [[nodiscard]] static constexpr program_facts facts_of() {
    return {Program::num_steps,  Program::num_kernels, Program::arena_bytes,
            Program::peak_bytes, Program::flops,       Program::bytes_moved};
  }

 public:
  [[nodiscard]] const gpt::config& sizes() const override {
    static constexpr gpt::config sizes = C;
    return sizes;
  }

  [[nodiscard]] program_facts facts(part p) const override {
    switch (p) {
      case part::forward:
        return facts_of<forward>();
      case part::gradient:
        return facts_of<gradient>();
      case part::step:
        return facts_of<step>();
    }
    __builtin_unreachable();
  }

  float run(part p, std::span<const std::int32_t> text,
            std::span<const std::int32_t> next) override {
    const batch x(text);
    const batch y(next);
    switch (p) {
      case part::forward:
        return atled::jit(gpt::loss)(state_.model, x, y).item();
      case part::gradient: {
        if (!gradient_) gradient_.emplace();
        atled::tensor<float> loss;
        std::tie(loss, *gradient_) =
            atled::jit(loss_and_gradient)(state_.model, std::move(*gradient_), x, y);
        return loss.item();
      }
      case part::step: {
        const float rate = 1e-3f;
        gpt::metrics<atled::values> metrics;
        std::tie(state_, metrics) = atled::jit(gpt::train_step)(std::move(state_), x, y, rate);
        return metrics.loss.item();
      }
    }
    __builtin_unreachable();
  }

 private:
  state_type state_ = gpt::initial_state<C>(1337);
  std::optional<model_type> gradient_;
};

template <gpt::config C>
std::unique_ptr<preset> make_measured() {
  return std::make_unique<measured<C>>();
}

}  // namespace bench
