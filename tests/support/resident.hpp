// support/resident.hpp: how much memory of this process is in use.
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
