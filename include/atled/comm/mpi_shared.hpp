// atled/comm/mpi_shared.hpp: ranks of one host: collectives through memory that MPI hands out.
// Reads: comm/mpi.hpp, comm/mpi_memory.hpp. Next: comm/mpi_grid.hpp, which chooses.
//
// Which call goes which way:
//   1. All of it at most `small_bytes`: it lies in the slot of its number; each rank reads all
//   slots.
//   2. Operands in `shared_buffer`s on all ranks: each rank reads, and for an all_reduce writes,
//   there.
//   3. Else in chunks that fit into caches: each rank stages what others need, combines its slice
//   of
//      the chunk in the order of the ranks, and takes what others have combined.
//   4. send and receive: MPI's.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/combine.hpp"
#include "atled/comm/communicator.hpp"
#include "atled/comm/mpi.hpp"
#include "atled/comm/mpi_memory.hpp"
#include "atled/comm/watchdog.hpp"
#include "atled/core/diagnostic.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::comm {

/// A group of ranks of one host.
///
/// A reduction combines in the order of the ranks on every path, so all ranks have the same bits.
class shared_communicator final : public communicator {
 public:
  /// `memory` holds a `detail::shared_area` for each rank of the group.
  shared_communicator(std::unique_ptr<mpi_communicator> messages,
                      std::unique_ptr<shared_segment> memory, const shared_buffers& buffers)
      : messages_(std::move(messages)),
        memory_(std::move(memory)),
        buffers_(&buffers),
        rank_(messages_->rank()),
        size_(messages_->size()) {
    for (int r = 0; r < size_; ++r) {
      areas_.push_back(reinterpret_cast<detail::shared_area*>(memory_->of(r)));
    }
    rows_.resize(static_cast<std::size_t>(size_));
  }

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view axis() const noexcept override { return messages_->axis(); }

 protected:
  [[nodiscard]] request begin(const call& c) override {
    if (is_message(c)) return {-1 - messages_->start(c).number};
    open_call& o = enter(c);
    return {o.number};
  }

  [[nodiscard]] bool advance(std::int64_t number) override {
    if (number < 0) {
      request r{-1 - number};
      return messages_->test(r);
    }
    open_call& o = record(number);
    if (o.number != number || o.is_done) return true;
    if (o.is_small) return try_small(o);
    while (!o.is_done && move_large()) {
    }
    return o.is_done;
  }

  void finish(std::int64_t number) override {
    if (number < 0) {
      request r{-1 - number};
      return messages_->wait(r);
    }
    open_call& o = record(number);
    if (o.number == number && !o.is_done) complete(o);
  }

  void begin_and_finish(const call& c) override {
    if (is_message(c)) return messages_->run(c);
    open_call& o = enter(c);
    if (!o.is_done) complete(o);
  }

 private:
  /// A call that this rank has begun.
  struct open_call {
    std::int64_t number = 0;
    call what{};
    bool is_done = true;
    bool is_small = false;
    bool is_direct = false;  // operands lie in shared buffers
    bool has_begun = false;  // large: all ranks have entered
    std::int64_t chunk = 0;  // elements of one row in a chunk
    std::int64_t num_chunks = 0;
    std::int64_t staged = 0;
    std::int64_t combined = 0;
    std::int64_t taken = 0;
  };

  [[nodiscard]] static bool is_message(const call& c) {
    return c.what == collective::send || c.what == collective::receive;
  }
  [[nodiscard]] open_call& record(std::int64_t number) { return open_[number % detail::max_open]; }
  [[nodiscard]] detail::shared_area& area(int rank) const {
    return *areas_[static_cast<std::size_t>(rank)];
  }

  /// Tells the others, with the data if it is small.
  open_call& enter(const call& c) {
    int is_finalized = 0;  // MPI has taken the memory back
    MPI_Finalized(&is_finalized);
    if (is_finalized != 0) require_mpi(messages_->group().describe(c, 0).view());
    const std::int64_t number = num_calls_ + 1;
    open_call& o = record(number);
    if (!o.is_done) complete(o);  // so the slot of 2 * max_open calls ago is read by all
    num_calls_ = number;
    messages_->group().enter(c, number);

    o.number = number;
    o.what = c;
    o.is_done = false;
    const std::int64_t bytes = elements_in(c, size_) * size_of(c.element);
    o.is_small = bytes <= detail::small_bytes;
    o.has_begun = false;

    detail::shared_slot& slot = area(rank_).slots[number % detail::num_slots];
    slot.facts = call_facts::of(c);
    if (o.is_small) {
      if (bytes > 0) std::memcpy(slot.data, c.in, static_cast<std::size_t>(bytes));
    } else {
      slot.is_in_place = c.in == c.out ? 1 : 0;
      slot.in_place_of = buffers_->place_of(c.in);
      slot.out_place_of = buffers_->place_of(c.out);
    }
    slot.number.store(number, std::memory_order_release);
    return o;
  }

  void complete(open_call& o) {
    patience wait(messages_->group(), o.what, o.number, true);
    if (o.is_small) {
      while (!try_small(o)) wait.pause();
    } else {
      while (!o.is_done) {
        if (!move_large()) wait.pause();
      }
    }
  }

  /// Whether all ranks have entered call `o.number`, and so the same call.
  ///
  /// Throws: a rank has entered another one.
  [[nodiscard]] bool have_all_entered(const open_call& o) {
    const auto at = o.number % detail::num_slots;
    for (int r = 0; r < size_; ++r) {
      if (r != rank_ && area(r).slots[at].number.load(std::memory_order_acquire) != o.number) {
        return false;
      }
    }
    const call_facts& mine = area(rank_).slots[at].facts;
    for (int r = 0; r < size_; ++r) {
      const call_facts& other = area(r).slots[at].facts;
      if (!(other == mine)) refuse_mismatch(messages_->group(), o.what, o.number, r, other);
    }
    return true;
  }

  [[nodiscard]] bool try_small(open_call& o) {
    if (!have_all_entered(o)) return false;
    const call& c = o.what;
    const auto at = o.number % detail::num_slots;
    const auto data = [&](int r) -> const std::byte* { return area(r).slots[at].data; };
    auto* out = static_cast<std::byte*>(c.out);
    const std::int64_t bytes = c.count * size_of(c.element);
    switch (c.what) {
      case collective::all_reduce:
        for (int r = 0; r < size_; ++r) rows_[static_cast<std::size_t>(r)] = data(r);
        combine_rows(c.combine, c.element, rows_.data(), size_, out, c.count);
        break;
      case collective::reduce_scatter:
        for (int r = 0; r < size_; ++r)
          rows_[static_cast<std::size_t>(r)] = data(r) + rank_ * bytes;
        combine_rows(c.combine, c.element, rows_.data(), size_, out, c.count);
        break;
      case collective::all_gather:
        for (int r = 0; r < size_; ++r) copy(out + r * bytes, data(r), bytes);
        break;
      case collective::all_to_all:
        for (int r = 0; r < size_; ++r) copy(out + r * bytes, data(r) + rank_ * bytes, bytes);
        break;
      case collective::permute:
        if (c.source >= 0) {
          copy(out, data(c.source), bytes);
        } else if (bytes > 0) {
          std::memset(out, 0, static_cast<std::size_t>(bytes));
        }
        break;
      case collective::broadcast:
        copy(out, data(c.source), bytes);
        break;
      case collective::barrier:
      case collective::send:
      case collective::receive:
        break;
    }
    o.is_done = true;

    return true;
  }

  static void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
    if (bytes > 0 && to != from) std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  /// The oldest large call that is open: chunks are counted in the order of the calls.
  [[nodiscard]] open_call* oldest_large() {
    for (std::int64_t n = std::max<std::int64_t>(1, num_calls_ - detail::max_open + 1);
         n <= num_calls_; ++n) {
      open_call& o = record(n);
      if (o.number == n && !o.is_done && !o.is_small) return &o;
    }
    return nullptr;
  }

  [[nodiscard]] bool have_all_reached(detail::shared_counter detail::shared_area::*counter,
                                      std::int64_t value) const {
    for (int r = 0; r < size_; ++r) {
      if ((area(r).*counter).value.load(std::memory_order_acquire) < value) return false;
    }
    return true;
  }
  void show(detail::shared_counter detail::shared_area::*counter, std::int64_t value) {
    (area(rank_).*counter).value.store(value, std::memory_order_release);
  }

  /// Moves the oldest large call on by at most a chunk; false if it has to wait for others.
  bool move_large() {
    open_call* const o = oldest_large();
    if (o == nullptr) return false;
    if (!o->has_begun) {
      if (!have_all_entered(*o)) return false;
      plan(*o);
      o->has_begun = true;
    }
    const bool has_moved = o->is_direct ? move_direct(*o) : move_chunks(*o);
    if (o->taken == o->num_chunks) {
      o->is_done = true;
      first_chunk_ += o->num_chunks;

      return true;
    }
    return has_moved;
  }

  /// Chooses the way; all ranks choose the same from what all have told.
  void plan(open_call& o) {
    const call& c = o.what;
    const auto at = o.number % detail::num_slots;
    o.staged = o.combined = o.taken = 0;
    o.is_direct = !buffers_->is_empty();
    for (int r = 0; r < size_ && o.is_direct; ++r) {
      const detail::shared_slot& slot = area(r).slots[at];
      if (c.what == collective::broadcast && r != c.source) continue;
      o.is_direct = slot.in_place_of >= 0 &&
                    (c.what != collective::all_reduce || slot.out_place_of >= 0) &&
                    (c.what != collective::permute || slot.is_in_place == 0);
    }
    const std::int64_t line = 64 / size_of(c.element);
    const bool has_rows = c.what == collective::reduce_scatter || c.what == collective::all_to_all;
    o.chunk = detail::chunk_bytes / size_of(c.element) / (has_rows && !o.is_direct ? size_ : 1);
    o.chunk = std::max(line, o.chunk / line * line);
    o.num_chunks = o.is_direct ? 1 : (c.count + o.chunk - 1) / o.chunk;
  }

  /// The part of `length` elements that a rank combines; it begins on a cache line.
  struct part {
    std::int64_t begin;
    std::int64_t size;
  };
  [[nodiscard]] part slice_of(int rank, std::int64_t length, dtype element) const {
    const std::int64_t line = 64 / size_of(element);
    const std::int64_t width = ((length + size_ - 1) / size_ + line - 1) / line * line;
    const std::int64_t begin = std::min(length, rank * width);
    return {begin, std::min(length - begin, width)};
  }

  bool move_chunks(open_call& o) {
    const collective what = o.what.what;
    const bool combines = what == collective::all_reduce || what == collective::reduce_scatter;
    bool has_moved = false;
    if (o.staged < o.num_chunks &&
        have_all_reached(&detail::shared_area::taken,
                         first_chunk_ + o.staged - detail::num_stages + 1)) {
      stage_chunk(o, o.staged);
      show(&detail::shared_area::staged, first_chunk_ + ++o.staged);
      if (!combines) o.combined = o.staged;
      has_moved = true;
    }
    if (combines && o.combined < o.staged &&
        have_all_reached(&detail::shared_area::staged, first_chunk_ + o.combined + 1)) {
      combine_chunk(o, o.combined);
      show(&detail::shared_area::combined, first_chunk_ + ++o.combined);
      has_moved = true;
    }
    if (o.taken < o.combined &&
        (what == collective::reduce_scatter ||
         have_all_reached(combines ? &detail::shared_area::combined : &detail::shared_area::staged,
                          first_chunk_ + o.taken + 1))) {
      take_chunk(o, o.taken);
      show(&detail::shared_area::taken, first_chunk_ + ++o.taken);
      has_moved = true;
    }
    return has_moved;
  }

  /// The bytes of chunk `index` of a row, from the row's first byte.
  [[nodiscard]] part bytes_of(const open_call& o, std::int64_t index) const {
    const std::int64_t begin = index * o.chunk;
    const std::int64_t size = std::min(o.chunk, o.what.count - begin);
    return {begin * size_of(o.what.element), size * size_of(o.what.element)};
  }
  [[nodiscard]] std::byte* stage(int rank, std::int64_t index) const {
    return area(rank).stage[(first_chunk_ + index) % detail::num_stages];
  }
  [[nodiscard]] std::byte* slice(int rank, std::int64_t index) const {
    return area(rank).slice[(first_chunk_ + index) % detail::num_stages];
  }

  /// Puts what others need of this rank's operand where they see it.
  void stage_chunk(const open_call& o, std::int64_t index) {
    const call& c = o.what;
    const auto* in = static_cast<const std::byte*>(c.in);
    const std::int64_t row = c.count * size_of(c.element);
    const part p = bytes_of(o, index);
    std::byte* const to = stage(rank_, index);
    switch (c.what) {
      case collective::all_reduce: {
        const part mine = slice_of(rank_, p.size / size_of(c.element), c.element);
        const std::int64_t begin = mine.begin * size_of(c.element);
        const std::int64_t end = begin + mine.size * size_of(c.element);
        copy(to, in + p.begin, begin);
        copy(to + end, in + p.begin + end, p.size - end);
        return;
      }
      case collective::reduce_scatter:
      case collective::all_to_all:
        for (int r = 0; r < size_; ++r) {
          if (r != rank_) copy(to + r * p.size, in + r * row + p.begin, p.size);
        }
        return;
      case collective::all_gather:
        return copy(to, in + p.begin, p.size);
      case collective::permute:
        if (c.target >= 0) copy(to, in + p.begin, p.size);
        return;
      case collective::broadcast:
        if (c.source == rank_) copy(to, in + p.begin, p.size);
        return;
      case collective::barrier:
      case collective::send:
      case collective::receive:
        return;
    }
  }

  /// Combines this rank's slice of the chunk, or of its row.
  void combine_chunk(const open_call& o, std::int64_t index) {
    const call& c = o.what;
    const auto* in = static_cast<const std::byte*>(c.in);
    auto* out = static_cast<std::byte*>(c.out);
    const part p = bytes_of(o, index);
    if (c.what == collective::reduce_scatter) {
      const std::int64_t row = c.count * size_of(c.element);
      for (int r = 0; r < size_; ++r) {
        rows_[static_cast<std::size_t>(r)] =
            r == rank_ ? in + r * row + p.begin : stage(r, index) + rank_ * p.size;
      }
      combine_rows(c.combine, c.element, rows_.data(), size_, out + p.begin,
                   p.size / size_of(c.element));
      return;
    }
    const part mine = slice_of(rank_, p.size / size_of(c.element), c.element);
    const std::int64_t begin = mine.begin * size_of(c.element);
    for (int r = 0; r < size_; ++r) {
      rows_[static_cast<std::size_t>(r)] = (r == rank_ ? in + p.begin : stage(r, index)) + begin;
    }
    combine_rows(c.combine, c.element, rows_.data(), size_, slice(rank_, index), mine.size);
    copy(out + p.begin + begin, slice(rank_, index), mine.size * size_of(c.element));
  }

  /// Takes what others have staged or combined for this rank.
  void take_chunk(const open_call& o, std::int64_t index) {
    const call& c = o.what;
    const auto* in = static_cast<const std::byte*>(c.in);
    auto* out = static_cast<std::byte*>(c.out);
    const std::int64_t row = c.count * size_of(c.element);
    const part p = bytes_of(o, index);
    for (int r = 0; r < size_; ++r) {
      switch (c.what) {
        case collective::all_reduce: {
          const part theirs = slice_of(r, p.size / size_of(c.element), c.element);
          if (r == rank_) break;
          copy(out + p.begin + theirs.begin * size_of(c.element), slice(r, index),
               theirs.size * size_of(c.element));
          break;
        }
        case collective::all_gather:
          copy(out + r * row + p.begin, r == rank_ ? in + p.begin : stage(r, index), p.size);
          break;
        case collective::all_to_all:
          copy(out + r * row + p.begin,
               r == rank_ ? in + r * row + p.begin : stage(r, index) + rank_ * p.size, p.size);
          break;
        case collective::permute:
        case collective::broadcast:
          if (r == c.source) copy(out + p.begin, stage(r, index), p.size);
          break;
        case collective::reduce_scatter:
        case collective::barrier:
        case collective::send:
        case collective::receive:
          break;
      }
    }
    if (c.what == collective::permute && c.source < 0) {
      std::memset(out + p.begin, 0, static_cast<std::size_t>(p.size));
    }
  }

  /// Operands in shared buffers: this rank's part of the work, then a wait for that of the others.
  bool move_direct(open_call& o) {
    if (o.combined == 0) {
      work_directly(o);
      o.combined = 1;
      show(&detail::shared_area::combined, first_chunk_ + 1);
      show(&detail::shared_area::staged, first_chunk_ + 1);
      show(&detail::shared_area::taken, first_chunk_ + 1);
    }
    if (!have_all_reached(&detail::shared_area::combined, first_chunk_ + 1)) return false;
    o.taken = 1;
    return true;
  }

  void work_directly(const open_call& o) {
    const call& c = o.what;
    const auto at = o.number % detail::num_slots;
    const auto in_of = [&](int r) {
      return buffers_->at(area(r).slots[at].in_place_of, messages_->group().place(r));
    };
    const auto out_of = [&](int r) {
      return buffers_->at(area(r).slots[at].out_place_of, messages_->group().place(r));
    };
    auto* out = static_cast<std::byte*>(c.out);
    const std::int64_t row = c.count * size_of(c.element);
    switch (c.what) {
      case collective::all_reduce: {
        const part mine = slice_of(rank_, c.count, c.element);
        for (std::int64_t done = 0; done < mine.size; done += o.chunk) {
          const std::int64_t count = std::min(o.chunk, mine.size - done);
          const std::int64_t offset = (mine.begin + done) * size_of(c.element);
          for (int r = 0; r < size_; ++r) rows_[static_cast<std::size_t>(r)] = in_of(r) + offset;
          combine_rows(c.combine, c.element, rows_.data(), size_, out + offset, count);
          for (int r = 0; r < size_; ++r) {
            if (r != rank_) copy(out_of(r) + offset, out + offset, count * size_of(c.element));
          }
        }
        return;
      }
      case collective::reduce_scatter:
        for (int r = 0; r < size_; ++r) rows_[static_cast<std::size_t>(r)] = in_of(r) + rank_ * row;
        return combine_rows(c.combine, c.element, rows_.data(), size_, out, c.count);
      case collective::all_gather:
        for (int r = 0; r < size_; ++r) copy(out + r * row, in_of(r), row);
        return;
      case collective::all_to_all:
        for (int r = 0; r < size_; ++r) copy(out + r * row, in_of(r) + rank_ * row, row);
        return;
      case collective::permute:
        if (c.source >= 0) return copy(out, in_of(c.source), row);
        std::memset(out, 0, static_cast<std::size_t>(row));
        return;
      case collective::broadcast:
        return copy(out, in_of(c.source), row);
      case collective::barrier:
      case collective::send:
      case collective::receive:
        return;
    }
  }

  std::unique_ptr<mpi_communicator> messages_;
  std::unique_ptr<shared_segment> memory_;
  const shared_buffers* buffers_;
  std::vector<detail::shared_area*> areas_;
  std::vector<const void*> rows_;
  open_call open_[detail::max_open];
  int rank_;
  int size_;
  std::int64_t num_calls_ = 0;
  std::int64_t first_chunk_ = 0;  // chunks of all large calls that are done
};

}  // namespace atled::comm
