// gpt/presets/nano.cpp: nanoGPT's configuration for a laptop: minutes on one core.
// Reads: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/network_of.hpp"

namespace gpt {
namespace {

constexpr config nano{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 65};
static_assert(nn::num_parameters<model<values, nano>>() == 809'856);

const bool is_added = add_preset<nano>("nano", {.steps = 2000, .rate = 1e-3});

}  // namespace
}  // namespace gpt
