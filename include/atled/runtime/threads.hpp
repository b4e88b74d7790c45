// atled/runtime/threads.hpp: how many threads a program may use; the one file that includes omp.h.
// Reads: nothing. Results never depend on this number.
// SPDX-License-Identifier: MIT
#pragma once

#ifdef _OPENMP
#  include <omp.h>
#endif

namespace atled {

/// Threads that a program called from this thread uses: OpenMP's number, 1 without OpenMP.
[[nodiscard]] inline int num_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

/// Sets the number for programs called from this thread; without OpenMP nothing happens.
inline void set_num_threads([[maybe_unused]] int count) {
#ifdef _OPENMP
  omp_set_num_threads(count < 1 ? 1 : count);
#endif
}

}  // namespace atled
