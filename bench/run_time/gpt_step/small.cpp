// bench/run_time/gpt_step/small.cpp: 10 million parameters, characters.
// Reads: gpt_step/measured.hpp. The sizes are those of examples/gpt/presets/small.cpp.
// SPDX-License-Identifier: MIT
#include "run_time/gpt_step/measured.hpp"

namespace bench {
namespace {

constexpr gpt::config small{
    .layers = 6, .heads = 6, .width = 384, .context = 256, .batch = 8, .vocabulary = 65};
const bool is_added = add_preset("small", make_measured<small>);

}  // namespace
}  // namespace bench
