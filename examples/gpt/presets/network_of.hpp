// gpt/presets/network_of.hpp: the model of one size behind the interface of gpt.hpp.
// Reads: gpt/model.hpp, gpt/gpt.hpp, gpt/ranks.hpp. Included once by each preset: here its programs
// are compiled.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/checkpoint.hpp"

#include "gpt/gpt.hpp"
#include "gpt/model.hpp"
#include "gpt/ranks.hpp"
#include <algorithm>
#include <optional>
#include <tuple>

namespace gpt {

/// The scores of the next token at each place: what sampling needs.
inline constexpr auto predict = [](auto model, auto text) { return model(text); };

template <config C>
class network_of final : public network {
  using batch = tensor_view<const token_id, C.batch, C.context>;
  using state_type = state<values, C>;
  using model_type = model<values, C>;

  static auto make_step(const ranks& on) {
    return shard_map(train_step_on_ranks, on, in_specs<P<>, P<"data">, P<"data">, P<>>,
                     out_specs<P<>>);
  }
  using step_type = decltype(make_step(std::declval<const ranks&>()));

 public:
  [[nodiscard]] const config& sizes() const override {
    static constexpr config sizes = C;
    return sizes;
  }
  [[nodiscard]] std::int64_t num_parameters() const override {
    return nn::num_parameters<model_type>();
  }
  [[nodiscard]] std::int64_t peak_bytes() const override {
    return step_type::template program<state_type&&, const batch&, const batch&,
                                       float&>::peak_bytes;
  }

  void initialize(std::int64_t seed) override { state_.emplace(initial_state<C>(seed)); }

  step_result train(std::span<const token_id> text, std::span<const token_id> next,
                    float rate) override {
    const step_type step = make_step(devices());
    const batch x(text);
    const batch y(next);
    metrics<values> result;
    std::tie(*state_, result) = step(std::move(*state_), x, y, rate);
    return {result.loss.item(), result.gradient_norm.item()};
  }

  [[nodiscard]] float loss(std::span<const token_id> text,
                           std::span<const token_id> next) override {
    constexpr auto loss_of = jit(gpt::loss);
    return loss_of(current(), batch(text), batch(next)).item();
  }

  [[nodiscard]] std::span<const float> logits(std::span<const token_id> text) override {
    constexpr auto scores = jit(predict);
    tensor<token_id, 1, C.context> padded;  // no place sees a later one: what follows is free
    std::copy_n(text.begin(), std::min(text.size(), padded.span().size()), padded.begin());
    logits_ = scores(current(), padded);
    return std::as_const(logits_).span().first(text.size() * std::size_t{C.vocabulary});
  }

  void save(const std::string& folder, std::int64_t step,
            std::span<const atled::io::metadata_entry> metadata) override {
    (void)atled::io::save_checkpoint(folder, *state_, devices(), step, metadata);
  }
  [[nodiscard]] std::optional<atled::io::loaded_checkpoint> load(
      const std::string& folder) override {
    return atled::io::load_checkpoint(folder, *state_, devices());
  }

  [[nodiscard]] std::vector<weight> weights() override {
    std::vector<weight> out;
    append_leaves(out, current());
    return out;
  }
  [[nodiscard]] std::vector<weight> moments() override {
    std::vector<weight> out;
    append_leaves(out, std::get<0>(state_->optimizer));
    append_leaves(out, std::get<1>(state_->optimizer));
    return out;
  }
  [[nodiscard]] std::int32_t& num_updates() override {
    return *std::get<2>(state_->optimizer).data();
  }

 private:
  template <class Tree>
  static void append_leaves(std::vector<weight>& out, Tree& tree) {
    for_each_named_leaf(
        [&](std::string_view name, auto& leaf) {
          out.push_back({std::string(name), leaf.type.dims, leaf.span()});
        },
        tree);
  }

  /// The weights, whether there is an optimizer or not.
  model_type& current() {
    if (state_) return state_->model;
    if (!model_) model_.emplace();
    return *model_;
  }

  std::optional<state_type> state_;
  std::optional<model_type> model_;
  tensor<f32, 1, C.context, C.vocabulary> logits_ =
      tensor<f32, 1, C.context, C.vocabulary>::uninitialized();
};

/// Makes a size known to the verbs: `const bool is_added = add_preset<nano>("nano", {2000, 1e-3});`
template <config C>
bool add_preset(std::string_view name, const recipe& training) {
  return add_preset({name, C, training, []() -> std::unique_ptr<network> {
                       return std::make_unique<network_of<C>>();
                     }});
}

}  // namespace gpt
