// gpt/pipeline_of.hpp: the model of one size on a pipeline of ranks.
// Reads: gpt/model.hpp, gpt/pipeline.hpp, gpt/ranks.hpp. Included by the presets that have one.
//
// The first stage embeds, the last one has the head, which is the token table again: all ranks hold
// these ends, and the gradients of both uses are summed.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/pipeline.hpp"
#ifdef ATLED_WITH_MPI
#  include "atled/mpi.hpp"
#endif

#include "gpt/model.hpp"
#include "gpt/pipeline.hpp"
#include "gpt/ranks.hpp"
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

namespace gpt {

/// What all ranks of a pipeline hold alike.
template <class K, config C>
struct model_ends {
  nn::embedding<K, f32, C.vocabulary, C.width> tokens;
  nn::embedding<K, f32, C.context, C.width> positions;
  nn::layer_norm<K, f32, C.width> norm;
  ATLED_TREE(model_ends, tokens, positions, norm)
};

inline constexpr auto embed_text = [](auto ends, auto text) {
  return ends.tokens(text) + slice_in_dim(ends.positions.weight, 0, text.dim(1));
};
inline constexpr auto apply_block = [](auto block, auto x) { return block(x); };
inline constexpr auto loss_of_last = [](auto ends, auto x, auto next) {
  return nn::cross_entropy(ends.tokens.as_head(ends.norm(x)), next);
};

/// What a rank trains: the ends, and the blocks of its stages.
template <class K, config C, std::size_t Count>
struct pipeline_weights {
  model_ends<K, C> ends;
  std::array<std::array<block<K, C>, Count>, 1> blocks;
  ATLED_TREE(pipeline_weights, ends, blocks)
};
template <class K, config C, std::size_t Count>
struct pipeline_state {
  pipeline_weights<K, C, Count> weights;
  optim::adam_state<pipeline_weights<K, C, Count>, typename K::template leaf<i32>> moments;
  ATLED_TREE(pipeline_state, weights, moments)
};

/// One step of AdamW, and the norm of the gradient of all ranks.
inline constexpr auto update_pipeline = [](auto state, auto gradient, auto rate) {
  const auto clipped = optim::clip_by_global_norm(gradient, 1.0);
  std::tie(state.weights, state.moments) =
      optimizer.update(state.weights, clipped, state.moments, rate);
  return std::pair(state, optim::global_norm(gradient));
};

template <config C, int Ranks, int Microbatches>
class pipeline_of final : public network {
  using devices_type = mesh<axis<"pipe", Ranks>>;
  using step_type = decltype(pipeline<Microbatches>(
      embed_text, apply_block, loss_of_last, std::declval<const devices_type&>(), axis<"pipe">,
      of_layers<static_cast<int>(C.layers)>));
  static constexpr auto count = static_cast<std::size_t>(step_type::most_layers);
  using weights_type = pipeline_weights<values, C, count>;
  using state_type = pipeline_state<values, C, count>;
  static_assert(C.batch * Ranks % Microbatches == 0,
                "gpt: the rows of all ranks must divide into microbatches");
  using rows = tensor<token_id, Microbatches, C.batch * Ranks / Microbatches, C.context>;

 public:
  explicit pipeline_of(std::unique_ptr<network> whole) : whole_(std::move(whole)) {}

  [[nodiscard]] const config& sizes() const override { return whole_->sizes(); }
  [[nodiscard]] std::int64_t num_parameters() const override { return whole_->num_parameters(); }
  [[nodiscard]] std::int64_t peak_bytes() const override { return whole_->peak_bytes(); }

  void initialize(std::int64_t seed) override {
    whole_->initialize(seed);
    state_.emplace();
    move_state(true);
  }

  step_result train(std::span<const token_id> text, std::span<const token_id> next,
                    float rate) override {
    const rows x = of_all_ranks(text);
    const rows y = of_all_ranks(next);
    auto [value, d_ends, d_blocks] = step_(state_->weights.ends, state_->weights.blocks, x, y);
    weights_type gradient{std::move(d_ends), std::move(d_blocks)};
    constexpr auto both = each<P<>, P<"pipe">>;
    const auto update =
        shard_map(update_pipeline, devices_, in_specs<each<both, each<both, both, P<>>>, both, P<>>,
                  out_specs<each<both, each<both, both, P<>>>, P<>>);
    tensor<f32> norm;
    std::tie(*state_, norm) = update(std::move(*state_), std::move(gradient), rate);
    return {value.item(), norm.item()};
  }

  void settle() override {
    auto all = whole_->weights();
    move(state_->weights, all, false);
  }

  void save(const std::string& folder, std::int64_t step,
            std::span<const atled::io::metadata_entry> metadata) override {
    move_state(false);
    whole_->save(folder, step, metadata);
  }
  [[nodiscard]] std::optional<atled::io::loaded_checkpoint> load(
      const std::string& folder) override {
    auto found = whole_->load(folder);
    if (found) move_state(true);
    return found;
  }

  [[nodiscard]] float loss(std::span<const token_id> text,
                           std::span<const token_id> next) override {
    return whole_->loss(text, next);
  }
  [[nodiscard]] std::span<const float> logits(std::span<const token_id> text) override {
    return whole_->logits(text);
  }
  [[nodiscard]] std::vector<weight> weights() override { return whole_->weights(); }
  [[nodiscard]] std::vector<weight> moments() override { return whole_->moments(); }
  [[nodiscard]] std::int32_t& num_updates() override { return whole_->num_updates(); }

 private:
  std::unique_ptr<network> whole_;  // in it all layers are evaluated and saved
#ifdef ATLED_WITH_MPI
  devices_type devices_{MPI_COMM_WORLD};
#else
  devices_type devices_;
#endif
  step_type step_ = pipeline<Microbatches>(embed_text, apply_block, loss_of_last, devices_,
                                           axis<"pipe">, of_layers<static_cast<int>(C.layers)>);
  std::optional<state_type> state_;

  /// The rows that each rank has drawn, one after the other.
  [[nodiscard]] rows of_all_ranks(std::span<const token_id> mine) const {
    auto out = rows::uninitialized();
    constexpr tensor_type type{dtype::i32, shape::of({C.batch, C.context})};
    devices_.ranks().along(0).all_gather(mine.data(), out.data(), type.dims.size(), type.element,
                                         {call_site::here().in("train"), type});
    return out;
  }

  /// Copies from leaves of the whole model, or to them: both are in the same order.
  template <class Tree>
  static void move_leaves(Tree& tree, std::span<weight> whole, std::size_t& at, bool is_in) {
    for_each_leaf(
        [&](auto& leaf) {
          const std::span<float> other = whole[at++].values;
          float* const own = leaf.data();
          std::memcpy(is_in ? own : other.data(), is_in ? other.data() : own, other.size_bytes());
        },
        tree);
  }

  /// Cuts this rank's part out of the leaves of a whole model, or brings all parts together there.
  void move(weights_type& part, std::span<weight> whole, bool is_in) {
    auto all = std::make_unique<std::array<block<values, C>, std::size_t{C.layers}>>();
    if (!is_in) step_.gather(part.blocks, *all);
    std::size_t at = 0;
    move_leaves(part.ends.tokens, whole, at, is_in);
    move_leaves(part.ends.positions, whole, at, is_in);
    move_leaves(*all, whole, at, is_in);
    move_leaves(part.ends.norm, whole, at, is_in);
    if (is_in) part.blocks = step_.cut(*all);
  }
  void move_state(bool is_in) {
    auto weights = whole_->weights();
    auto moments = whole_->moments();
    auto& [first, second, updates] = state_->moments;
    move(state_->weights, weights, is_in);
    move(first, std::span(moments).first(weights.size()), is_in);
    move(second, std::span(moments).subspan(weights.size()), is_in);
    if (is_in) {
      *updates.data() = whole_->num_updates();
    } else {
      whole_->num_updates() = *updates.data();
    }
  }
};

/// `const bool is_piped = add_pipeline<nano, 2, 8>();`
template <config C, int Ranks, int Microbatches>
bool add_pipeline() {
  return add_pipeline(
      {C, Ranks, Microbatches, [](std::unique_ptr<network> whole) -> std::unique_ptr<network> {
         return std::make_unique<pipeline_of<C, Ranks, Microbatches>>(std::move(whole));
       }});
}

}  // namespace gpt
