// gpt/progress.hpp: the line on standard error that shows how a run goes.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpt/verbs.hpp"
#include <cstdint>
#include <optional>
#include <string>

namespace gpt {

/// What is known after a step. Units: losses in nats a token; rates in 1/s.
struct progress_state {
  std::int64_t step;
  std::int64_t steps;
  double loss;
  double tokens_per_s;
  double mfu;                             ///< of 1; below 0 where no peak is known
  std::optional<double> validation_loss;  ///< the last one
};

/// Rewrites one line on a terminal, some times a second; else writes a line now and then.
class progress_line {
 public:
  progress_line();
  ~progress_line() { end_line(); }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  /// `is_milestone`: this step is shown in any case, and its line stays.
  void show(const progress_state& now, bool is_milestone);
  /// So that other text can follow.
  void end_line();

 private:
  [[nodiscard]] std::string text_of(const progress_state& now) const;

  clock::time_point start_ = clock::now();
  clock::time_point last_shown_{};
  bool is_terminal_;
  bool is_line_open_ = false;
};

/// `1 h 02 min`, `3 min 20 s`, `12 s`. Units: seconds.
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace gpt
