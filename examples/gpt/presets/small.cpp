// gpt/presets/small.cpp: nanoGPT's configuration for characters, of 10 million parameters.
// Reads: gpt/presets/network_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/presets/network_of.hpp"

namespace gpt {
namespace {

constexpr config small{
    .layers = 6, .heads = 6, .width = 384, .context = 256, .batch = 8, .vocabulary = 65};
const bool is_added = add_preset<small>("small", {.steps = 5000, .rate = 1e-3});

}  // namespace
}  // namespace gpt
