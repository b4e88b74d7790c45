// gpt/dry_run.hpp: what a training step would need on a mesh that is not here: bytes, messages,
// time. Reads: gpt/config.hpp. Next: gpt/dry_run.cpp. The formulae with their sources:
// docs/ranks.md. SPDX-License-Identifier: MIT
#pragma once

#include "gpt/config.hpp"
#include <cstdint>
#include <string>
#include <string_view>

namespace gpt {

/// A mesh that need not be here: how many ranks there are along each axis.
struct planned_mesh {
  std::int64_t data = 1;          ///< they share the rows of a step
  std::int64_t fsdp = 1;          ///< so do they, and each keeps a part of the state
  std::int64_t model = 1;         ///< they share heads, the wide axis of the mlp, and symbols
  std::int64_t pipe = 1;          ///< they share the layers
  std::int64_t microbatches = 8;  ///< of a pipeline

  [[nodiscard]] constexpr std::int64_t ranks() const { return data * fsdp * model * pipe; }
};

/// Speeds. Units: floating-point operations a second of a rank; bytes a second of a link.
struct planned_speeds {
  double flops = 0;
  double link = 0;
};

/// What one rank holds and sends in a step. Units: bytes, seconds.
struct step_plan {
  double parameters = 0, gradients = 0, optimizer = 0;
  double activations = 0;
  double data = 0, fsdp = 0, model = 0, pipe = 0;  ///< sent along each axis
  double flops = 0;
  double bubble = 0;  ///< the part of the time in which a rank of a pipeline waits

  [[nodiscard]] constexpr double sent() const { return data + fsdp + model + pipe; }
  /// The time where all is sent behind the computation, and where nothing is.
  [[nodiscard]] constexpr double least_seconds(const planned_speeds& s) const {
    const double work = flops / s.flops / (1 - bubble);
    return work > sent() / s.link ? work : sent() / s.link;
  }
  [[nodiscard]] constexpr double most_seconds(const planned_speeds& s) const {
    return flops / s.flops / (1 - bubble) + sent() / s.link;
  }
};

/// `data=512,model=2`: axes data, fsdp, model, pipe, each once; microbatches with pipe.
///
/// Throws: another axis, or one twice; no number.
[[nodiscard]] planned_mesh parse_planned_mesh(std::string_view text);

/// The plan of a step of `sizes`, whose `batch` is that of one rank.
///
/// `peak` is what the program of one process holds beside its state. Units: bytes.
/// Throws: heads, symbols or layers are not divisible.
[[nodiscard]] step_plan plan_step(const config& sizes, const planned_mesh& mesh, double peak);

/// The plan as a table.
[[nodiscard]] std::string to_text(const step_plan& plan, const config& sizes,
                                  const planned_mesh& mesh, const planned_speeds& speeds);

}  // namespace gpt
