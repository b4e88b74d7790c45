// atled/ops/bodies.hpp: how loops and branches read the trees that a user gives them, and run the
// user's functions on what is bound inside. Reads: trace/trace.hpp, ops/operand.hpp.
// Next: ops/control.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/make_regions.hpp"
#include "atled/ops/operand.hpp"
#include "atled/trace/trace.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace atled::detail {

/// The builder of the first expression among these trees, or null.
template <class... Tree>
constexpr ir::builder* find_builder(const Tree&... trees) {
  ir::builder* out = nullptr;
  const auto look = [&](const auto& leaf) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
      if (out == nullptr && leaf.is_traced()) out = &leaf.builder();
    }
  };
  (for_each_leaf(look, trees), ...);
  return out;
}

/// The builder that a loop's nodes go to. A loop over plain numbers alone would not know its
/// program, whatever its body captures.
template <class... Tree>
constexpr ir::builder& loop_builder(const Tree&... trees) {
  static_assert((false || ... || holds_expressions<Tree>()),
                "atled: a loop begins with plain numbers only: a carry or a stack of rows must be "
                "an expression; begin with zeros_like(x) of an x of the program");
  return *find_builder(trees...);
}

/// `leaf hidden.weight`, or `leaf 0` where it has no name.
template <class Tree>
constexpr text leaf_name(const Tree& tree, int wanted) {
  text out = "leaf ";
  int index = 0;
  for_each_named_leaf(
      [&](std::string_view name, const auto&) {
        if (index++ != wanted) return;
        if (name.empty()) {
          out << wanted;
        } else {
          out << name;
        }
      },
      tree);
  return out;
}

/// A tree of expressions like `tree`; numbers become constants, of the element type of `like` at
/// that place where it has one.
template <class Tree, class Like>
constexpr traced_t<Tree> as_expressions(ir::builder& b, const Tree& tree, const Like& like) {
  traced_t<Tree> out{};
  for_each_leaf(
      [&](expr& to, const auto& from, const auto& beside) {
        using leaf = std::remove_cvref_t<decltype(from)>;
        if constexpr (std::is_same_v<leaf, expr>) {
          to = from;
        } else {
          static_assert(std::is_arithmetic_v<leaf>,
                        "atled: a loop or branch gives a leaf that is no expression; it must "
                        "give tensors computed from its arguments, or trees of them");
          dtype element = std::is_same_v<leaf, bool>       ? dtype::boolean
                          : std::is_floating_point_v<leaf> ? dtype::f32
                                                           : dtype::i32;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(beside)>, expr>) {
            if (beside.is_traced() && !beside.is_poison()) element = beside.element();
          }
          to = {b, b.constant(static_cast<double>(from), element)};
        }
      },
      out, tree, like);
  return out;
}

template <class Tree>
constexpr void push_leaves(const Tree& tree, ir::operand_list& out) {
  for_each_leaf([&](const expr& leaf) { out.push(leaf.id()); }, tree);
}

/// What a loop binds in place of the leaves of `from`: carries, or the items of stacks.
template <class Tree>
constexpr Tree bound_tree(ir::builder& b, op code, const Tree& from, std::int64_t region) {
  Tree out = from;
  for_each_leaf([&](expr& leaf) { leaf = {b, b.bound(code, leaf.id(), region, b.depth())}; }, out);
  return out;
}

/// The results of `of` from `begin` on, in the form of `like`.
template <class Tree>
constexpr Tree results_of(ir::builder& b, int of, int& begin, const Tree& like) {
  Tree out = like;
  for_each_leaf([&](expr& leaf) { leaf = {b, b.result_of(of, begin++)}; }, out);
  return out;
}

/// Each leaf after a trip has the type that it began with; else a sentence, and false.
template <class Tree>
constexpr bool keeps_types(ir::builder& b, const Tree& begin, const Tree& next) {
  bool out = true;
  int index = 0;
  for_each_leaf(
      [&](const expr& first, const expr& second) {
        const int at = index++;
        if (first.is_poison() || second.is_poison() || first.type() == second.type()) return;
        text why = "carry ";
        why << leaf_name(begin, at) << " begins as " << first.type() << " and is " << second.type()
            << " after a trip: it must keep its type";
        b.fail(b.site.function, why);
        out = false;
      },
      begin, next);
  return out;
}

/// A carry that ranks share must be shared after a trip; else a sentence, and false. Its body was
/// traced as if it were.
template <class Tree>
constexpr bool keeps_ranks(ir::builder& b, const Tree& begin, const Tree& next) {
  bool out = true;
  int index = 0;
  for_each_leaf(
      [&](const expr& first, const expr& second) {
        const int at = index++;
        const std::uint32_t more = b.varies(second.id()) & ~b.varies(first.id()) & b.rank_axes();
        if (more == 0 || !out) return;
        text why = "carry ";
        why << leaf_name(begin, at)
            << " begins as what ranks share and differs between them after a trip: begin with "
               "pvary(";
        for (int i = 0, count = 0; i < b.num_open_axes(); ++i) {
          if (((more >> i) & 1U) == 0) continue;
          why << (count++ == 0 ? "x, axis of " : " and ") << b.g.axes[b.open_axis_at(i)].view();
        }
        b.fail(b.site.function, why << ')');
        out = false;
      },
      begin, next);
  return out;
}

/// The number of rows of all stacks, which are equal; -1 after a sentence.
template <class Tree>
constexpr std::int64_t num_rows(ir::builder& b, const Tree& stacks, std::int64_t wanted = -1) {
  std::int64_t rows = wanted;
  bool is_fine = true;
  int index = 0;
  for_each_leaf(
      [&](const expr& stack) {
        const int at = index++;
        if (stack.is_poison() || !is_fine) return;
        text why = leaf_name(stacks, at);
        if (stack.rank() == 0) {
          b.fail(b.site.function,
                 why << " of xs is " << stack.type() << ": it must have an axis to run along");
          is_fine = false;
        } else if (rows >= 0 && stack.dim(0) != rows) {
          b.fail(b.site.function, why << " of xs is " << stack.type() << ": axis 0 must be "
                                      << size_text{rows} << ", as before");
          is_fine = false;
        } else {
          rows = stack.dim(0);
        }
      },
      stacks);
  return is_fine && rows >= 0 ? rows : -1;
}

/// Regions nest no deeper than a mask can tell; a sentence, and false, beyond that.
constexpr bool is_shallow(ir::builder& b) {
  if (b.depth() + 1 < ir::max_depth) return true;
  b.fail(b.site.function, text("loops and branches nest more than 30 deep"));
  return false;
}

/// The tree with poison for leaves: the result of an ill-formed loop.
template <class Tree>
constexpr Tree poisoned(ir::builder& b, const Tree& like) {
  Tree out = like;
  for_each_leaf([&](expr& leaf) { leaf = {b, ir::poison}; }, out);
  return out;
}

/// A predicate is one boolean; else a sentence, and poison.
template <class T>
constexpr int as_predicate(ir::builder& b, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return b.constant(value ? 1 : 0, dtype::boolean);
  } else {
    static_assert(std::is_same_v<T, expr>, "atled: a predicate must be one boolean expression");
    if (value.is_poison()) return ir::poison;
    if (value.type() == tensor_type{dtype::boolean, {}}) return value.id();
    text why = "predicate ";
    return b.fail(b.site.function, why << value.type() << ": it must be one boolean");
  }
}

}  // namespace atled::detail
