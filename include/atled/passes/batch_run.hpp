// atled/passes/batch_run.hpp: steps that treat the items of a batch one by one run item by item, so
// that what one hands to the next is still in the cache.
// Reads: passes/schedule.hpp. Next: passes/memory.hpp, which keeps a run's values apart.
//
// Attention is the case in point: scores, their softmax and the product with the values, head by
// head. What is computed, and its bits, stay the same; only the order of independent work changes.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/plan.hpp"

namespace atled::passes {

/// How the leading axes of a step's domain count the items of a run, outermost first: along `axis`
/// there are `count` items of `rest` places each.
struct item_cut {
  struct part {
    int axis;
    std::int64_t count, rest;
  };
  static constexpr int max_parts = 3;
  part parts[max_parts];
  int size;
  bool ok;
};

namespace detail {

/// Cuts a step into `items` equal parts along its leading axes, if that is possible.
[[nodiscard]] constexpr item_cut cut_into_items(const plan& p, const step& s, std::int64_t items) {
  item_cut out{};
  const kernel& k = p.kernels[s.kernel];
  const bool is_dot = k.kind == kernel_kind::dot;
  if (!is_dot && (k.kind != kernel_kind::loop || s.reductions > 0)) return out;
  const int leading = is_dot ? 3 : s.domain.rank - 1;
  for (int a = 0; a < leading && items > 1; ++a) {
    const std::int64_t size = s.domain[a];
    if (size == 1) continue;
    if (out.size == item_cut::max_parts) return out;
    if (items % size == 0) {
      out.parts[out.size++] = {a, size, 1};
      items /= size;
    } else if (size % items == 0) {
      out.parts[out.size++] = {a, items, size / items};
      items = 1;
    } else {
      return out;
    }
  }
  out.ok = items == 1;
  return out;
}

/// Finds the runs of a plan whose steps are in order.
class run_finder {
 public:
  constexpr run_finder(const ir::graph& g, plan& p) : g_(g), p_(p) {}

  constexpr void run() {
    for (int i = 0; i < p_.num_steps;) {
      const batch_run found = run_from(i);
      if (found.end > i) {
        for (int s = i; s < found.end; ++s) p_.run_of[s] = p_.num_runs + 1;
        p_.runs[p_.num_runs++] = found;
        i = found.end;
      } else {
        ++i;
      }
    }
  }

 private:
  // What passes between steps is worth it if all of it would leave the cache, and one item does
  // not.
  static constexpr std::int64_t too_large = 1 << 20, small_item = 1 << 19;
  static constexpr int most_steps = 8;

  // A value that the steps of the run so far have touched.
  struct touched {
    int base;
    bool is_written, is_read;
    bool is_apart;  // each item writes its own piece of it
    bool is_moved;  // its writer computes a part of it: see passes/home.hpp
  };
  const ir::graph& g_;
  plan& p_;
  touched values_[256]{};
  int num_values_ = 0;
  std::int64_t handed_on_ = 0;  // bytes of the largest value between steps of the run

  constexpr batch_run run_from(int begin) {
    const batch_run none{begin, begin, 0};
    const step& first = p_.steps[begin];
    if (p_.kernels[first.kernel].kind != kernel_kind::dot) return none;
    const std::int64_t items = first.domain[0] * first.domain[1] * first.domain[2];
    if (items < 2) return none;
    num_values_ = 0;
    handed_on_ = 0;
    int end = begin;
    for (int i = begin; i < p_.num_steps && i < begin + most_steps; ++i) {
      const std::int64_t before = handed_on_;
      if (!extend(i, items)) break;
      if (handed_on_ != before || is_joined_) end = i + 1;
    }
    if (handed_on_ < too_large || handed_on_ / items > small_item) return none;
    return {begin, end, items};
  }

  bool is_joined_ = false;  // the last step reads what the run has written

  [[nodiscard]] constexpr int find(int base) const {
    for (int i = 0; i < num_values_; ++i) {
      if (values_[i].base == base) return i;
    }
    return -1;
  }

  constexpr bool extend(int i, std::int64_t items) {
    const step& s = p_.steps[i];
    const item_cut cut = cut_into_items(p_, s, items);
    if (!cut.ok || num_values_ + s.num_slots > 256) return false;
    is_joined_ = false;
    for (const bool outputs : {false, true}) {
      for (int k = 0; k < s.num_slots; ++k) {
        const slot& at = p_.slots[s.slots_begin + k];
        if (at.is_output != outputs || g_[at.base].code == op::iota) continue;
        if (!(outputs ? note_write(s, k, cut, items) : note_read(s, k, cut, items))) return false;
      }
    }
    return true;
  }
  constexpr bool note_read(const step& s, int k, const item_cut& cut, std::int64_t items) {
    const slot& at = p_.slots[s.slots_begin + k];
    const int known = find(at.base);
    if (known < 0) {
      values_[num_values_++] = {at.base, false, true, false, false};
      return true;
    }
    values_[known].is_read = true;
    if (!values_[known].is_written) return true;
    if (!values_[known].is_apart || !is_apart(s, k, cut, items)) return false;
    is_joined_ = true;
    const std::int64_t bytes = g_.type(at.base).bytes();
    if (bytes > handed_on_) handed_on_ = bytes;
    return true;
  }
  constexpr bool note_write(const step& s, int k, const item_cut& cut, std::int64_t items) {
    const slot& at = p_.slots[s.slots_begin + k];
    const bool is_moved = at.base != s.node;
    const int known = find(at.base);
    if (known < 0) {
      values_[num_values_++] = {at.base, true, false, is_apart(s, k, cut, items), is_moved};
      return true;
    }
    // Parts that are computed in one value's memory do not meet; all else is left alone.
    const touched& other = values_[known];
    if (!is_moved || !other.is_moved || other.is_read) return false;
    values_[known].is_apart = false;
    return true;
  }

  // Item i touches [i, i + 1) of equal, consecutive pieces of the slot's memory.
  [[nodiscard]] constexpr bool is_apart(const step& s, int k, const item_cut& cut,
                                        std::int64_t items) const {
    const slot& at = p_.slots[s.slots_begin + k];
    const std::int64_t size = g_.type(at.base).size();
    if (size % items != 0) return false;
    const std::int64_t piece = size / items;
    std::int64_t reach = at.offset;
    std::int64_t step_of_items = piece;
    shape left = s.domain;
    for (int i = cut.size - 1; i >= 0; --i) {
      const item_cut::part& part = cut.parts[i];
      if (at.strides[part.axis] * part.rest != step_of_items) return false;
      step_of_items *= part.count;
      left[part.axis] = part.rest;
    }
    for (int a = 0; a < left.rank; ++a) {
      if (at.strides[a] < 0) return false;
      reach += (left[a] - 1) * at.strides[a];
    }
    if (k < 2 && p_.kernels[s.kernel].kind == kernel_kind::dot) {
      const std::int64_t along_k = k == 0 ? s.lhs_k : s.rhs_k;
      if (along_k < 0) return false;
      reach += (s.k - 1) * along_k;
    }
    return at.offset >= 0 && reach < piece;
  }
};

}  // namespace detail

/// Finds consecutive steps that may run item by item along a common batch, and hand on large values
/// when they do.
///
/// Pre: the steps are in order. Post: within a run no item reads what another one writes.
/// Cost: O(slots).
constexpr void find_runs(const ir::graph& g, plan& p) {
  detail::run_finder(g, p).run();
}

}  // namespace atled::passes
