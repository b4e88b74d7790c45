// gpt/presets/small_128.cpp: small for texts of 66 to 128 different characters.
// Reads: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/network_of.hpp"

namespace gpt {
namespace {

constexpr config small_128{
    .layers = 6, .heads = 6, .width = 384, .context = 256, .batch = 8, .vocabulary = 128};
const bool is_added = add_preset<small_128>("small", {.steps = 5000, .rate = 1e-3});

}  // namespace
}  // namespace gpt
