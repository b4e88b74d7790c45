// atled/core/config.hpp: the version, and what differs between compilers.
// Reads: nothing. Next: core/dtype.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#define ATLED_VERSION_MAJOR 0
#define ATLED_VERSION_MINOR 1
#define ATLED_VERSION_PATCH 0

#if !defined(__GNUC__) && !defined(__clang__)
#  error "atled needs g++ 12 or clang 14 or newer: its SIMD layer uses their vector extensions"
#endif

#if __cplusplus < 202002L
#  error "atled needs C++20: compile with -std=c++20"
#endif

/// Inlines a function whatever the optimizer thinks: kernels are built from hundreds of tiny ones.
#define ATLED_INLINE [[gnu::always_inline]] inline
