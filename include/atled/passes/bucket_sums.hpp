// atled/passes/bucket_sums.hpp: small sums over the same ranks are taken together: a call for each
// bias of a model would cost more in waiting than in sending.
// Reads: passes/late_sums.hpp, ir/regions.hpp. Next: passes/expand.hpp.
//
//   psum(a), psum(b)     s = psum(concatenate(a, b)), slices of s
//
// Nothing is copied: passes/home.hpp has a and b computed in their places of the concatenation, the
// sum is taken in place, and slices are views.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/regions.hpp"
#include "atled/passes/late_sums.hpp"

namespace atled::passes {

/// A bucket is sent when it holds so much. To sum 1 MB takes some 0.2 ms between ranks of one host
/// and 1 ms at 10 Gbit/s, a hundred times what a call costs besides; a larger one would begin later
/// and overlap with less.
inline constexpr std::int64_t bucket_bytes = 1 << 20;
/// What may be copied into a bucket rather than be computed there: as much as a call costs anyway.
inline constexpr std::int64_t bucket_copy_bytes = 1 << 14;

namespace detail {

/// Sums that wait for others.
struct sum_bucket {
  static constexpr int capacity = 16;
  int members[capacity];  // of the graph that they come from
  int size;
  std::int64_t bytes;
  int tail;  // among the members: one that does not fill cache lines comes last; or -1
};

class sum_bucketer {
 public:
  constexpr sum_bucketer(const ir::graph& from, ir::builder& into) : from_(from), b_(into) {}

  constexpr void run() {
    inside_.extend(from_);
    for (int id = 0; id < from_.num_nodes; ++id) {
      for (int i = 0; i < from_[id].num_operands; ++i) ++uses_[from_.operand(id, i)];
    }
    for (int i = 0; i < from_.num_outputs; ++i) is_output_[from_.outputs[i]] = true;
    copy_names(from_, b_);
    for (int id = 0; id < from_.num_nodes; ++id) copy(id);
    for (sum_bucket& bucket : buckets_) flush(bucket);
    b_.scope = 0;
    for (int i = 0; i < from_.num_outputs; ++i) {
      b_.g.outputs[b_.g.num_outputs++] = place_of_[from_.outputs[i]];
    }
  }

 private:
  static constexpr int max_open = 8;
  const ir::graph& from_;
  ir::builder& b_;
  ir::scopes inside_{};
  int uses_[ir::graph::max_nodes]{};
  bool is_output_[ir::graph::max_nodes]{};
  int place_of_[ir::graph::max_nodes]{};
  int bucket_of_[ir::graph::max_nodes]{};  // + 1, while it waits there
  sum_bucket buckets_[max_open]{};

  constexpr void copy(int id) {
    const ir::node& n = from_[id];
    for (int i = 0; i < n.num_operands; ++i) {
      if (const int at = bucket_of_[from_.operand(id, i)]; at != 0) flush(buckets_[at - 1]);
    }
    if (is_member(id)) {
      join(id);
      return;
    }
    go_to(id);
    if (n.code == op::parameter) {
      place_of_[id] = b_.parameter(n.type);
      return;
    }
    moving_node moving{};
    moving.code = n.code;
    moving.num_operands = n.num_operands;
    moving.type = n.type;
    moving.id = id;
    for (int i = 0; i < n.num_operands; ++i) moving.operands[i] = place_of_[from_.operand(id, i)];
    for (int i = 0; i < n.num_attributes; ++i) moving.attributes.push(from_.attribute(id, i));
    place_of_[id] = keep(b_, moving);
    settle(id);
  }
  constexpr void go_to(int id) {
    b_.site = from_[id].at;
    b_.scope = from_[id].scope;
  }
  constexpr void settle(int id) {
    const ir::node& n = from_[id];
    if (n.home != n.scope) b_.move_home(place_of_[id], n.scope, n.home);
  }

  /// A small sum of what is computed for it alone, and that is no result of the program itself.
  [[nodiscard]] constexpr bool is_member(int id) const {
    const ir::node& n = from_[id];
    if (n.code != op::psum || !from_.axes[from_.attribute(id)].is_of_ranks()) return false;
    if (inside_.of[id] != 0 || is_output_[id] || n.type.element == dtype::boolean) return false;
    const int x = from_.operand(id, 0);
    const std::int64_t bytes = n.type.bytes();
    if (bytes == 0 || bytes >= bucket_bytes || uses_[x] != 1 || is_output_[x]) return false;
    return bytes <= bucket_copy_bytes || can_be_computed_there(x);
  }
  [[nodiscard]] constexpr bool can_be_computed_there(int x) const {
    while (from_[x].code == op::reshape && uses_[x] == 1) x = from_.operand(x, 0);
    return uses_[x] == 1 && !is_output_[x] &&
           (from_[x].code == op::dot || is_elementwise(from_[x].code));
  }

  [[nodiscard]] constexpr bool fits(const sum_bucket& bucket, int id) const {
    const int other = bucket.members[0];
    const ir::node& n = from_[id];
    const ir::node& m = from_[other];
    return from_.attribute(id) == from_.attribute(other) && n.type.element == m.type.element &&
           n.scope == m.scope && n.home == m.home;
  }
  constexpr void join(int id) {
    int at = -1;
    int most = 0;  // the fullest makes room where none is free
    for (int i = 0; i < max_open; ++i) {
      if (buckets_[i].size > 0 && fits(buckets_[i], id)) at = i;
      if (buckets_[i].bytes > buckets_[most].bytes) most = i;
    }
    for (int i = 0; i < max_open && at < 0; ++i) {
      if (buckets_[i].size == 0) at = i;
    }
    if (at < 0) {
      flush(buckets_[most]);
      at = most;
    }
    sum_bucket& bucket = buckets_[at];
    constexpr std::int64_t line = 64;
    const bool is_ragged = from_.type(id).bytes() % line != 0;
    if (is_ragged && bucket.size > 0 && bucket.tail >= 0) flush(bucket);
    if (bucket.size == 0) bucket.tail = -1;
    if (is_ragged) bucket.tail = bucket.size;
    bucket_of_[id] = at + 1;
    bucket.members[bucket.size++] = id;
    bucket.bytes += from_.type(id).bytes();
    if (bucket.bytes >= bucket_bytes || bucket.size == sum_bucket::capacity) flush(bucket);
  }

  /// One sum in the place of all that wait.
  constexpr void flush(sum_bucket& bucket) {
    const int count = bucket.size;
    if (count == 0) return;
    if (bucket.tail >= 0) {
      const int last = bucket.members[count - 1];
      bucket.members[count - 1] = bucket.members[bucket.tail];
      bucket.members[bucket.tail] = last;
    }
    const ir::attribute_list axis = ir::attribute_list::of(from_.attribute(bucket.members[0]));
    int parts[sum_bucket::capacity]{};
    for (int i = 0; i < count; ++i) {
      const int id = bucket.members[i];
      go_to(id);
      const int x = place_of_[from_.operand(id, 0)];
      parts[i] = count == 1 ? x : b_.reshape(x, shape::of({b_.type(x).size()}));
    }
    const int together =
        count == 1 ? parts[0] : b_.append(op::concatenate, parts, count, ir::attribute_list::of(0));
    const int sum = b_.append(op::psum, {together}, axis);
    std::int64_t begin = 0;
    for (int i = 0; i < count; ++i) {
      const int id = bucket.members[i];
      const tensor_type& type = from_.type(id);
      go_to(id);
      if (count == 1) {
        place_of_[id] = sum;
      } else {
        const int part =
            b_.slice(sum, shape::of({begin}), shape::of({type.size()}), shape::of({1}));
        place_of_[id] = b_.reshape(part, type.dims);
      }
      begin += type.size();
      bucket_of_[id] = 0;
      settle(id);
    }
    bucket = {};
  }
};

}  // namespace detail

/// Rewrites `from` into an empty builder with sums in buckets.
///
/// Post: the same values, the same bits; as many bytes are sent, in fewer calls. A bucket is sent
/// before a value of it is read, when it is full, or at the end. Cost: O(nodes + edges).
constexpr void bucket_sums(const ir::graph& from, ir::builder& into) {
  detail::sum_bucketer(from, into).run();
}

}  // namespace atled::passes
