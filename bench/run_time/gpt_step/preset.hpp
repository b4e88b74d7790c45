// bench/run_time/gpt_step/preset.hpp: a GPT of one size as gpt_step.cpp sees it.
// Reads: gpt/config.hpp. Next: gpt_step/measured.hpp, which is compiled once for each size.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpt/config.hpp"
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace bench {

/// What is timed: the loss; the loss and its gradient; both, the clip and AdamW.
enum class part { forward, gradient, step };
inline constexpr part all_parts[] = {part::forward, part::gradient, part::step};

[[nodiscard]] constexpr std::string_view name_of(part p) {
  switch (p) {
    case part::forward:
      return "forward";
    case part::gradient:
      return "forward_backward";
    case part::step:
      return "step";
  }
  __builtin_unreachable();
}

/// What is known of a program when it has been built. Units: bytes; operations of one call.
struct program_facts {
  std::int64_t steps, kernels, arena_bytes, peak_bytes, flops, bytes_moved;
};

class preset {
 public:
  preset() = default;
  preset(const preset&) = delete;
  preset& operator=(const preset&) = delete;
  virtual ~preset() = default;

  [[nodiscard]] virtual const gpt::config& sizes() const = 0;
  [[nodiscard]] virtual program_facts facts(part p) const = 0;
  /// Runs a part on B rows of T tokens and their continuations, and gives the loss.
  virtual float run(part p, std::span<const std::int32_t> text,
                    std::span<const std::int32_t> next) = 0;
};

struct preset_entry {
  std::string_view name;
  std::unique_ptr<preset> (*make)();
};

/// All sizes that are part of this program.
[[nodiscard]] std::vector<preset_entry>& presets();

/// Makes a size known: `const bool is_added = add_preset("nano", make_measured<nano>);`.
[[nodiscard]] inline bool add_preset(std::string_view name, std::unique_ptr<preset> (*make)()) {
  presets().push_back({name, make});
  return true;
}

}  // namespace bench
