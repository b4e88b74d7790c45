// bench/run_time/gpt_step/gpt2.cpp: GPT-2 of 124 million parameters, with a short context.
// Reads: gpt_step/measured.hpp. The sizes are those of examples/gpt/presets/gpt2.cpp.
// SPDX-License-Identifier: MIT
#include "run_time/gpt_step/measured.hpp"

namespace bench {
namespace {

constexpr gpt::config gpt2{
    .layers = 12, .heads = 12, .width = 768, .context = 64, .batch = 4, .vocabulary = 50304};
const bool is_added = add_preset("gpt2", make_measured<gpt2>);

}  // namespace
}  // namespace bench
