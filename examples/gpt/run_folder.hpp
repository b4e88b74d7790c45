// gpt/run_folder.hpp: the folder that a run leaves: its weights with all that is needed to use
// them. Reads: gpt/gpt.hpp, atled/io/safetensors.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/io/fingerprint.hpp"

#include "gpt/gpt.hpp"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpt {

/// The preset for a text of so many different characters: the one of least vocabulary that holds
/// them, for ranks that share it so.
///
/// Throws: no preset has that name, with the one it may have meant; none is shared so; none
/// of them holds so many characters.
[[nodiscard]] const preset& find_preset(std::string_view name, std::size_t characters,
                                        std::string_view text_name, const sharing& shared = {});

/// What is stored beside the weights.
struct provenance {
  std::int64_t steps = 0;
  std::int64_t seed = 0;
  std::string data;
  atled::io::fingerprint fingerprint;
};

/// Weights that can be used.
struct loaded_model {
  const gpt::preset* preset;
  std::unique_ptr<network> model;
  atled::io::character_tokenizer tokenizer;
  provenance from;
};

/// A folder with `weights.safetensors`, `metrics.jsonl` and checkpoints.
class run_folder {
 public:
  explicit run_folder(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] std::string weights_path() const { return path_ + "/weights.safetensors"; }
  [[nodiscard]] std::string metrics_path() const { return path_ + "/metrics.jsonl"; }

  /// Makes the folder if need be, and removes the checkpoints of a run that is replaced.
  ///
  /// Throws: it cannot be written; it holds a run, which is neither replaced nor taken up.
  void prepare(bool overwrite, bool resume) const;

  /// Replaces the weights in one step. Throws: they cannot be written; the old file is then as it
  /// was.
  void save(const preset& of, network& model, const atled::io::character_tokenizer& tokenizer,
            const provenance& from) const;

  /// Saves all that training needs to go on, and the weights for the other verbs. All ranks call
  /// it.
  void save_all(const preset& of, network& model, const atled::io::character_tokenizer& tokenizer,
                const provenance& from) const;

  /// Takes up the run: the state of `model` becomes that of the newest good checkpoint,
  /// `from.steps` its step, and the log ends there. What was noticed is returned, a sentence each.
  /// All ranks call it.
  ///
  /// Throws: there is no checkpoint; all are damaged; preset, seed or data are not those of the
  /// run.
  [[nodiscard]] std::vector<std::string> resume(const preset& of, network& model,
                                                provenance& from) const;

  /// Throws: there are no weights; they are damaged, of another preset than `wanted`, or of a size
  /// that this program does not have.
  [[nodiscard]] loaded_model load(const std::optional<std::string>& wanted) const;

 private:
  std::string path_;
};

/// The folder that options name, or that of the preset.
[[nodiscard]] run_folder folder_of(const std::optional<std::string>& out,
                                   const std::optional<std::string>& preset);

}  // namespace gpt
