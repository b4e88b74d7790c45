// gpt/gpt.hpp: what the verbs know of a model: its sizes, its weights, and what it can do.
// Reads: gpt/config.hpp. Next: gpt/train.cpp. The models behind it: gpt/presets/.
//
// Shapes are part of types, so each size of the model is code of its own, in a translation unit of
// its own. Behind this interface the rest of the program is ordinary code, compiled once.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"
#include "atled/io/checkpoint_folder.hpp"
#include "atled/io/tokenizer.hpp"

#include "gpt/config.hpp"
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

using atled::io::token_id;

/// A weight and where it lies.
struct weight {
  std::string name;  ///< "blocks.0.mlp.in.weight"
  atled::shape dims;
  std::span<float> values;
};

/// What a step tells.
struct step_result {
  float loss = 0;
  float gradient_norm = 0;
};

/// A model of a fixed size.
///
/// `text` and `next` hold batch * context tokens, each below the vocabulary: rows of text, and for
/// each place the token that follows. Units: losses in nats a token.
class network {
 public:
  network() = default;
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  virtual ~network() = default;

  [[nodiscard]] virtual const config& sizes() const = 0;
  [[nodiscard]] virtual std::int64_t num_parameters() const = 0;
  /// What a step of one process holds beside its state, as it was planned; 0: there is no such
  /// plan. Units: bytes.
  [[nodiscard]] virtual std::int64_t peak_bytes() const { return 0; }

  /// New weights, and an optimizer before its first step: `train` needs them.
  virtual void initialize(std::int64_t seed) = 0;
  /// One step of AdamW; the loss is that before the step.
  virtual step_result train(std::span<const token_id> text, std::span<const token_id> next,
                            float rate) = 0;

  /// Brings together what losses, scores and weights are taken of, where ranks hold parts of it.
  ///
  /// Blocks until: all ranks have called it.
  virtual void settle() {}

  /// The mean loss.
  [[nodiscard]] virtual float loss(std::span<const token_id> text,
                                   std::span<const token_id> next) = 0;
  /// The scores of the token after each place of one text of at most `context` tokens:
  /// `vocabulary` numbers a place, valid until the next call.
  [[nodiscard]] virtual std::span<const float> logits(std::span<const token_id> text) = 0;

  /// Saves weights, optimizer and step, of all ranks together, into a checkpoint in a folder.
  virtual void save(const std::string& folder, std::int64_t step,
                    std::span<const atled::io::metadata_entry> metadata) = 0;
  /// Makes the state that of the newest good checkpoint; nothing where there is none. After
  /// `initialize`.
  [[nodiscard]] virtual std::optional<atled::io::loaded_checkpoint> load(
      const std::string& folder) = 0;

  /// All weights. Without `initialize` they are 0 until they are filled.
  [[nodiscard]] virtual std::vector<weight> weights() = 0;
  /// What the optimizer keeps of each weight: all first moments, then all second ones; and the
  /// number of its steps. After `initialize`.
  [[nodiscard]] virtual std::vector<weight> moments() = 0;
  [[nodiscard]] virtual std::int32_t& num_updates() = 0;
};

/// How a preset is trained unless options say otherwise. Units: rate per step.
struct recipe {
  std::int64_t steps;
  double rate;
};

/// How ranks share what is trained.
struct sharing {
  std::int64_t model = 1;   ///< ranks that share one model: its heads, columns and symbols
  std::int64_t stored = 1;  ///< ranks that keep a part each of all weights, and make them whole

  friend constexpr bool operator==(const sharing&, const sharing&) = default;
  friend constexpr auto operator<=>(const sharing&, const sharing&) = default;
};

/// A size of the model that is compiled into this program. Some sizes come twice under one name,
/// for texts of few different characters and of more; some once more for ranks that share it.
struct preset {
  std::string_view name;
  config sizes;
  gpt::recipe recipe;
  std::unique_ptr<network> (*make)();
  sharing shared = {};
};

/// Each preset whose file was linked; the order is by name, then by vocabulary,
/// then by the ranks that share it.
[[nodiscard]] std::span<const preset> presets();

/// Called by the files of presets/ before main; the result is of no use.
bool add_preset(const preset& added);

}  // namespace gpt
