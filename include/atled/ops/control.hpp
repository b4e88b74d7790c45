// atled/ops/control.hpp: loops and branches that run as such: while_loop, fori_loop, cond, switch_.
// Reads: ops/scan.hpp, ir/regions.hpp. A plain `for` in a traced function is unrolled; these are
// not. Their functions may capture: they are called while tracing.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ops/associative_scan.hpp"

namespace atled {

/// `while_loop(c, f, init, max_trips<64>)`: it ends after 64 trips at the latest.
template <std::int64_t N>
struct max_trips_option {};
template <std::int64_t N>
inline constexpr max_trips_option<N> max_trips{};

namespace detail {

template <class C, class F, class Init>
constexpr auto while_with(const C& condition, const F& f, const Init& init, std::int64_t trips,
                          const call_site& at) {
  ir::builder& b = loop_builder(init);
  b.site = at.in("while_loop");
  const call_site site = b.site;
  const auto next_of = [&](const auto& carry, const auto&) {
    auto next = f(carry);
    static_assert(std::is_same_v<traced_t<decltype(next)>, std::remove_cvref_t<decltype(carry)>>,
                  "atled::while_loop: the carry after a trip must be a tree like the one it began "
                  "as");
    return as_expressions(b, next, carry);
  };
  const auto begin = begin_carry(b, next_of, init, std::tuple<>{});
  b.site = site;
  const bool is_fine = is_shallow(b);
  const std::int64_t region = b.new_region();
  const int depth = b.depth();
  const auto carry = bound_tree(b, op::carry, begin, region);
  b.open_loop();
  auto goes_on = condition(carry);
  b.site = site;
  const int predicate = as_predicate(b, goes_on);
  const auto next = next_of(carry, std::tuple<>{});
  b.close_region();
  b.site = site;
  ir::operand_list operands{};
  push_leaves(carry, operands);
  const int num_carries = operands.size;
  operands.push(predicate);
  push_leaves(next, operands);
  int made = ir::poison;
  if (is_fine && keeps_types(b, begin, next) && keeps_ranks(b, carry, next)) {
    made = ir::make_loop(b, region, depth, trips, ir::loop_parts::has_predicate, num_carries, 0, 0,
                         operands);
  }
  int first = 0;
  return results_of(b, made, first, next);
}

}  // namespace detail

/// Runs `f` as long as the condition holds.
///
///   while_loop([](auto y) { return y < 100.0; }, [](auto y) { return y * y; }, x)
///   while_loop(condition, f, init, max_trips<64>)     ends after 64 trips at the latest
///
/// Gradient: forward always; in reverse with max_trips, which bounds what the trips must keep.
/// Ill-formed: the condition gives no single boolean; the carry changes its type; the condition
/// differs between ranks that meet in a collective inside.
template <class C, class F, class Init>
[[nodiscard]] constexpr auto while_loop(const C& condition, const F& f, const Init& init,
                                        call_site at = call_site::here()) {
  return detail::while_with(condition, f, init, -1, at);
}
template <class C, class F, class Init, std::int64_t N>
[[nodiscard]] constexpr auto while_loop(const C& condition, const F& f, const Init& init,
                                        max_trips_option<N>, call_site at = call_site::here()) {
  static_assert(N >= 0, "atled::while_loop: max_trips must be 0 or more");
  return detail::while_with(condition, f, init, N, at);
}

namespace detail {

/// A loop with a number of trips that is known when it begins: upper - lower.
template <class F, class Init>
constexpr auto fori_counted(ir::builder& b, const located& lower, const located& upper, const F& f,
                            const Init& init, std::int64_t bound) {
  const call_site site = b.site;
  const auto limit = [&](const located& x) {
    if (x.is_literal()) {
      return b.integer_constant(static_cast<std::int64_t>(x.literal()), dtype::i32);
    }
    if (x.value().is_poison()) return ir::poison;
    const tensor_type type = x.value().type();
    if (is_integer(type.element) && type.rank() == 0) return b.convert(x.value().id(), dtype::i32);
    text why = "limit ";
    return b.fail(b.site.function, why << type << ": it must be one integer");
  };
  const int first = limit(lower);
  const int end = limit(upper);
  const auto next_of = [&](const auto& carry, const auto& i) {
    return as_expressions(b, f(i, carry), carry);
  };
  const bool is_fine = is_shallow(b);
  const auto begin = begin_carry(b, next_of, init, expr(b, b.broadcast(first, shape::of({1}), 0)));
  b.site = site;
  const std::int64_t region = b.new_region();
  const int depth = b.depth();
  const auto carry = bound_tree(b, op::carry, begin, region);
  const int i = b.bound(op::carry, first, region, depth);
  b.open_loop();
  const auto next = next_of(carry, expr(b, i));
  b.site = site;
  const int next_i = i < 0 ? i : b.add(i, b.integer_constant(1, dtype::i32));
  b.close_region();
  ir::operand_list operands{};
  push_leaves(carry, operands);
  operands.push(i);
  const int num_carries = operands.size;
  operands.push(first < 0 || end < 0 ? ir::poison : b.sub(end, first));
  push_leaves(next, operands);
  operands.push(next_i);
  int made = ir::poison;
  if (is_fine && keeps_types(b, begin, next) && keeps_ranks(b, carry, next)) {
    made = ir::make_loop(b, region, depth, bound, ir::loop_parts::has_count, num_carries, 0, 0,
                         operands);
  }
  int at = 0;
  return results_of(b, made, at, next);
}

/// Trip number lower + i for i from 0 on, as long as it is below upper.
template <class F, class Init>
constexpr auto fori_with(const located& lower, const located& upper, const F& f, const Init& init,
                         std::int64_t bound, const call_site& at) {
  ir::builder* found = find_builder(init);
  if (found == nullptr) {
    if (lower.is_literal() && upper.is_literal()) {
      throw "fori_loop: bounds and carry are plain numbers: begin with zeros_like(x)";
    }
    found = &(lower.is_literal() ? upper : lower).value().builder();
  }
  ir::builder& b = *found;
  b.site = at.in("fori_loop");
  const auto trip = [&](const auto& carry, const auto& i) {
    auto next = f(i, carry);
    return std::pair(next, std::tuple<>{});
  };
  if (lower.is_literal() && upper.is_literal()) {
    const auto first = static_cast<std::int64_t>(lower.literal());
    const auto end = static_cast<std::int64_t>(upper.literal());
    const std::int64_t trips = end > first ? end - first : 0;
    const tensor_type type{dtype::i32, shape::of({trips})};
    const int offset = b.splat(static_cast<double>(first), type);
    const expr numbers(b, first == 0 ? b.iota(type, 0) : b.add(b.iota(type, 0), offset));
    return scan_with(trip, init, numbers, {}, at, "fori_loop").first;
  } else {
    return fori_counted(b, lower, upper, f, init, bound);
  }
}

}  // namespace detail

/// Runs `f(i, carry)` for i from `lower` to `upper` - 1; `f` gives the next carry.
///
///   fori_loop(0, 10, [&](auto i, auto c) { return c * r; }, c0)
///   fori_loop(0, n, f, init)                  n is computed by the program
///   fori_loop(0, n, f, init, max_trips<64>)   and at most 64
///
/// Gradient: where the limits are numbers, as `scan`; else forward always, in reverse as
/// `while_loop`.
/// Ill-formed: a limit is no integer; the carry changes its type.
template <class F, class Init>
[[nodiscard]] constexpr auto fori_loop(const located& lower, const located& upper, const F& f,
                                       const Init& init, call_site at = call_site::here()) {
  return detail::fori_with(lower, upper, f, init, -1, at);
}
template <class F, class Init, std::int64_t N>
[[nodiscard]] constexpr auto fori_loop(const located& lower, const located& upper, const F& f,
                                       const Init& init, max_trips_option<N>,
                                       call_site at = call_site::here()) {
  static_assert(N >= 0, "atled::fori_loop: max_trips must be 0 or more");
  return detail::fori_with(lower, upper, f, init, N, at);
}

namespace detail {

/// What a branch gives, as its function returns it.
template <class F, class... Args>
constexpr auto run_branch(ir::builder& b, std::int64_t region, int branch, const F& f,
                          const Args&... args) {
  b.open_branch(static_cast<int>(region), branch);
  auto result = f(args...);
  b.close_region();
  return result;
}

/// Both are of one type at each place; else a sentence, and false.
template <class Tree>
constexpr bool are_alike(ir::builder& b, const Tree& first, const Tree& other) {
  bool out = true;
  int index = 0;
  for_each_leaf(
      [&](const expr& x, const expr& y) {
        const int at = index++;
        if (!out || x.is_poison() || y.is_poison() || x.type() == y.type()) return;
        text why = leaf_name(first, at);
        b.fail(b.site.function, why << " is " << x.type() << " in one branch and " << y.type()
                                    << " in another: they must be equal");
        out = false;
      },
      first, other);
  return out;
}

template <class... F, class... Args, std::size_t... I>
constexpr auto branches_of(ir::builder& b, int index, const std::tuple<F...>& branches,
                           std::index_sequence<I...>, const Args&... args) {
  const call_site at = b.site;
  const bool is_fine = is_shallow(b) && index >= 0;
  const std::int64_t region = b.new_region();
  b.decide(region, b.varies(index) & b.rank_axes());
  // braces keep the order in which the branches run
  auto results =
      std::tuple{run_branch(b, region, static_cast<int>(I), std::get<I>(branches), args...)...};
  b.site = at;
  using tree = traced_t<std::tuple_element_t<0, decltype(results)>>;
  static_assert((std::is_same_v<tree, traced_t<std::tuple_element_t<I, decltype(results)>>> && ...),
                "atled::cond: the branches must give trees of one type");
  // A number takes the element type that another branch has there.
  tree like = as_expressions(b, std::get<0>(results), std::get<0>(results));
  const auto prefer = [&](const auto& result) {
    for_each_leaf(
        [&](expr& to, const auto& from) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(from)>, expr>) to = from;
        },
        like, result);
  };
  (prefer(std::get<I>(results)), ...);
  const std::array<tree, sizeof...(I)> trees{as_expressions(b, std::get<I>(results), like)...};
  ir::operand_list operands{};
  operands.push(index);
  bool agree = is_fine;
  for (std::size_t i = 0; i < trees.size(); ++i) {
    agree = agree && are_alike(b, trees[0], trees[i]);
    push_leaves(trees[i], operands);
  }
  constexpr int count = static_cast<int>(sizeof...(I));
  const int made =
      agree ? ir::make_cond(b, region, b.depth(), count, (operands.size - 1) / count, operands)
            : ir::poison;
  int begin = 0;
  return results_of(b, made, begin, trees[0]);
}

}  // namespace detail

/// `f(args...)` where the predicate is true, else `g(args...)`; only one of them runs.
///
///   cond(x > 0.0, [](auto x) { return log(x); }, [](auto x) { return square(x); }, x)
///
/// The branches may capture instead of taking arguments; they give trees of one type.
/// Gradient: through the branch that is taken.
/// Ill-formed: the predicate is no single boolean; the branches differ in type; the predicate
/// differs between ranks that meet in a collective of a branch.
template <class F, class G, class... Args>
[[nodiscard]] constexpr auto cond(const located& predicate, const F& f, const G& g,
                                  const Args&... args) {
  ir::builder& b = predicate.value().builder();
  b.site = predicate.at().in("cond");
  const int index = detail::as_predicate(b, predicate.value());
  return detail::branches_of(b, index, std::tuple<const G&, const F&>(g, f),
                             std::make_index_sequence<2>{}, args...);
}

/// The branch number `index`, clamped to those there are; only that one runs.
///
///   switch_(i, std::tuple(f, g, h), args...)
///
/// Gradient: through the branch that is taken.
/// Ill-formed: the index is no single integer; the branches differ in type.
template <class... F, class... Args>
[[nodiscard]] constexpr auto switch_(const located& index, const std::tuple<F...>& branches,
                                     const Args&... args) {
  static_assert(sizeof...(F) > 0 && sizeof...(F) <= 64,
                "atled::switch_: it takes 1 to 64 branches");
  ir::builder& b = index.value().builder();
  b.site = index.at().in("switch_");
  const expr& value = index.value();
  int id = value.id();
  if (!value.is_poison() && (!is_integer(value.element()) || value.rank() != 0)) {
    text why = "index ";
    id = b.fail(b.site.function, why << value.type() << ": it must be one integer");
  }
  return detail::branches_of(b, b.convert(id, dtype::i32), branches,
                             std::index_sequence_for<F...>{}, args...);
}

}  // namespace atled
