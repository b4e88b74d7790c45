// gpt/presets/nano_128.cpp: nano for texts of 66 to 128 different characters.
// Reads: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/network_of.hpp"

namespace gpt {
namespace {

constexpr config nano_128{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = 128};
const bool is_added = add_preset<nano_128>("nano", {.steps = 2000, .rate = 1e-3});

}  // namespace
}  // namespace gpt
