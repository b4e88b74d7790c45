// gpt/verbs.hpp: what the program can do.
// Reads: gpt/options.hpp. Next: gpt/train.cpp, gpt/sample.cpp, gpt/eval.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "gpt/options.hpp"
#include <chrono>

namespace gpt {

using clock = std::chrono::steady_clock;

/// Each does what the options say. Throws: atled::error, a sentence for the user.
///
/// `start` is when the program began, for the time to the first step.
void train(const options& given, clock::time_point start);
void sample(const options& given);
void eval(const options& given);

}  // namespace gpt
