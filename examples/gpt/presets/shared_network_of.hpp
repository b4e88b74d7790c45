// gpt/presets/shared_network_of.hpp: the model of one size, of which each rank has a part.
// Reads: gpt/model.hpp, gpt/gpt.hpp, gpt/ranks.hpp. Included once by each preset of several ranks:
// here its training step is compiled.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/mpi.hpp"
#include "atled/transform/device_put.hpp"
#include "atled/transform/sharded.hpp"

#include "gpt/gpt.hpp"
#include "gpt/model.hpp"
#include "gpt/ranks.hpp"
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

namespace gpt {

/// Each rank trains what the policy gives it of the state: with `on<Grid>` its heads, its columns
/// and its symbols; with `on<Grid, "data">` a part of all, which is made whole to be used. What
/// measures, samples and saves is the whole model, which `settle` and `save` fill.
template <config C, class Grid, class Policy>
class shared_network_of final : public network {
  using batch = tensor_view<const token_id, C.batch, C.context>;

 public:
  explicit shared_network_of(std::unique_ptr<network> whole) : whole_(std::move(whole)) {}

  [[nodiscard]] const config& sizes() const override { return whole_->sizes(); }
  [[nodiscard]] std::int64_t num_parameters() const override { return whole_->num_parameters(); }

  void initialize(std::int64_t seed) override {
    whole_->initialize(seed);
    take_whole();
  }

  step_result train(std::span<const token_id> text, std::span<const token_id> next,
                    float rate) override {
    const auto step =
        jit(train_step, devices_, in_specs<none, P<"data">, P<"data">, P<>>, out_specs<none, P<>>);
    const batch x(text);
    const batch y(next);
    metrics<Policy> result;
    std::tie(*state_, result) = step(std::move(*state_), x, y, rate);
    return {result.loss.item(), result.gradient_norm.item()};
  }

  void settle() override {
    const auto weights = device_get(state_->model, devices_);
    copy_leaves(weights, whole_->weights());
  }

  [[nodiscard]] float loss(std::span<const token_id> text,
                           std::span<const token_id> next) override {
    return whole_->loss(text, next);
  }
  [[nodiscard]] std::span<const float> logits(std::span<const token_id> text) override {
    return whole_->logits(text);
  }
  void save(const std::string& folder, std::int64_t step,
            std::span<const atled::io::metadata_entry> metadata) override {
    const auto all = device_get(*state_, devices_);
    const auto& [first, second, count] = all.optimizer;
    copy_leaves(all.model, whole_->weights());
    copy_leaves(std::tie(first, second), whole_->moments());
    whole_->num_updates() = count.item();
    whole_->save(folder, step, metadata);
  }
  [[nodiscard]] std::optional<atled::io::loaded_checkpoint> load(
      const std::string& folder) override {
    auto found = whole_->load(folder);
    if (found) take_whole();
    return found;
  }

  [[nodiscard]] std::vector<weight> weights() override { return whole_->weights(); }
  [[nodiscard]] std::vector<weight> moments() override { return whole_->moments(); }
  [[nodiscard]] std::int32_t& num_updates() override { return whole_->num_updates(); }

 private:
  static void copy(std::span<const float> from, std::span<float> to) {
    std::copy(from.begin(), from.end(), to.begin());
  }
  template <class Tree>
  static void copy_leaves(const Tree& from, const std::vector<weight>& to) {
    std::size_t at = 0;
    for_each_leaf([&](const auto& leaf) { copy(leaf.span(), to[at++].values); }, from);
  }
  template <class Tree>
  static void copy_leaves(const std::vector<weight>& from, Tree&& to) {
    std::size_t at = 0;
    for_each_leaf([&](auto& leaf) { copy(from[at++].values, leaf.span()); }, to);
  }
  /// This rank's blocks of the whole state.
  void take_whole() {
    state<values, C> all;
    auto& [first, second, count] = all.optimizer;
    copy_leaves(whole_->weights(), all.model);
    copy_leaves(whole_->moments(), std::tie(first, second));
    *count.data() = whole_->num_updates();
    state_ = device_put<Policy>(all, devices_);
  }

  Grid devices_{MPI_COMM_WORLD};
  std::unique_ptr<network> whole_;
  std::optional<state<Policy, C>> state_;
};

/// Makes a size known to the verbs once more, for ranks that share it. The same size for one rank
/// must be there too.
template <config C, class Grid, class Policy>
bool add_shared(std::string_view name, const recipe& training, const sharing& shared) {
  return add_preset({name, C, training,
                     []() -> std::unique_ptr<network> {
                       for (const preset& item : presets()) {
                         if (item.sizes == C && item.shared == sharing{}) {
                           return std::make_unique<shared_network_of<C, Grid, Policy>>(item.make());
                         }
                       }
                       throw error("gpt: the preset for one rank is not in this program");
                     },
                     shared});
}
/// `--mesh model=2`: tensor parallel.
template <config C, std::int64_t Model>
bool add_shared_preset(std::string_view name, const recipe& training) {
  using grid = mesh<axis<"data">, axis<"model", Model>>;
  return add_shared<C, grid, on<grid>>(name, training, {.model = Model});
}
/// `--fsdp` on so many ranks: fully sharded.
template <config C, std::int64_t Data>
bool add_stored_preset(std::string_view name, const recipe& training) {
  using grid = mesh<axis<"data", Data>, axis<"model", 1>>;
  return add_shared<C, grid, on<grid, "data">>(name, training, {.stored = Data});
}

}  // namespace gpt
