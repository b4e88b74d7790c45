// support/resident.hpp: how much memory of this process is in use, and whether that tells anything.
// Reads: nothing. Linux only: elsewhere it is 0.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <fstream>
#include <unistd.h>

/// Units: bytes.
[[nodiscard]] inline std::int64_t resident_bytes() {
  std::int64_t total = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Under a sanitizer of addresses memory is neither reused nor left untouched.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool memory_is_plain = false;
#elif defined(__has_feature)
inline constexpr bool memory_is_plain = !__has_feature(address_sanitizer);
#else
inline constexpr bool memory_is_plain = true;
#endif
