// gpt/pipeline.cpp: the pipelines that are part of the program.
// Reads: gpt/pipeline.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/pipeline.hpp"

#include "atled/io/file.hpp"

#include "gpt/ranks.hpp"
#include <string>
#include <vector>

namespace gpt {
namespace {

std::vector<pipeline_entry>& known() {
  static std::vector<pipeline_entry> all;
  return all;
}

}  // namespace

bool add_pipeline(const pipeline_entry& added) {
  known().push_back(added);
  return true;
}

std::unique_ptr<network> make_pipeline(const preset& of, std::int64_t num_stages,
                                       std::int64_t microbatches) {
  const std::string given = std::to_string(num_stages) + " ranks, " + std::to_string(microbatches) +
                            " microbatches of " + std::string(of.name);
  std::string held;
  for (const pipeline_entry& entry : known()) {
    if (!(entry.sizes == of.sizes)) continue;
    if (entry.ranks != num_stages || entry.microbatches != microbatches) {
      held += (held.empty() ? "" : "; ") + std::string("--pipe ") + std::to_string(entry.ranks) +
              " --microbatches " + std::to_string(entry.microbatches);
      continue;
    }
    if (num_ranks() != num_stages) {
      atled::io::refuse("--pipe", "train", given,
                        "it must be started on as many ranks, not " + std::to_string(num_ranks()) +
                            ": mpiexec -n " + std::to_string(num_stages));
    }
    return entry.make(of.make());
  }
  atled::io::refuse("--pipe", "train", given,
                    "it must be a pipeline that is part of this program: " +
                        (held.empty() ? "this preset has none" : held));
}

}  // namespace gpt
