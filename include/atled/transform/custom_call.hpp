// atled/transform/custom_call.hpp: a call whose derivative the user gives: its arguments as leaves,
// and back. Reads: transform/variables.hpp, ir/custom_rule.hpp.
// Next: transform/custom_jvp.hpp, transform/custom_vjp.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/variables.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace atled {

/// Which arguments have no derivative: `custom_vjp(f, fwd, bwd, nondiff_argnums<1>)`. They come
/// first where a rule is called, and may be anything: numbers, functions, structs.
template <int... Index>
struct nondiff_argnums_option {};
template <int... Index>
inline constexpr nondiff_argnums_option<Index...> nondiff_argnums{};

namespace detail {

/// The places from 0 to `Count` - 1 that are, or are not, in a list.
template <bool Wanted, class List, std::size_t Count, std::size_t At = 0, std::size_t... Found>
struct places;
template <bool Wanted, int... Index, std::size_t Count, std::size_t At, std::size_t... Found>
struct places<Wanted, nondiff_argnums_option<Index...>, Count, At, Found...> {
  static constexpr auto make() {
    if constexpr (At == Count) {
      return std::index_sequence<Found...>{};
    } else if constexpr ((false || ... || (Index == static_cast<int>(At))) == Wanted) {
      return places<Wanted, nondiff_argnums_option<Index...>, Count, At + 1, Found..., At>::make();
    } else {
      return places<Wanted, nondiff_argnums_option<Index...>, Count, At + 1, Found...>::make();
    }
  }
};

/// The arguments of a call, and which of them are differentiated.
template <class NonDiff, class... Args>
struct custom_arguments {
  static constexpr std::size_t count = sizeof...(Args);
  using fixed_places = decltype(places<true, NonDiff, count>::make());
  using moving_places = decltype(places<false, NonDiff, count>::make());

  std::tuple<Args...> all;

  template <class Fn>
  constexpr auto with_fixed(Fn&& fn) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return fn(std::get<I>(all)...);
    }
    (fixed_places{});
  }
  /// The differentiated arguments in a tuple.
  [[nodiscard]] constexpr auto moving() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple<std::tuple_element_t<I, std::tuple<Args...>>...>(std::get<I>(all)...);
    }
    (moving_places{});
  }
  /// `fn(leaf)` for each expression in the differentiated arguments.
  template <class Fn>
  constexpr void for_each_moving(Fn&& fn) {
    const auto visit = [&](auto& leaf) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) fn(leaf);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (for_each_leaf(visit, std::get<I>(all)), ...);
    }
    (moving_places{});
  }
  /// `fn(leaf)` for each expression in the others.
  template <class Fn>
  constexpr void for_each_fixed(Fn&& fn) {
    const auto visit = [&](auto& leaf) {
      if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) fn(leaf);
    };
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (for_each_leaf(visit, std::get<I>(all)), ...);
    }
    (fixed_places{});
  }
  /// The same arguments at other nodes, those that are differentiated first.
  [[nodiscard]] constexpr custom_arguments at(ir::builder& b, const int* inputs) const {
    custom_arguments out = *this;
    const auto move = [&](expr& leaf) { leaf = {b, *inputs++}; };
    out.for_each_moving(move);
    out.for_each_fixed(move);
    return out;
  }
};

/// `verb: what leaf 1 is f32[3], result leaf 1 is f32[4]: their types must be equal`.
constexpr bool has_type(ir::builder& b, const char* verb, const call_site& at,
                        std::string_view what, int index, const tensor_type& given,
                        std::string_view of, const tensor_type& wanted) {
  if (given == wanted) return true;
  text why;
  why << what << " leaf " << index << " is " << given << ", leaf " << index << " of " << of << ' '
      << wanted << ": their types must be equal";
  b.fail_as(verb, at, why);
  return false;
}

/// The nodes of `given`, a tree of the structure of `wanted`, whose types it must have. A number
/// stands for a splat, and 0 for no node; what stands for an integer is not read.
template <class Given, class Wanted>
constexpr void leaves_like(ir::builder& b, const char* verb, const call_site& at,
                           std::string_view what, const Given& given, std::string_view of,
                           const Wanted& wanted, int& index, int* out) {
  if constexpr (std::is_arithmetic_v<Given>) {
    for_each_leaf(
        [&](const auto& leaf) {
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
            const bool is_zero = given == Given{} || leaf.is_poison();
            out[index++] = is_zero ? ir::no_node : b.splat(static_cast<double>(given), leaf.type());
          }
        },
        wanted);
  } else if constexpr (!is_branch_v<Wanted>) {
    static_assert(!is_branch_v<Given>,
                  "atled::custom_vjp, custom_jvp: a rule returns a tree where the function has "
                  "a tensor: its derivative must have the structure of what it belongs to");
    if constexpr (std::is_same_v<Wanted, expr>) {
      int id = given.id();
      if (wanted.is_poison() || id < 0) {
        id = ir::poison;
      } else if (!is_floating(wanted.element())) {
        id = ir::no_node;
      } else if (!has_type(b, verb, at, what, index, given.type(), of, wanted.type())) {
        id = ir::poison;
      }
      out[index++] = id;
    }
  } else {
    const auto given_members = members_of(given);
    const auto wanted_members = members_of(wanted);
    constexpr auto size = std::tuple_size_v<decltype(wanted_members)>;
    static_assert(is_branch_v<Given> && std::tuple_size_v<decltype(given_members)> == size,
                  "atled::custom_vjp, custom_jvp: a derivative has another number of parts than "
                  "what it belongs to: it must be a tree of the same structure");
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (leaves_like(b, verb, at, what, std::get<I>(given_members), of, std::get<I>(wanted_members),
                   index, out),
       ...);
    }
    (std::make_index_sequence<size>{});
  }
}

/// Runs `f` on arguments that stop gradients, and puts an op::custom in place of each result.
///
/// `make_rule(arguments, result)` gives the rule on the heap.
template <class NonDiff, class F, class MakeRule, class... Args>
constexpr auto call_custom(const char* verb, const F& f, const MakeRule& make_rule,
                           const Args&... args) {
  using arguments = custom_arguments<NonDiff, Args...>;
  arguments given{std::tuple<Args...>(args...)};
  ir::builder& b = *builder_of_tree(given.all);
  ir::attribute_list attributes{};
  int operands[ir::operand_types::capacity]{};
  int count = 1;
  bool is_fine = true;
  arguments stopped = given;
  stopped.for_each_moving([&](expr& leaf) {
    is_fine = is_fine && !leaf.is_poison();
    if (count == ir::operand_types::capacity - 1) {
      b.site = {};
      b.fail(verb, text("its arguments have more than 62 leaves: pack them, or name those that "
                        "have no derivative in nondiff_argnums"));
      is_fine = false;
    }
    if (!is_fine) return;
    operands[count++] = leaf.id();
    b.site = b.g[leaf.id()].at;
    leaf = {b, b.unary(op::stop_gradient, leaf.id())};
  });
  given.for_each_fixed([&](const expr& leaf) {
    is_fine = is_fine && !leaf.is_poison();
    if (count < ir::operand_types::capacity - 1) operands[count++] = leaf.id();
  });
  auto out = std::apply([&](const auto&... argument) { return f(argument...); }, stopped.all);
  int index = 0;
  for_each_leaf(
      [&](const auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          is_fine = is_fine && !leaf.is_poison();
          ++index;
        }
      },
      out);
  if (index >= ir::operand_types::capacity) {
    b.site = {};
    b.fail(verb, text("its result has more than 63 leaves: pack them"));
    is_fine = false;
  }
  if (!is_fine) return out;
  auto* rule = make_rule(given, out);
  rule->num_outputs = index;
  attributes.push(b.keep_rule(rule));
  attributes.push(0);
  index = 0;
  for_each_leaf(
      [&](auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          attributes.values[1] = index++;
          if (!is_floating(leaf.element())) return;
          operands[0] = leaf.id();
          b.site = b.g[leaf.id()].at;
          leaf = {b, b.append(op::custom, operands, count, attributes)};
        }
      },
      out);
  return out;
}

}  // namespace detail
}  // namespace atled
