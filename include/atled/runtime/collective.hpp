// atled/runtime/collective.hpp: a step in which ranks take part together: from a node of the graph
// to a call of a communicator. Reads: ir/graph.hpp, comm/grid.hpp. Used by runtime/freeze.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/grid.hpp"
#include "atled/ir/graph.hpp"

#include <cstddef>
#include <cstring>
#include <limits>

namespace atled::runtime {

/// One collective of a program as plain data.
struct collective_call {
  op code;
  dtype element;
  int axis;            ///< of the mesh
  std::int64_t count;  ///< elements of a row, as comm::call counts them
  std::int64_t bytes;  ///< of operand and result together
  ir::attribute_list attributes;
  std::int64_t axis_size;  ///< 0 where it is open
  tensor_type type;        ///< of the operand
  call_site at;

  /// Pre: an axis of ranks comes first, as passes/expand.hpp has it.
  [[nodiscard]] static constexpr collective_call of(const ir::graph& g, int id) {
    const ir::named_axis& named = g.axes[g.attribute(id)];
    collective_call out{};
    out.code = g[id].code;
    out.axis = named.mesh_axis - 1;
    out.axis_size = named.size;
    out.at = g[id].at;
    out.attributes = g.attributes_of(id);
    out.type = g.type(g[id].num_operands > 0 ? g.operand(id, 0) : id);
    out.element = out.type.element;
    if (!is_sent(out.code)) return out;
    out.bytes = out.type.bytes() + g.type(id).bytes();
    out.count = out.code == op::psum_scatter ? g.type(id).size()
                : out.code == op::all_to_all ? out.type.size() / named.size
                                             : out.type.size();
    return out;
  }
  /// False for what each rank knows by itself.
  [[nodiscard]] static constexpr bool is_sent(op code) {
    return code != op::axis_index && code != op::axis_size;
  }
  [[nodiscard]] constexpr bool is_sent() const { return is_sent(code); }
};

/// What a program sends, known when it is built.
struct comm_facts {
  std::int64_t bytes[mesh_shape::max_axes];  ///< along each axis of the mesh, in and out
  int num_collectives;                       ///< steps, bodies of loops and branches included
  std::uint64_t hash;                        ///< of all collectives in their order

  constexpr void mix(std::uint64_t value) {
    hash = (hash ^ value) * 0x100000001B3U;
    hash ^= hash >> 29;
  }
  constexpr void add(const collective_call& c) {
    if (!c.is_sent()) return;
    bytes[c.axis] += c.bytes;
    ++num_collectives;
    mix(static_cast<std::uint64_t>(c.code) + (static_cast<std::uint64_t>(c.element) << 8) +
        (static_cast<std::uint64_t>(c.axis) << 16));
    mix(static_cast<std::uint64_t>(c.count));
    for (int i = 1; i < c.attributes.size; ++i) {
      mix(static_cast<std::uint64_t>(c.attributes.values[i]));
    }
  }
  /// What a body sends in a number of trips.
  constexpr void add(const comm_facts& body, std::int64_t trips) {
    for (int i = 0; i < mesh_shape::max_axes; ++i) bytes[i] += trips * body.bytes[i];
    num_collectives += body.num_collectives;
    mix(body.hash);
    mix(static_cast<std::uint64_t>(trips));
  }
  /// One of several branches is taken.
  constexpr void keep_largest(const comm_facts& branch) {
    for (int i = 0; i < mesh_shape::max_axes; ++i) {
      if (branch.bytes[i] > bytes[i]) bytes[i] = branch.bytes[i];
    }
    num_collectives += branch.num_collectives;
    mix(branch.hash);
  }
};

/// The axes of the mesh that a program runs on; none for a program of one process.
[[nodiscard]] constexpr mesh_shape mesh_of(const ir::graph& g) {
  mesh_shape out{};
  for (int i = 0; i < g.num_axes; ++i) {
    if (g.axes[i].mesh_axis == out.num_axes + 1) out.push(g.axes[i].view(), g.axes[i].size);
  }
  return out;
}

namespace detail {

/// The rank that this one receives from, or sends to; -1 for none.
struct ring_neighbours {
  int source, target;
};
[[nodiscard]] inline ring_neighbours neighbours_of(const collective_call& c, int rank, int size) {
  if (c.axis_size == 0) {  // a shift around as many ranks as there are
    const auto shift = static_cast<int>(c.attributes.values[1] % size);
    return {(rank - shift + size) % size, (rank + shift + size) % size};
  }
  const auto sources = ir::lane_sources::unpacked(c.attributes, size);
  return {sources.of[rank], sources.inverse().of[rank]};
}

[[nodiscard]] inline comm::call to_comm_call(const collective_call& c, std::byte* const* slots,
                                             const comm::communicator& ranks) {
  comm::call out{};
  out.element = c.element;
  out.count = c.count;
  out.in = slots[0];
  out.out = slots[1];
  out.where = {c.at, c.type};
  switch (c.code) {
    case op::pmax:
      out.what = comm::collective::all_reduce;
      out.combine = comm::reduction::max;
      break;
    case op::pmin:
      out.what = comm::collective::all_reduce;
      out.combine = comm::reduction::min;
      break;
    case op::all_gather:
      out.what = comm::collective::all_gather;
      break;
    case op::psum_scatter:
      out.what = comm::collective::reduce_scatter;
      break;
    case op::all_to_all:
      out.what = comm::collective::all_to_all;
      break;
    case op::ppermute: {
      const auto [source, target] = neighbours_of(c, ranks.rank(), ranks.size());
      out.what = comm::collective::permute;
      out.source = source;
      out.target = target;
      break;
    }
    default:  // psum
      out.what = comm::collective::all_reduce;
      break;
  }
  return out;
}

/// The collectives of a program that are under way.
class pending_calls {
 public:
  /// Begins a call that must be done before step `wait`, or makes it where that is the next.
  ///
  /// Blocks until: all ranks have entered, where the result is read at once.
  void start(const collective_call& c, std::byte* const* slots, comm::grid& grid, int step,
             int wait) {
    comm::communicator& ranks = grid.along(c.axis);
    if (!c.is_sent()) {
      const i32 number = c.code == op::axis_index ? ranks.rank() : ranks.size();
      std::memcpy(slots[0], &number, sizeof number);
      return;
    }
    const comm::call call = to_comm_call(c, slots, ranks);
    if (wait <= step + 1) return ranks.run(call);
    if (count_ == capacity) finish_before(calls_[0].wait);
    comm::request request = ranks.start(call);
    if (request.is_done()) return;
    calls_[count_++] = {&ranks, request, wait};
    if (wait < first_wait_) first_wait_ = wait;
  }

  /// Before a step: what it reads is done, the others move on.
  void before(int step) {
    if (count_ == 0) return;
    if (step >= first_wait_) {
      finish_before(step);
    } else {
      static_cast<void>(calls_[0].ranks->test(calls_[0].request));
    }
  }
  void finish_all() {
    if (count_ > 0) finish_before(never);
  }

 private:
  static constexpr int capacity = 8;  // what a communicator has under way at most
  static constexpr int never = std::numeric_limits<int>::max();
  struct pending_call {
    comm::communicator* ranks;
    comm::request request;
    int wait;
  };

  /// Waits for all calls that must be done before this step, in the order in which they began.
  void finish_before(int step) {
    int kept = 0;
    first_wait_ = never;
    for (int i = 0; i < count_; ++i) {
      if (calls_[i].wait <= step) {
        calls_[i].ranks->wait(calls_[i].request);
      } else {
        if (calls_[i].wait < first_wait_) first_wait_ = calls_[i].wait;
        calls_[kept++] = calls_[i];
      }
    }
    count_ = kept;
  }

  pending_call calls_[capacity];
  int count_ = 0;
  int first_wait_ = never;
};

}  // namespace detail
}  // namespace atled::runtime
