// gpt/presets/nano_128_fsdp_on_2.cpp: nano for two ranks that keep half of the state each.
// Reads: gpt/presets/shared_network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/shared_network_of.hpp"

namespace gpt {
namespace {

constexpr config nano_128{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 128};
const bool is_added = add_stored_preset<nano_128, 2>("nano", {.steps = 2000, .rate = 1e-3});

}  // namespace
}  // namespace gpt
