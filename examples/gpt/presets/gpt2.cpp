// gpt/presets/gpt2.cpp: GPT-2 of 124 million parameters, with a short context.
// Reads: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/network_of.hpp"

namespace gpt {
namespace {

constexpr config gpt2{
    .layers = 12, .heads = 12, .width = 768, .context = 64, .batch = 4, .vocabulary = 50304};
const bool is_added = add_preset<gpt2>("gpt2", {.steps = 2000, .rate = 6e-4});

}  // namespace
}  // namespace gpt
