// gpt/pipeline.hpp: presets whose layers lie on one rank after the other: --pipe, --microbatches.
// Reads: gpt/gpt.hpp. Next: gpt/pipeline_of.hpp, the training step; gpt/presets/nano_pipe.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpt/gpt.hpp"
#include <memory>

namespace gpt {

/// A way to train the preset of these sizes: its layers on so many ranks, in microbatches of
/// batch * ranks / microbatches rows.
struct pipeline_entry {
  config sizes;
  int ranks;
  int microbatches;
  std::unique_ptr<network> (*make)(std::unique_ptr<network> whole);
};

/// Called by the files of presets/ before main; the result is of no use.
bool add_pipeline(const pipeline_entry& added);

/// The preset on a pipeline.
///
/// Throws: another number of ranks runs; this program holds no such pipeline of the preset.
[[nodiscard]] std::unique_ptr<network> make_pipeline(const preset& of, std::int64_t num_stages,
                                                     std::int64_t microbatches);

}  // namespace gpt
