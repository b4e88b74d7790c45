// gpt/embedded_sources.hpp: the headers of atled as text, for training without a file.
// The definition is made by the build: embed_sources.cmake.
// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

namespace gpt {

/// One text a header, in the order of their paths.
[[nodiscard]] std::span<const std::string_view> embedded_sources();

}  // namespace gpt
