// atled/transform/variables.hpp: the arguments of a function as variables of a transformation, and
// trees of their cotangents. Reads: trace/trace.hpp, passes/ids.hpp. Used by grad, vjp, jvp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/ids.hpp"
#include "atled/trace/trace.hpp"

#include <tuple>
#include <type_traits>

namespace atled::detail {

/// The builder of the first expression in a tree, or null.
template <class Tree>
constexpr ir::builder* builder_of_tree(const Tree& tree) {
  ir::builder* out = nullptr;
  for_each_leaf(
      [&](const auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          if (out == nullptr && leaf.is_traced()) out = &leaf.builder();
        }
      },
      tree);
  return out;
}

/// `argument 0`, or `argument 0 leaf hidden.weight`.
template <class Tree>
constexpr text leaf_text(const Tree& tree, std::size_t argument, int wanted) {
  text out = "argument ";
  out << static_cast<std::int64_t>(argument);
  int index = 0;
  for_each_named_leaf(
      [&](std::string_view name, const auto&) {
        if (index++ == wanted && !name.empty()) out << " leaf " << name;
      },
      tree);
  return out;
}

/// Makes each leaf a variable of the transformation; it must be a floating expression.
template <class Tree>
constexpr void make_variables(ir::builder& b, std::string_view verb, std::size_t argument,
                              Tree& tree, passes::ids& inputs) {
  int index = 0;
  for_each_leaf(
      [&](auto& leaf) {
        static_assert(std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>,
                      "atled::grad: an argument to differentiate by holds a plain number: inside "
                      "a trace it must be an expression; leave it out with argnums");
        if (!leaf.is_poison() && !is_floating(leaf.element())) {
          b.site = {};
          b.fail(verb, leaf_text(tree, argument, index)
                           << " is " << leaf.type()
                           << ": it must be of a floating type; choose others with argnums");
          leaf = {b, ir::poison};
        }
        if (!leaf.is_poison()) {
          b.site = b.g[leaf.id()].at;
          leaf = {b, b.variable(leaf.id())};
        }
        inputs.push(leaf.id());
        ++index;
      },
      tree);
}

/// The tree with derivatives from `begin` on in place of its leaves: zeros where there is none, and
/// for plain numbers 0.
template <class Tree>
constexpr Tree with_derivatives(ir::builder& b, const Tree& tree, const passes::ids& derivatives,
                                int& begin) {
  Tree out = tree;
  for_each_leaf(
      [&](auto& leaf) {
        int id = derivatives[begin++];
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          if (id == ir::no_node && !leaf.is_poison()) id = passes::zeros_like(b, leaf.id());
          leaf = {b, leaf.is_poison() ? ir::poison : id};
        } else {
          leaf = {};
        }
      },
      out);
  return out;
}

/// Makes each floating leaf a variable and its place in `inputs`; other leaves are left as they are
/// and are `ir::no_node` there.
template <class Tree>
constexpr void make_variables_where_floating(Tree& tree, passes::ids& inputs) {
  for_each_leaf(
      [&](auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          if (leaf.is_poison()) {
            inputs.push(ir::poison);
          } else if (is_floating(leaf.element())) {
            ir::builder& b = leaf.builder();
            b.site = b.g[leaf.id()].at;
            leaf = {b, b.variable(leaf.id())};
            inputs.push(leaf.id());
          } else {
            inputs.push(ir::no_node);
          }
        } else {
          inputs.push(ir::no_node);
        }
      },
      tree);
}

/// The leaves of a tree as nodes; a plain number is `ir::no_node`.
template <class Tree>
constexpr void append_leaves(const Tree& tree, passes::ids& out) {
  for_each_leaf(
      [&](const auto& leaf) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          out.push(leaf.id());
        } else {
          out.push(ir::no_node);
        }
      },
      tree);
}

/// A list without the places where the other is `ir::no_node`.
constexpr passes::ids only_where(const passes::ids& list, const passes::ids& chosen) {
  passes::ids out{};
  for (int i = 0; i < list.size; ++i) {
    if (chosen[i] != ir::no_node) out.push(list[i]);
  }
  return out;
}

/// The opposite of `only_where`: `ir::no_node` in the places that were left out.
constexpr passes::ids spread_where(const passes::ids& list, const passes::ids& chosen) {
  passes::ids out{};
  int next = 0;
  for (const int id : chosen) out.push(id == ir::no_node ? ir::no_node : list[next++]);
  return out;
}

/// Each of `given` has the type of its partner; a sentence where it has not, and poison for it.
constexpr void check_partners(ir::builder& b, std::string_view verb, std::string_view noun,
                              const passes::ids& of, passes::ids& given) {
  for (int i = 0; i < of.size; ++i) {
    if (of[i] < 0 || given[i] < 0 || b.type(of[i]) == b.type(given[i])) continue;
    text why = "leaf ";
    why << i << " is " << b.type(of[i]) << ", its " << noun << ' ' << b.type(given[i])
        << ": their types must be equal";
    b.site = {};
    b.fail(verb, why);
    given.values[i] = ir::poison;
  }
}

}  // namespace atled::detail
