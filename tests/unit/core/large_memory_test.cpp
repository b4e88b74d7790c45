// unit/core/large_memory_test.cpp: what is kept, and that zeros are zeros.
// Reads: atled/core/large_memory.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/large_memory.hpp"

#include "support/catch.hpp"
#include "support/resident.hpp"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

using atled::detail::large_memory;

constexpr std::size_t mega = std::size_t{1} << 20;

bool is_zero(const void* memory, std::size_t bytes) {
  const auto* const begin = static_cast<const unsigned char*>(memory);
  return std::all_of(begin, begin + bytes, [](unsigned char x) { return x == 0; });
}

}  // namespace

TEST_CASE("large_memory: blocks begin at a huge page and hold what they should", "[core]") {
  large_memory memory;
  for (const std::size_t bytes : {2 * mega, 2 * mega + 4, 5 * mega - 1, 6 * mega + 4100}) {
    void* const block = memory.take(bytes, true);
    CHECK(reinterpret_cast<std::uintptr_t>(block) % atled::huge_page_bytes == 0);
    CHECK(is_zero(block, bytes));
    std::memset(block, 1, bytes);
    memory.give_back(block, bytes);
  }
  memory.release();
}

TEST_CASE("large_memory: zeros are zeros also after a block of that size was used", "[core]") {
  large_memory memory;
  void* const used = memory.take(3 * mega, false);
  std::memset(used, 7, 3 * mega);
  memory.give_back(used, 3 * mega);
  void* const zeros = memory.take(3 * mega, true);
  CHECK(is_zero(zeros, 3 * mega));
  memory.give_back(zeros, 3 * mega);
  memory.release();
}

TEST_CASE("large_memory: a block goes to the next one who asks for its size, once", "[core]") {
  if (!memory_is_plain) return;
  large_memory memory;
  void* const first = memory.take(3 * mega, false);
  memory.give_back(first, 3 * mega);
  void* const other_size = memory.take(4 * mega, false);
  void* const second = memory.take(3 * mega, false);
  void* const third = memory.take(3 * mega, false);
  CHECK(other_size != first);
  CHECK(second == first);
  CHECK(third != first);
  memory.give_back(other_size, 4 * mega);
  memory.give_back(second, 3 * mega);
  memory.give_back(third, 3 * mega);
  memory.release();
}

TEST_CASE("large_memory: what is kept is bounded in bytes and in number", "[core]") {
  if (!memory_is_plain) return;
  large_memory memory;
  const auto limit = static_cast<std::size_t>(atled::kept_memory_limit);
  const std::int64_t before = resident_bytes();
  std::vector<void*> blocks;
  for (int i = 0; i < 40; ++i) blocks.push_back(memory.take(4 * mega, false));
  for (void* const block : blocks) {
    std::memset(block, 1, 4 * mega);
    memory.give_back(block, 4 * mega);
  }
  CHECK(resident_bytes() - before < std::int64_t{80} * std::int64_t{mega});  // 16 of them are kept
  memory.give_back(memory.take(limit + 1, false), limit + 1);                // untouched: no pages
  memory.release();
  CHECK(resident_bytes() - before < std::int64_t{8} * std::int64_t{mega});
}

TEST_CASE("large_memory: where the system has no more, what is kept is given back first",
          "[core]") {
  if (!memory_is_plain) return;
  large_memory memory;
  memory.give_back(memory.take(400 * mega, false), 400 * mega);  // untouched, but kept
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit all{};
  ::getrlimit(RLIMIT_AS, &all);
  const rlimit little{pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + 64 * mega,
                      all.rlim_max};
  ::setrlimit(RLIMIT_AS, &little);
  void* block = nullptr;
  bool is_enough = true;
  try {
    block = memory.take(300 * mega, false);
    (void)memory.take(900 * mega, false);
  } catch (const std::bad_alloc&) {
    is_enough = false;
  }
  ::setrlimit(RLIMIT_AS, &all);
  CHECK(block != nullptr);
  CHECK(!is_enough);
  if (block != nullptr) memory.give_back(block, 300 * mega);
  memory.release();
}

TEST_CASE("large_memory: threads never share a block", "[core]") {
  large_memory memory;
  std::vector<int> mistakes(4);
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&memory, &mistakes, id] {
      for (int turn = 0; turn < 200; ++turn) {
        auto* const block = static_cast<int*>(memory.take(2 * mega, turn % 8 == 0));
        *block = id;
        std::this_thread::yield();
        if (*block != id) ++mistakes[static_cast<std::size_t>(id)];
        memory.give_back(block, 2 * mega);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::count(mistakes.begin(), mistakes.end(), 0) == 4);
  memory.release();
}
