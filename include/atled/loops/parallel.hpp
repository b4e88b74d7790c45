// atled/loops/parallel.hpp: runs numbered pieces of work, on several threads where OpenMP is on.
// Reads: nothing. The pieces depend on shapes alone, so results do not depend on the threads.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace atled::loops {

/// Calls `piece(context, i)` for i in [0, count); a function pointer, so that this is one code.
inline void for_each_piece(void (*piece)(const void*, std::int64_t), const void* context,
                           std::int64_t count, [[maybe_unused]] int threads) {
#ifdef _OPENMP
  if (threads > 1 && count > 1) {
#  pragma omp parallel for num_threads(threads) schedule(static)
    for (std::int64_t i = 0; i < count; ++i) piece(context, i);
    return;
  }
#endif
  for (std::int64_t i = 0; i < count; ++i) piece(context, i);
}

}  // namespace atled::loops
