// atled/ops/scan.hpp: loops over rows: scan, map. Reads: ops/bodies.hpp, ir/regions.hpp.
// Next: ops/associative_scan.hpp, ops/control.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/arguments.hpp"
#include "atled/ops/bodies.hpp"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

/// Options of `scan`.
template <std::int64_t N>
struct length_option {};
template <std::int64_t N>
struct unroll_option {};

/// `scan(f, init, length<10>)`: ten trips without rows; f(carry) gives (carry, y).
template <std::int64_t N>
inline constexpr length_option<N> length{};
/// `scan(f, init, xs, unroll<4>)`: four trips in one, so that they share kernels.
template <std::int64_t N>
inline constexpr unroll_option<N> unroll{};

namespace detail {

struct scan_options {
  bool is_reverse = false;
  std::int64_t trips = -1;
  std::int64_t unroll = 1;

  constexpr void set(reversed_option) { is_reverse = true; }
  template <std::int64_t N>
  constexpr void set(length_option<N>) {
    static_assert(N >= 0, "atled::scan: its length must be 0 or more");
    trips = N;
  }
  template <std::int64_t N>
  constexpr void set(unroll_option<N>) {
    static_assert(N >= 1, "atled::scan: unroll must be 1 or more");
    unroll = N;
  }
  template <class... Option>
  [[nodiscard]] static constexpr scan_options of(const Option&... option) {
    scan_options out{};
    (out.set(option), ...);
    return out;
  }
};
template <class T>
concept scan_option = requires(scan_options to, T option) {
  to.set(option);
};

/// What one trip of a scan gives, as expressions.
template <class Carry, class Y>
struct trip_results {
  Carry carry;
  Y y;
};

/// Runs a scan's function on a carry and a row.
template <class F, class Carry, class Item>
constexpr auto run_trip(ir::builder& b, const F& f, const Carry& carry, const Item& item) {
  auto result = [&] {
    if constexpr (std::is_same_v<Item, std::tuple<>> &&
                  std::is_invocable_v<const F&, const Carry&>) {
      return f(carry);
    } else {
      return f(carry, item);
    }
  }();
  auto members = members_of(result);
  static_assert(std::tuple_size_v<decltype(members)> == 2,
                "atled::scan: the function must return a pair: (carry, y)");
  using next = traced_t<std::remove_cvref_t<std::tuple_element_t<0, decltype(members)>>>;
  static_assert(std::is_same_v<next, Carry>,
                "atled::scan: the carry after a trip must be a tree like the one it began as");
  using y = traced_t<std::remove_cvref_t<std::tuple_element_t<1, decltype(members)>>>;
  return trip_results<next, y>{as_expressions(b, std::get<0>(members), carry),
                               as_expressions(b, std::get<1>(members), std::get<1>(members))};
}

/// A scan over `trips` rows of `stacks`, whose leaves are expressions.
template <class F, class Carry, class Xs>
constexpr auto scan_rows(ir::builder& b, const F& f, const Carry& init, const Xs& stacks,
                         const scan_options& options) {
  const call_site at = b.site;
  const bool is_fine = options.trips >= 0 && is_shallow(b);
  const std::int64_t region = b.new_region();
  const int depth = b.depth();
  const Carry carry = bound_tree(b, op::carry, init, region);
  const Xs item = bound_tree(b, op::item, is_fine ? stacks : poisoned(b, stacks), region);
  b.open_loop();
  const auto next = run_trip(b, f, carry, item);
  b.close_region();
  b.site = at;
  ir::operand_list operands{};
  push_leaves(carry, operands);
  const int num_carries = operands.size;
  push_leaves(item, operands);
  const int num_items = operands.size - num_carries;
  push_leaves(next.carry, operands);
  push_leaves(next.y, operands);
  const int num_ys = operands.size - 2 * num_carries - num_items;
  int made = ir::poison;
  if (is_fine && keeps_types(b, init, next.carry) && keeps_ranks(b, carry, next.carry)) {
    const std::int64_t flags = options.is_reverse ? 1 * ir::loop_parts::is_reverse : 0;
    made = ir::make_loop(b, region, depth, options.trips, flags, num_carries, num_items, num_ys,
                         operands);
  }
  int begin = 0;
  const auto last = results_of(b, made, begin, next.carry);
  const auto ys = results_of(b, made, begin, next.y);
  return std::pair(last, ys);
}

/// Rows `begin` to `end` of stacks.
template <class Tree>
constexpr Tree rows_of(ir::builder& b, const Tree& stacks, std::int64_t begin, std::int64_t end) {
  Tree out = stacks;
  for_each_leaf(
      [&](expr& leaf) {
        if (leaf.is_poison()) return;
        shape sizes = leaf.dims();
        shape starts{{}, sizes.rank};
        shape strides = sizes;
        for (int i = 0; i < strides.rank; ++i) strides[i] = 1;
        starts[0] = begin;
        sizes[0] = end - begin;
        leaf = {b, b.slice(leaf.id(), starts, sizes, strides)};
      },
      out);
  return out;
}

/// Stacks seen with other leading axes: `old_count` of them become `leading`.
template <class Tree>
constexpr Tree with_leading(ir::builder& b, const Tree& stacks, int old_count,
                            const shape& leading) {
  Tree out = stacks;
  for_each_leaf(
      [&](expr& leaf) {
        if (leaf.is_poison()) return;
        const shape from = leaf.dims();
        shape to = leading;
        for (int i = old_count; i < from.rank; ++i) to.push(from[i]);
        leaf = {b, b.reshape(leaf.id(), to)};
      },
      out);
  return out;
}

/// Stacks laid one behind the other, given part by part.
template <class Tree>
struct stack_builder {
  std::array<ir::operand_list, static_cast<std::size_t>(num_leaves_v<Tree>) + 1> parts{};
  Tree like{};
  bool is_set = false;

  constexpr void push(const Tree& part) {
    std::size_t at = 0;
    for_each_leaf([&](const expr& leaf) { parts[at++].push(leaf.id()); }, part);
    like = part;
    is_set = true;
  }
  [[nodiscard]] constexpr Tree joined(ir::builder& b, bool is_reverse) {
    Tree out = like;
    std::size_t at = 0;
    for_each_leaf(
        [&](expr& leaf) {
          ir::operand_list& list = parts[at++];
          for (int i = 0, j = list.size - 1; is_reverse && i < j; ++i, --j) {
            const int x = list.values[i];
            list.values[i] = list.values[j];
            list.values[j] = x;
          }
          leaf = {b, list.size == 1 ? list.values[0]
                                    : b.append(op::concatenate, list.values, list.size,
                                               ir::attribute_list::of(0))};
        },
        out);
    return out;
  }
};

/// Trips written out one after the other, over all rows of `stacks`.
template <class F, class Carry, class Xs>
constexpr auto written_out(ir::builder& b, const F& f, const Carry& init, const Xs& stacks,
                           std::int64_t rows, bool is_reverse) {
  const call_site at = b.site;
  const auto row = [&](std::int64_t i) {
    return with_leading(b, rows_of(b, stacks, i, i + 1), 1, shape{});
  };
  auto trip = run_trip(b, f, init, row(is_reverse ? rows - 1 : 0));
  stack_builder<decltype(trip.y)> ys{};
  for (std::int64_t i = 0;;) {
    b.site = at;
    ys.push(with_leading(b, trip.y, 0, shape::of({1})));
    if (++i == rows) break;
    trip = run_trip(b, f, trip.carry, row(is_reverse ? rows - 1 - i : i));
  }
  b.site = at;
  return std::pair(trip.carry, ys.joined(b, is_reverse));
}

/// A scan whose trips are `options.unroll` of the user's; those that are left over come last.
template <class F, class Carry, class Xs>
constexpr auto unrolled_scan(ir::builder& b, const F& f, const Carry& init, const Xs& stacks,
                             const scan_options& options) {
  const std::int64_t size = options.unroll;
  const std::int64_t blocks = options.trips / size;
  const std::int64_t rest = options.trips - blocks * size;
  const std::int64_t begin = options.is_reverse ? rest : 0;
  const auto block = [&](const auto& carry, const auto& rows) {
    return written_out(b, f, carry, rows, size, options.is_reverse);
  };
  const Xs inner = rows_of(b, stacks, begin, begin + blocks * size);
  scan_options outer = options;
  outer.trips = blocks;
  const auto done =
      scan_rows(b, block, init, with_leading(b, inner, 1, shape::of({blocks, size})), outer);
  const auto ys = with_leading(b, done.second, 2, shape::of({blocks * size}));
  if (rest == 0) return std::pair(done.first, ys);
  const std::int64_t left = options.is_reverse ? 0 : blocks * size;
  const auto last = written_out(b, f, done.first, rows_of(b, stacks, left, left + rest), rest,
                                options.is_reverse);
  stack_builder<std::remove_cvref_t<decltype(ys)>> all{};
  all.push(ys);
  all.push(last.second);
  return std::pair(last.first, all.joined(b, options.is_reverse));
}

/// A number that a loop begins with takes the element type that it has after a trip: the body runs
/// once to tell.
template <class F, class Init, class Item>
constexpr auto begin_carry(ir::builder& b, const F& next_of, const Init& init, const Item& item) {
  auto carry = as_expressions(b, init, init);
  if constexpr (!std::is_same_v<Init, decltype(carry)>) {
    const std::int64_t region = b.new_region();
    b.open_loop();
    const auto next =
        next_of(bound_tree(b, op::carry, carry, region), bound_tree(b, op::item, item, region));
    b.close_region();
    carry = as_expressions(b, init, next);
  }
  return carry;
}

template <class F, class Init, class Xs>
constexpr auto scan_with(const F& f, const Init& init, const Xs& xs, scan_options options,
                         const call_site& at, const char* name) {
  ir::builder& b = loop_builder(init, xs);
  b.site = at.in(name);
  const call_site site = b.site;
  options.trips = num_rows(b, xs, options.trips);
  const auto next_of = [&](const auto& carry, const auto& item) {
    return run_trip(b, f, carry, item).carry;
  };
  const auto stacks = options.trips < 0 ? poisoned(b, xs) : xs;
  const auto carry = begin_carry(b, next_of, init, stacks);
  b.site = site;
  if (options.unroll > 1 && options.trips >= options.unroll && !is_bounded(options.trips)) {
    if (options.trips == options.unroll) {
      return written_out(b, f, carry, stacks, options.trips, options.is_reverse);
    }
    return unrolled_scan(b, f, carry, stacks, options);
  }
  return scan_rows(b, f, carry, stacks, options);
}

}  // namespace detail

/// Runs `f` from row to row: a loop that carries values and keeps one result a row.
///
///   auto [last, ys] = scan([&](auto carry, auto x) { return std::pair(next, y); }, init, xs)
///   xs  f32[T, ...]     x  f32[...]     y  f32[C]     ys  f32[T, C]
///   scan(f, init, xs, reversed)     from the last row to the first
///   scan(f, init, length<10>)       ten trips; f(carry)
///   scan(f, init, xs, unroll<4>)    four trips in one; options may be given together
///
/// Carries, rows and results are trees. What f captures and what does not depend on its arguments
/// is computed once, before the loop. Rows of a bounded axis are as many as the call brings, and
/// are not unrolled.
/// Cost: T times f; carries are updated in place, rows are read and written where the stacks lie.
/// Gradient: a scan from the other end; each trip keeps what its derivative reads.
/// Ill-formed: the carry changes its type; stacks have different numbers of rows.
template <class F, class Init, class Xs>
  requires(!detail::scan_option<Xs>)  //
[[nodiscard]] constexpr auto scan(const F& f, const Init& init, const Xs& xs,
                                  call_site at = call_site::here()) {
  return detail::scan_with(f, init, xs, {}, at, "scan");
}
template <class F, class Init, class Xs, detail::scan_option A>
  requires(!detail::scan_option<Xs>)  //
[[nodiscard]] constexpr auto scan(const F& f, const Init& init, const Xs& xs, A option,
                                  call_site at = call_site::here()) {
  return detail::scan_with(f, init, xs, detail::scan_options::of(option), at, "scan");
}
template <class F, class Init, class Xs, detail::scan_option A, detail::scan_option B>
  requires(!detail::scan_option<Xs>)  //
[[nodiscard]] constexpr auto scan(const F& f, const Init& init, const Xs& xs, A first, B second,
                                  call_site at = call_site::here()) {
  return detail::scan_with(f, init, xs, detail::scan_options::of(first, second), at, "scan");
}
template <class F, class Init, std::int64_t N>
[[nodiscard]] constexpr auto scan(const F& f, const Init& init, length_option<N> trips,
                                  call_site at = call_site::here()) {
  return detail::scan_with(f, init, std::tuple<>{}, detail::scan_options::of(trips), at, "scan");
}
template <class F, class Init, std::int64_t N, detail::scan_option A>
[[nodiscard]] constexpr auto scan(const F& f, const Init& init, length_option<N> trips, A option,
                                  call_site at = call_site::here()) {
  return detail::scan_with(f, init, std::tuple<>{}, detail::scan_options::of(trips, option), at,
                           "scan");
}

/// `f` of each row, stacked: a scan that carries nothing.
///
///   map(f, xs)     xs  f32[T, ...]     f(x)  f32[C]     out  f32[T, C]
///
/// Gradient, ill-formed: as `scan`.
template <class F, class Xs>
[[nodiscard]] constexpr auto map(const F& f, const Xs& xs, call_site at = call_site::here()) {
  const auto trip = [&](const auto& carry, const auto& x) { return std::pair(carry, f(x)); };
  return detail::scan_with(trip, std::tuple<>{}, xs, {}, at, "map").second;
}

}  // namespace atled
