// gpt/options.hpp: what the command line says.
// Next: gpt/options.cpp, where the names and the limits of the options stand.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gpt {

enum class verb { train, sample, eval };

/// How many ranks there are along each axis of the mesh.
struct mesh_sizes {
  std::int64_t data = 0;   ///< they share the rows of a step; 0: as many as `model` leaves
  std::int64_t model = 1;  ///< they share the heads, the wide axis of the mlp and the symbols
};

/// Options of all verbs; what is not given and depends on the preset is empty.
struct options {
  gpt::verb verb = gpt::verb::train;
  std::optional<std::string> preset;
  std::optional<std::string> data;
  std::optional<std::string> out;
  std::optional<std::int64_t> steps;
  std::optional<double> rate;
  std::optional<double> peak_gflops;
  std::int64_t pipe = 0;  ///< ranks of a pipeline; 0: none
  std::optional<std::int64_t> microbatches;
  std::optional<std::string> prompt;
  std::optional<mesh_sizes> mesh;
  bool fsdp = false;  ///< ranks along data keep a part each of weights and optimizer
  std::int64_t seed = 1337;
  std::int64_t threads = 0;  ///< 0: as many as OpenMP would take
  std::int64_t eval_every = 250;
  std::int64_t tokens = 500;
  std::int64_t top_k = 0;  ///< 0: all
  double top_p = 1;
  double temperature = 0.8;
  std::optional<std::string> dry_run;  ///< axes of a mesh
  std::optional<double> gflops;
  std::optional<double> link_gbytes;
  bool overwrite = false;
  bool resume = false;
  std::optional<std::string> help;  ///< asked for: this text, and nothing is to be done
};

/// Reads the command line.
///
/// Throws: an unknown verb or option, with the one it may have meant; an option twice; a value out
/// of its limits.
[[nodiscard]] options parse_options(int argc, const char* const* argv);

}  // namespace gpt
