// atled/core/large_memory.hpp: memory of large tensors, in huge pages; what was given back last is
// kept. Reads: core/config.hpp. Next: core/tensor_storage.hpp.
//
// The system clears each page that it hands out, which takes longer than most loops that fill it.
// So a result that is made in every turn of a loop should find the memory of the one before it.
// Zeros are the other way round: fresh pages are zero already, and cost nothing until they are
// touched.
// SPDX-License-Identifier: MIT
#pragma once

#if defined(__linux__)
#  include <sys/mman.h>
#  include <unistd.h>
#endif

#include "atled/core/config.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace atled {

/// Units: bytes. A page of the larger kind.
inline constexpr std::int64_t huge_page_bytes = std::int64_t{2} << 20;
/// Units: bytes. Up to so much memory of large tensors is kept after their end.
inline constexpr std::int64_t kept_memory_limit = std::int64_t{512} << 20;

namespace detail {

#if defined(__SANITIZE_ADDRESS__)
#  define ATLED_ADDRESSES_ARE_WATCHED 1
#elif defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define ATLED_ADDRESSES_ARE_WATCHED 1
#  endif
#endif

/// Blocks of memory that begin at a huge page, and the few that wait to be used again.
///
/// Invariants: a kept block is in use by nobody; the kept blocks take at most kept_memory_limit
/// bytes. One thread at a time changes them, by a lock that is held for some nanoseconds.
class large_memory {
 public:
  /// At least `bytes` bytes: zeros, or whatever was there.
  ///
  /// Throws: std::bad_alloc, when what is kept has been given back and it still is not enough.
  [[nodiscard]] void* take(std::size_t bytes, bool is_zeroed) {
    if (!is_zeroed) {
      if (void* const kept = take_kept(bytes)) return kept;
    }
    void* out = from_system(bytes, is_zeroed);
    if (out == nullptr) {
      release();
      out = from_system(bytes, is_zeroed);
    }
    if (out == nullptr) throw std::bad_alloc();
    return out;
  }
  /// Takes back what `take` gave for as many bytes.
  void give_back(void* memory, std::size_t bytes) noexcept {
    if (!is_kept(bytes)) return to_system({memory, bytes});
    while (!keep({memory, bytes})) drop_oldest();
  }
  /// Gives what is kept to the system.
  void release() noexcept {
    while (drop_oldest()) {
    }
  }

 private:
  struct block {
    void* memory;
    std::size_t bytes;
  };
  static constexpr int capacity = 16;
  static constexpr auto limit = static_cast<std::size_t>(kept_memory_limit);
  static constexpr auto alignment = static_cast<std::size_t>(huge_page_bytes);

  static constexpr bool is_kept([[maybe_unused]] std::size_t bytes) {
#if defined(ATLED_ADDRESSES_ARE_WATCHED)
    return false;  // so that the sanitizer sees who uses memory after its end
#else
    return bytes <= limit;
#endif
  }

  [[nodiscard]] void* take_kept(std::size_t bytes) noexcept {
    void* out = nullptr;
    lock();
    for (int i = count_ - 1; i >= 0; --i) {  // the last one is the likeliest to be in a cache
      if (blocks_[i].bytes != bytes) continue;
      out = blocks_[i].memory;
      forget(i);
      break;
    }
    unlock();
    return out;
  }
  /// False where it would be too much.
  [[nodiscard]] bool keep(const block& b) noexcept {
    lock();
    const bool has_room = count_ < capacity && bytes_ + b.bytes <= limit;
    if (has_room) {
      blocks_[count_++] = b;
      bytes_ += b.bytes;
    }
    unlock();
    return has_room;
  }
  /// False where none is kept. The system is called without the lock: it takes long.
  bool drop_oldest() noexcept {
    lock();
    const bool is_any = count_ > 0;
    const block oldest = blocks_[0];
    if (is_any) forget(0);
    unlock();
    if (is_any) to_system(oldest);
    return is_any;
  }
  void forget(int i) noexcept {
    bytes_ -= blocks_[i].bytes;
    --count_;
    for (; i < count_; ++i) blocks_[i] = blocks_[i + 1];
  }

#if defined(__linux__) && !defined(ATLED_ADDRESSES_ARE_WATCHED)
  /// Null if there is none.
  [[nodiscard]] static void* from_system(std::size_t bytes, bool) noexcept {
    // A huge page more than needed, then what is before and behind the aligned part goes back.
    void* const mapped = ::mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    const std::size_t before = (alignment - address % alignment) % alignment;
    char* const begin = static_cast<char*>(mapped) + before;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    if (before > 0) ::munmap(mapped, before);
    if (bytes + alignment > before + used)
      ::munmap(begin + used, bytes + alignment - before - used);
#  if defined(MADV_HUGEPAGE)
    // A wish: without it the values are right, slower. Not for the part of a page at the end.
    ::madvise(begin, bytes / alignment * alignment, MADV_HUGEPAGE);
#  endif
    return begin;
  }
  static void to_system(const block& b) noexcept {
    ::munmap(b.memory, b.bytes);
  }
#else
  [[nodiscard]] static void* from_system(std::size_t bytes, bool is_zeroed) noexcept {
    void* const out =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (out != nullptr && is_zeroed) std::memset(out, 0, bytes);
    return out;
  }
  static void to_system(const block& b) noexcept {
    std::free(b.memory);
  }
#endif

  void lock() noexcept {
    while (__atomic_test_and_set(&is_locked_, __ATOMIC_ACQUIRE)) {
    }
  }
  void unlock() noexcept {
    __atomic_clear(&is_locked_, __ATOMIC_RELEASE);
  }

  block blocks_[capacity]{};
  int count_ = 0;
  std::size_t bytes_ = 0;
  bool is_locked_ = false;
};

#undef ATLED_ADDRESSES_ARE_WATCHED

inline constinit large_memory tensor_memory;

}  // namespace detail

/// Gives memory of large tensors that are gone, kept for the next ones, back to the system.
///
/// Up to kept_memory_limit bytes are kept otherwise, which is why a loop that makes a result in
/// every turn does not wait for the system each time.
inline void release_memory() noexcept {
  detail::tensor_memory.release();
}

}  // namespace atled
