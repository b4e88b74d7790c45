// atled/comm/mpi.hpp: a group of ranks that are MPI's, by its non-blocking calls.
// Reads: comm/mpi_engine.hpp, comm/watchdog.hpp. Next: comm/mpi_shared.hpp, for ranks of one host.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/communicator.hpp"
#include "atled/comm/mpi_engine.hpp"
#include "atled/comm/watchdog.hpp"
#include "atled/core/diagnostic.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace atled::comm {

/// What must be the same on all ranks of a collective.
struct call_facts {
  collective what{};
  reduction combine{};
  dtype element{};
  int source = -1;
  std::int64_t count = 0;

  [[nodiscard]] static call_facts of(const call& c) {
    const bool has_source = c.what == collective::broadcast;
    return {c.what, c.combine, c.element, has_source ? c.source : -1, c.count};
  }
  friend bool operator==(const call_facts&, const call_facts&) = default;
};

/// Throws that rank `member` is in another call than this one.
[[noreturn]] inline void refuse_mismatch(const watched_group& group, const call& c,
                                         std::int64_t number, int member, const call_facts& other) {
  text out = group.describe(c, number);
  out << ", " << c.where.type << ": rank " << group.mesh_rank(member) << " is in "
      << name_of(other.what);
  if (other.what == collective::all_reduce || other.what == collective::reduce_scatter) {
    out << " (" << name_of(other.combine) << ')';
  }
  if (other.source >= 0) out << " from rank " << other.source;
  out << " of " << other.count << ' ' << name_of(other.element) << ", this rank of " << c.count
      << ' ' << name_of(c.element);
  throw error(out << ": every rank must enter the same");
}

/// A group of ranks by MPI alone.
///
/// All calls are non-blocking ones that are polled, so that a wait can end. Counts beyond an int
/// are sent in pieces.
class mpi_communicator final : public communicator {
 public:
  mpi_communicator(owned_comm comm, watched_group group, const mpi_options& options,
                   const mpi_reductions& reductions)
      : comm_(std::move(comm)),
        group_(std::move(group)),
        options_(options),
        reductions_(&reductions) {
    check_mpi(MPI_Comm_set_errhandler(comm_.get(), MPI_ERRORS_RETURN), "mesh");
    MPI_Comm_rank(comm_.get(), &rank_);
    MPI_Comm_size(comm_.get(), &size_);
  }

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string_view axis() const noexcept override { return group_.axis(); }
  [[nodiscard]] watched_group& group() noexcept { return group_; }
  [[nodiscard]] MPI_Comm handle() const noexcept { return comm_.get(); }

 protected:
  [[nodiscard]] request begin(const call& c) override {
    require_mpi(group_.describe(c, 0).view());
    const bool is_message = c.what == collective::send || c.what == collective::receive;
    const std::int64_t number = is_message ? ++num_messages_ : ++num_collectives_;
    group_.enter(c, number);
    if (options_.compare_calls && !is_message) compare(c, number);

    pending& p = free_record();
    p.id = ++last_id_;
    p.number = number;
    p.what = c;
    p.requests.clear();
    post(p);
    return {p.id};
  }

  [[nodiscard]] bool advance(std::int64_t id) override {
    pending* p = find(id);
    return p == nullptr || look(*p);
  }

  void finish(std::int64_t id) override {
    pending* p = find(id);
    if (p == nullptr) return;
    patience wait(group_, p->what, p->number, false);
    while (!look(*p)) wait.pause();
  }

 private:
  struct pending {
    std::int64_t id = 0;  // 0: free
    std::int64_t number = 0;
    call what{};
    std::vector<MPI_Request> requests;
    std::vector<std::byte> copy;  // of an operand that the result overwrites
  };

  static constexpr int tag_message = 0;
  static constexpr int tag_piece = 1;

  [[nodiscard]] pending& free_record() {
    for (pending& p : pending_) {
      if (p.id == 0) return p;
    }
    return pending_.emplace_back();
  }
  [[nodiscard]] pending* find(std::int64_t id) {
    for (pending& p : pending_) {
      if (p.id == id) return &p;
    }
    return nullptr;
  }

  /// Whether all is done; frees the record then.
  [[nodiscard]] bool look(pending& p) {
    bool is_done = true;
    for (MPI_Request& r : p.requests) {
      if (r == MPI_REQUEST_NULL) continue;
      int flag = 0;
      check(MPI_Test(&r, &flag, MPI_STATUS_IGNORE), p);
      if (flag == 0) is_done = false;
    }
    if (is_done) p.id = 0;
    return is_done;
  }

  /// The sentence names the line, the axis, and this rank.
  void check(int status, const pending& p) {
    if (status == MPI_SUCCESS) return;
    const call& c = p.what;
    text out = group_.describe(c, 0);
    out << " on rank " << group_.mesh_rank(rank_) << ": " << describe_mpi_error(status) << ": ";
    int number = 0;
    MPI_Error_class(status, &number);
    if (number == MPI_ERR_TRUNCATE) {
      out << "ranks disagree on the size";
      const std::int64_t mine = c.where.type.bytes();
      const std::int64_t other = group_.other_bytes(c, p.number);
      if (other >= 0) out << " (" << other << " and " << mine << " bytes)";
    } else {
      out << "it must succeed";
    }
    throw error(out);
  }

  /// Before data moves: the facts of this call on all ranks.
  void compare(const call& c, std::int64_t number) {
    const call_facts mine = call_facts::of(c);
    std::vector<call_facts> all(static_cast<std::size_t>(size_));
    pending p;
    p.what = c;
    p.number = number;
    p.requests.push_back(MPI_REQUEST_NULL);
    check(MPI_Iallgather(&mine, sizeof(mine), MPI_BYTE, all.data(), sizeof(mine), MPI_BYTE,
                         comm_.get(), &p.requests[0]),
          p);
    patience wait(group_, p.what, number, false);
    while (!look(p)) wait.pause();
    for (int r = 0; r < size_; ++r) {
      const call_facts& other = all[static_cast<std::size_t>(r)];
      if (!(other == mine)) refuse_mismatch(group_, c, number, r, other);
    }
  }

  /// Calls `post_piece(offset, count)` for pieces of `count` elements that MPI can take.
  template <class Post>
  void in_pieces(pending& p, std::int64_t count, Post&& post_piece) {
    for (std::int64_t at = 0; at < count; at += options_.piece_limit) {
      const auto piece = static_cast<int>(std::min(options_.piece_limit, count - at));
      p.requests.push_back(MPI_REQUEST_NULL);
      check(post_piece(at, piece, &p.requests.back()), p);
    }
  }

  void post_send(pending& p, const std::byte* from, int target, int tag) {
    const call& c = p.what;
    in_pieces(p, c.count, [&](std::int64_t at, int count, MPI_Request* r) {
      return MPI_Isend(from + at * size_of(c.element), count, mpi_type_of(c.element), target, tag,
                       comm_.get(), r);
    });
  }
  void post_receive(pending& p, std::byte* to, int source, int tag) {
    const call& c = p.what;
    in_pieces(p, c.count, [&](std::int64_t at, int count, MPI_Request* r) {
      return MPI_Irecv(to + at * size_of(c.element), count, mpi_type_of(c.element), source, tag,
                       comm_.get(), r);
    });
  }

  /// Rows of more elements than MPI counts are exchanged by messages.
  void post_rows(pending& p, bool in_has_rows) {
    const call& c = p.what;
    const auto* in = static_cast<const std::byte*>(c.in);
    auto* out = static_cast<std::byte*>(c.out);
    const std::int64_t bytes = c.count * size_of(c.element);
    for (int r = 0; r < size_; ++r) {
      post_receive(p, out + r * bytes, r, tag_piece);
      post_send(p, in_has_rows ? in + r * bytes : in, r, tag_piece);
    }
  }

  void post(pending& p) {
    const call& c = p.what;
    const auto* in = static_cast<const std::byte*>(c.in);
    auto* out = static_cast<std::byte*>(c.out);
    const MPI_Datatype type = mpi_type_of(c.element);
    const std::int64_t bytes = c.count * size_of(c.element);
    const bool is_long = c.count > options_.piece_limit;
    switch (c.what) {
      case collective::all_reduce:
        return in_pieces(p, c.count, [&](std::int64_t at, int count, MPI_Request* r) {
          const std::int64_t offset = at * size_of(c.element);
          return MPI_Iallreduce(in == out ? MPI_IN_PLACE : in + offset, out + offset, count, type,
                                reductions_->find(c.combine, c.element), comm_.get(), r);
        });
      case collective::all_gather:
        if (is_long) return post_rows(p, false);
        return in_pieces(p, c.count, [&](std::int64_t, int count, MPI_Request* r) {
          return MPI_Iallgather(in, count, type, out, count, type, comm_.get(), r);
        });
      case collective::reduce_scatter:
        if (is_long) {
          for (int root = 0; root < size_; ++root) {
            in_pieces(p, c.count, [&](std::int64_t at, int count, MPI_Request* r) {
              const std::int64_t offset = at * size_of(c.element);
              return MPI_Ireduce(in + root * bytes + offset, out + offset, count, type,
                                 reductions_->find(c.combine, c.element), root, comm_.get(), r);
            });
          }
          return;
        }
        return in_pieces(p, c.count, [&](std::int64_t, int count, MPI_Request* r) {
          return MPI_Ireduce_scatter_block(in, out, count, type,
                                           reductions_->find(c.combine, c.element), comm_.get(), r);
        });
      case collective::all_to_all:
        if (is_long) return post_rows(p, true);
        return in_pieces(p, c.count, [&](std::int64_t, int count, MPI_Request* r) {
          return MPI_Ialltoall(in, count, type, out, count, type, comm_.get(), r);
        });
      case collective::permute:
        if (c.target >= 0 && in == out) {
          p.copy.assign(in, in + bytes);
          in = p.copy.data();
        }
        if (c.source >= 0) post_receive(p, out, c.source, tag_piece);
        if (c.target >= 0) post_send(p, in, c.target, tag_piece);
        if (c.source < 0 && bytes > 0) std::memset(out, 0, static_cast<std::size_t>(bytes));
        return;
      case collective::broadcast:
        if (c.source == rank_ && in != out && bytes > 0) {
          std::memcpy(out, in, static_cast<std::size_t>(bytes));
        }
        return in_pieces(p, c.count, [&](std::int64_t at, int count, MPI_Request* r) {
          return MPI_Ibcast(out + at * size_of(c.element), count, type, c.source, comm_.get(), r);
        });
      case collective::barrier:
        p.requests.push_back(MPI_REQUEST_NULL);
        return check(MPI_Ibarrier(comm_.get(), &p.requests.back()), p);
      case collective::send:
        return post_send(p, in, c.target, tag_message);
      case collective::receive:
        return post_receive(p, out, c.source, tag_message);
    }
    __builtin_unreachable();
  }

  owned_comm comm_;
  watched_group group_;
  mpi_options options_;
  const mpi_reductions* reductions_;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t num_collectives_ = 0;
  std::int64_t num_messages_ = 0;
  std::int64_t last_id_ = 0;
  std::vector<pending> pending_;
};

}  // namespace atled::comm
