// gpt/presets/nano_pipe.cpp: nano with its layers on two ranks, in 8 microbatches.
// Reads: gpt/pipeline_of.hpp.
// SPDX-License-Identifier: MIT
#include "gpt/pipeline_of.hpp"

namespace gpt {
namespace {

template <std::int64_t Vocabulary>
constexpr config nano_of{
    .layers = 4, .heads = 4, .width = 128, .context = 64, .batch = 12, .vocabulary = Vocabulary};

[[maybe_unused]] const bool is_added = add_pipeline<nano_of<65>, 2, 8>();
[[maybe_unused]] const bool is_added_128 = add_pipeline<nano_of<128>, 2, 8>();

}  // namespace
}  // namespace gpt
