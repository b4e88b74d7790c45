// atled/runtime/arena.hpp: the one block of memory in which a thread's programs work.
// Reads: nothing. It grows to the largest program's need and is kept until the thread ends.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#ifdef __linux__
#  include <sys/mman.h>
#endif

namespace atled::runtime {

/// Memory aligned for huge pages; not shared between threads.
class arena {
 public:
  arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() { std::free(memory_); }

  /// At least `bytes` bytes; what was there before is lost when it must grow.
  ///
  /// Throws: std::bad_alloc.
  [[nodiscard]] std::byte* reserve(std::int64_t bytes) {
    if (bytes <= size_) return memory_;
    constexpr std::int64_t huge_page = 2 << 20;
    const std::int64_t unit = bytes >= huge_page ? huge_page : 4096;
    const std::int64_t rounded = (bytes + unit - 1) / unit * unit;
    std::free(memory_);
    memory_ = nullptr;
    size_ = 0;
    auto* grown = static_cast<std::byte*>(
        std::aligned_alloc(static_cast<std::size_t>(unit), static_cast<std::size_t>(rounded)));
    if (grown == nullptr) throw std::bad_alloc();
#ifdef __linux__
    if (unit == huge_page) madvise(grown, static_cast<std::size_t>(rounded), MADV_HUGEPAGE);
#endif
    memory_ = grown;
    size_ = rounded;
    return memory_;
  }

 private:
  std::byte* memory_ = nullptr;
  std::int64_t size_ = 0;
};

/// The arena of the calling thread.
[[nodiscard]] inline arena& thread_arena() {
  thread_local arena own;
  return own;
}

}  // namespace atled::runtime
