// atled/comm/communicator.hpp: a group of ranks as one of them sees it, and what it can do
// together. Reads: core/shape.hpp. Next: comm/grid.hpp, one such group for each axis of a mesh.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/shape.hpp"

#include <cstdint>
#include <string_view>

namespace atled::comm {

/// What a reduction does with the elements of all ranks, in the order of the ranks.
enum class reduction : std::uint8_t { sum, max, min };

/// What ranks do together; send and receive need two of them, the others all of the group.
enum class collective : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  permute,
  broadcast,
  barrier,
  send,
  receive
};

[[nodiscard]] constexpr std::string_view name_of(collective what) {
  switch (what) {
    case collective::all_reduce:
      return "all_reduce";
    case collective::all_gather:
      return "all_gather";
    case collective::reduce_scatter:
      return "reduce_scatter";
    case collective::all_to_all:
      return "all_to_all";
    case collective::permute:
      return "permute";
    case collective::broadcast:
      return "broadcast";
    case collective::barrier:
      return "barrier";
    case collective::send:
      return "send";
    case collective::receive:
      return "receive";
  }
  __builtin_unreachable();
}

[[nodiscard]] constexpr std::string_view name_of(reduction combine) {
  switch (combine) {
    case reduction::sum:
      return "sum";
    case reduction::max:
      return "max";
    case reduction::min:
      return "min";
  }
  __builtin_unreachable();
}

/// What a sentence about a call needs: the user's line, and the type of the operand.
struct place {
  call_site at{};
  tensor_type type{};
};

/// One call as a value: what every rank of the group passes in and gets back.
///
///   all_reduce      in [count]        out [count]         in == out is allowed
///   all_gather      in [count]        out [size, count]   row r is the operand of rank r
///   reduce_scatter  in [size, count]  out [count]         the combined row of this rank
///   all_to_all      in [size, count]  out [size, count]   row r goes to rank r and comes from it
///   permute         in [count]        out [count]         to `target`, from `source`; zeros if
///   none;
///                                                         in == out is allowed
///   broadcast       in [count]        out [count]         of rank `source`; in == out is allowed
///   send            in [count]                            to `target`
///   receive                           out [count]         from `source`, in the order of sending
///
/// Units: count in elements. A rank that is -1 is none.
struct call {
  collective what{};
  reduction combine{};
  dtype element{};
  int source = -1;
  int target = -1;
  std::int64_t count = 0;
  const void* in = nullptr;
  void* out = nullptr;
  place where{};
};

/// Elements that one rank passes in, and gets back.
[[nodiscard]] constexpr std::int64_t elements_in(const call& c, int size) {
  if (c.what == collective::barrier || c.what == collective::receive) return 0;
  const bool has_rows = c.what == collective::reduce_scatter || c.what == collective::all_to_all;
  return has_rows ? c.count * size : c.count;
}
[[nodiscard]] constexpr std::int64_t elements_out(const call& c, int size) {
  if (c.what == collective::barrier || c.what == collective::send) return 0;
  const bool has_rows = c.what == collective::all_gather || c.what == collective::all_to_all;
  return has_rows ? c.count * size : c.count;
}

/// A call that was started and has to be waited for; 0 is one that is done.
struct request {
  std::int64_t number = 0;

  [[nodiscard]] constexpr bool is_done() const { return number == 0; }
};

/// What a communicator has done since it was made.
///
/// Units: bytes of operands plus bytes of results of this rank.
struct traffic {
  std::int64_t calls = 0;
  std::int64_t bytes = 0;
};

/// A group of ranks as one rank sees it: one axis of a mesh, or all of it.
///
/// All ranks start the same calls in the same order. A started call moves on while this rank waits
/// or tests; buffers of it must not be touched before it is done. One thread at a time.
class communicator {
 public:
  communicator() = default;
  communicator(const communicator&) = delete;
  communicator& operator=(const communicator&) = delete;
  virtual ~communicator() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  /// The name of the mesh axis, as sentences show it.
  [[nodiscard]] virtual std::string_view axis() const noexcept = 0;
  [[nodiscard]] const traffic& done() const noexcept { return traffic_; }

  /// Begins a call.
  ///
  /// Throws: a rank outside the group; a null buffer; what the engine reports.
  [[nodiscard]] request start(const call& c) {
    check(c);
    return begin(c);
  }

  /// Moves started calls on, without waiting; true if this one is done.
  [[nodiscard]] bool test(request& r) {
    if (!r.is_done() && advance(r.number)) r.number = 0;
    return r.is_done();
  }

  /// Blocks until: the call is done: all ranks have started it, or the time limit ends the job.
  void wait(request& r) {
    if (!r.is_done()) finish(r.number);
    r.number = 0;
  }

  /// Starts a call and waits for it.
  ///
  /// Blocks until: all ranks of the group have entered, or the time limit ends the job.
  void run(const call& c) {
    check(c);
    begin_and_finish(c);
  }

  void all_reduce(const void* in, void* out, std::int64_t count, dtype element, reduction combine,
                  const place& where) {
    run({.what = collective::all_reduce,
         .combine = combine,
         .element = element,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void all_gather(const void* in, void* out, std::int64_t count, dtype element,
                  const place& where) {
    run({.what = collective::all_gather,
         .element = element,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void reduce_scatter(const void* in, void* out, std::int64_t count, dtype element,
                      reduction combine, const place& where) {
    run({.what = collective::reduce_scatter,
         .combine = combine,
         .element = element,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void all_to_all(const void* in, void* out, std::int64_t count, dtype element,
                  const place& where) {
    run({.what = collective::all_to_all,
         .element = element,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void permute(const void* in, void* out, std::int64_t count, dtype element, int source, int target,
               const place& where) {
    run({.what = collective::permute,
         .element = element,
         .source = source,
         .target = target,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void broadcast(const void* in, void* out, std::int64_t count, dtype element, int source,
                 const place& where) {
    run({.what = collective::broadcast,
         .element = element,
         .source = source,
         .count = count,
         .in = in,
         .out = out,
         .where = where});
  }
  void send(const void* in, std::int64_t count, dtype element, int target, const place& where) {
    run({.what = collective::send,
         .element = element,
         .target = target,
         .count = count,
         .in = in,
         .where = where});
  }
  void receive(void* out, std::int64_t count, dtype element, int source, const place& where) {
    run({.what = collective::receive,
         .element = element,
         .source = source,
         .count = count,
         .out = out,
         .where = where});
  }
  void barrier(const place& where) { run({.what = collective::barrier, .where = where}); }

 protected:
  [[nodiscard]] virtual request begin(const call& c) = 0;
  [[nodiscard]] virtual bool advance(std::int64_t number) = 0;
  virtual void finish(std::int64_t number) = 0;
  virtual void begin_and_finish(const call& c) {
    request r = begin(c);
    if (!r.is_done()) finish(r.number);
  }

 private:
  void check(const call& c) {
    const bool needs_source = c.what == collective::broadcast || c.what == collective::receive;
    const bool needs_target = c.what == collective::send;
    if (c.source >= size() || c.source < (needs_source ? 0 : -1)) refuse(c, "source", c.source);
    if (c.target >= size() || c.target < (needs_target ? 0 : -1)) refuse(c, "target", c.target);
    if (c.count < 0) refuse(c, "count", c.count);
    const std::int64_t in = elements_in(c, size());
    const std::int64_t out = elements_out(c, size());
    if ((in > 0 && c.in == nullptr) || (out > 0 && c.out == nullptr)) refuse(c, "buffer", 0);
    traffic_.calls += 1;
    traffic_.bytes += (in + out) * size_of(c.element);
  }

  [[noreturn]] void refuse(const call& c, std::string_view what, std::int64_t given) const {
    text out = sentence_start({c.where.at.file, c.where.at.line, ""}, name_of(c.what));
    out.size -= 2;
    out << " over " << axis() << ": " << what << ' ' << given << ": ";
    if (what == "count") {
      out << "must be 0 or more";
    } else if (what == "buffer") {
      out << "must not be null";
    } else {
      out << "must be a rank of 0 to " << size() - 1;
    }
    throw error(out);
  }

  traffic traffic_;
};

}  // namespace atled::comm
