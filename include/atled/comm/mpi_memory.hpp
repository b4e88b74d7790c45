// atled/comm/mpi_memory.hpp: memory that all ranks of a host see, and how a group of them lays it
// out. Reads: comm/mpi.hpp. Next: comm/mpi_shared.hpp, the collectives in it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/mpi.hpp"
#include "atled/comm/mpi_engine.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

namespace atled::comm {

/// A piece of memory for each rank of a group, which all of them see; zeros at first.
///
/// Freed together with the others of its group, unless MPI has ended before.
class shared_segment {
 public:
  /// Blocks until: all ranks of the group have called it.
  /// Throws: MPI has no such memory.
  shared_segment(MPI_Comm comm, std::int64_t bytes) {
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    void* mine = nullptr;
    check_mpi(MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes + alignment), 1, MPI_INFO_NULL,
                                      comm, static_cast<void*>(&mine), &window_),
              "mesh: shared memory");
    for (int r = 0; r < size; ++r) {
      MPI_Aint length = 0;
      int unit = 0;
      void* first = nullptr;
      check_mpi(MPI_Win_shared_query(window_, r, &length, &unit, static_cast<void*>(&first)),
                "mesh: shared memory");
      // The pieces follow each other, so each starts at its own distance from a cache line; the
      // distance is the same in all processes, which map whole pages.
      const auto at = reinterpret_cast<std::uintptr_t>(first);
      pieces_.push_back(static_cast<std::byte*>(first) + -at % 64);
    }
    std::memset(pieces_[static_cast<std::size_t>(rank)], 0, static_cast<std::size_t>(bytes));
    check_mpi(MPI_Barrier(comm), "mesh: shared memory");
  }
  shared_segment(const shared_segment&) = delete;
  shared_segment& operator=(const shared_segment&) = delete;
  ~shared_segment() {
    int is_finalized = 0;
    MPI_Finalized(&is_finalized);
    if (is_finalized == 0) MPI_Win_free(&window_);
  }

  [[nodiscard]] std::byte* of(int rank) const { return pieces_[static_cast<std::size_t>(rank)]; }

 private:
  static constexpr std::int64_t alignment = 64;

  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<std::byte*> pieces_;
};

/// Memory of a mesh that the ranks of its host see: where a pointer lies in it, on each rank.
class shared_buffers {
 public:
  void add(std::shared_ptr<shared_segment> segment, int me, std::int64_t bytes) {
    entries_.push_back({std::move(segment), me, bytes});
  }

  /// A number that means the same on all ranks: entry and offset; -1 outside.
  [[nodiscard]] std::int64_t place_of(const void* pointer) const {
    const auto at = reinterpret_cast<std::uintptr_t>(pointer);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto first = reinterpret_cast<std::uintptr_t>(entries_[i].segment->of(entries_[i].me));
      if (at < first || at >= first + static_cast<std::uintptr_t>(entries_[i].bytes)) continue;
      return (static_cast<std::int64_t>(i) << 48) + static_cast<std::int64_t>(at - first);
    }
    return -1;
  }
  [[nodiscard]] std::byte* at(std::int64_t place, int host_rank) const {
    const auto& found = entries_[static_cast<std::size_t>(place >> 48)];
    return found.segment->of(host_rank) + (place & ((std::int64_t{1} << 48) - 1));
  }
  [[nodiscard]] bool is_empty() const noexcept { return entries_.empty(); }

 private:
  struct entry {
    std::shared_ptr<shared_segment> segment;
    int me;  // the rank of this process in the segment
    std::int64_t bytes;
  };
  std::vector<entry> entries_;
};

namespace detail {

/// Units: bytes. Calls up to this size go through slots.
inline constexpr std::int64_t small_bytes = 16384;
/// Units: bytes. A chunk and what is combined of it stay in the cache of a core.
inline constexpr std::int64_t chunk_bytes = 262144;
/// Chunks that a rank may be ahead of the slowest.
inline constexpr int num_stages = 2;
/// Calls that may be open at once; twice as many slots make a slot free when its turn comes.
inline constexpr int max_open = 8;
inline constexpr int num_slots = 2 * max_open;

/// One call as a rank tells it to the others; what is small follows at once, in the same line.
struct alignas(64) shared_slot {
  std::atomic<std::int64_t> number;  // of the call; written last
  call_facts facts;
  std::int32_t is_in_place;
  std::int64_t in_place_of;  // of the operand and the result in shared buffers, or -1
  std::int64_t out_place_of;
  std::byte data[small_bytes];
};

struct alignas(64) shared_counter {
  std::atomic<std::int64_t> value;
};

/// What one rank of a group shows to the others. Chunks are counted through all calls.
struct shared_area {
  shared_counter staged;    // chunks that lie in `stage`
  shared_counter combined;  // chunks whose slice of this rank lies in `slice`
  shared_counter taken;     // chunks this rank needs no more from anybody
  shared_slot slots[num_slots];
  alignas(64) std::byte stage[num_stages][chunk_bytes];
  alignas(64) std::byte slice[num_stages][chunk_bytes];
};

}  // namespace detail

}  // namespace atled::comm
