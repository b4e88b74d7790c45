// atled/ops/associative_scan.hpp: running combinations in few wide steps, made of plain operations.
// Reads: ops/scan.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/scan.hpp"

namespace atled {

namespace detail {

/// Every second row of stacks from `begin` on, `count` of them.
template <class Tree>
constexpr Tree every_second(ir::builder& b, const Tree& stacks, std::int64_t begin,
                            std::int64_t count) {
  Tree out = stacks;
  for_each_leaf(
      [&](expr& leaf) {
        if (leaf.is_poison()) return;
        shape sizes = leaf.dims();
        shape starts{{}, sizes.rank};
        shape strides = sizes;
        for (int i = 0; i < strides.rank; ++i) strides[i] = 1;
        starts[0] = begin;
        sizes[0] = count;
        strides[0] = 2;
        leaf = {b, b.slice(leaf.id(), starts, sizes, strides)};
      },
      out);
  return out;
}
template <class Tree>
constexpr Tree joined_rows(ir::builder& b, const Tree& first, const Tree& second) {
  stack_builder<Tree> out{};
  out.push(first);
  out.push(second);
  return out.joined(b, false);
}

/// The combination of each row and all before it: of pairs first, then of the rows between.
template <class F, class Tree>
constexpr Tree running_rows(ir::builder& b, const F& f, const Tree& xs, std::int64_t rows) {
  if (rows < 2) return xs;
  const std::int64_t pairs = rows / 2;
  const std::int64_t between = (rows + 1) / 2 - 1;
  const Tree odd =
      running_rows(b, f, f(every_second(b, xs, 0, pairs), every_second(b, xs, 1, pairs)), pairs);
  const Tree first = rows_of(b, xs, 0, 1);
  const Tree even =
      between == 0
          ? first
          : joined_rows(b, first, f(rows_of(b, odd, 0, between), every_second(b, xs, 2, between)));
  // both by turns: [pairs, 2, ...]
  Tree out = with_leading(b, rows_of(b, even, 0, pairs), 1, shape::of({pairs, 1}));
  for_each_leaf(
      [&](expr& leaf, const expr& other) {
        if (leaf.is_poison() || other.is_poison()) return;
        leaf = {b, b.append(op::concatenate, {leaf.id(), other.id()}, ir::attribute_list::of(1))};
      },
      out, with_leading(b, odd, 1, shape::of({pairs, 1})));
  out = with_leading(b, out, 2, shape::of({2 * pairs}));
  return rows % 2 == 0 ? out : joined_rows(b, out, rows_of(b, even, pairs, pairs + 1));
}
template <class Tree>
constexpr Tree turned_round(ir::builder& b, const Tree& stacks) {
  Tree out = stacks;
  for_each_leaf(
      [&](expr& leaf) {
        if (leaf.is_poison()) return;
        leaf = {b, b.append(op::reverse, {leaf.id()}, ir::attribute_list::of(1))};
      },
      out);
  return out;
}

template <class F, class Xs>
constexpr Xs associative_scan_with(const F& f, const Xs& xs, bool is_reverse, const call_site& at) {
  ir::builder& b = loop_builder(xs);
  b.site = at.in("associative_scan");
  const call_site site = b.site;
  const std::int64_t rows = num_rows(b, xs);
  if (rows < 0) return poisoned(b, xs);
  const auto combine = [&](const Xs& x, const Xs& y) {
    const Xs out = as_expressions(b, f(x, y), x);
    b.site = site;
    keeps_types(b, x, out);
    return out;
  };
  const Xs out = running_rows(b, combine, is_reverse ? turned_round(b, xs) : xs, rows);
  return is_reverse ? turned_round(b, out) : out;
}

}  // namespace detail

/// Each row combined with all before it, by an associative function: in log2(T) steps, each on many
/// rows at once.
///
///   associative_scan([](auto a, auto b) { return a * b; }, xs)     the running products
///   xs  f32[T, ...]     out  f32[T, ...]     f takes and gives stacks of rows, or trees of them
///   associative_scan(f, xs, reversed)                              from the last row
///
/// Cost: 2 T rows are combined.
/// Ill-formed: stacks have different numbers of rows; f changes a type.
/// Source: Blelloch, Prefix sums and their applications, 1990.
template <class F, class Xs>
[[nodiscard]] constexpr auto associative_scan(const F& f, const Xs& xs,
                                              call_site at = call_site::here()) {
  return detail::associative_scan_with(f, xs, false, at);
}
template <class F, class Xs>
[[nodiscard]] constexpr auto associative_scan(const F& f, const Xs& xs, reversed_option,
                                              call_site at = call_site::here()) {
  return detail::associative_scan_with(f, xs, true, at);
}

}  // namespace atled
