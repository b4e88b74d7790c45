// bench/run_time/gpt_step/nano.cpp: 0.8 million parameters, characters.
// Reads: gpt_step/measured.hpp. The sizes are those of examples/gpt/presets/nano.cpp.
// SPDX-License-Identifier: MIT
#include "run_time/gpt_step/measured.hpp"

namespace bench {
namespace {

constexpr gpt::config nano{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 65};
const bool is_added = add_preset("nano", make_measured<nano>);

}  // namespace
}  // namespace bench
