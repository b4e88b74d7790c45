// atled/transform/lanes.hpp: the options of vmap, arguments taken apart into lanes, and results put
// together again. Reads: transform/variables.hpp, passes/vmap.hpp. Used by transform/vmap.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/axis.hpp"
#include "atled/passes/vmap.hpp"
#include "atled/transform/variables.hpp"

#include <limits>
#include <tuple>
#include <type_traits>

namespace atled {

/// An axis, or `none`, for each member of a tree: `in_axes<each<0, none>>`.
template <auto... Axis>
struct each_axis {};
template <auto... Axis>
inline constexpr each_axis<Axis...> each{};

template <auto... Axis>
struct in_axes_option {};
/// The axis along which each argument is mapped; -1 is the last.
template <auto... Axis>
inline constexpr in_axes_option<Axis...> in_axes{};

template <auto... Axis>
struct out_axes_option {};
/// The axis that counts the lanes in the result, or in each of its members.
template <auto... Axis>
inline constexpr out_axes_option<Axis...> out_axes{};

template <fixed_string Name>
struct axis_name_option {};
/// A name for the axis of lanes, along which psum and other collectives work inside the function.
template <fixed_string Name>
inline constexpr axis_name_option<Name> axis_name{};

namespace detail {

inline constexpr int not_mapped = std::numeric_limits<int>::min();

/// What options say: `in` and `out` are `each_axis<...>`, by default of 0 alone.
template <class... Options>
struct vmap_axes {
  using in = each_axis<0>;
  using out = each_axis<0>;
  static constexpr fixed_string name{""};
};
template <auto... Axis, class... Rest>
struct vmap_axes<in_axes_option<Axis...>, Rest...> : vmap_axes<Rest...> {
  using in = each_axis<Axis...>;
};
template <auto... Axis, class... Rest>
struct vmap_axes<out_axes_option<Axis...>, Rest...> : vmap_axes<Rest...> {
  using out = each_axis<Axis...>;
};

template <fixed_string Name, class... Rest>
struct vmap_axes<axis_name_option<Name>, Rest...> : vmap_axes<Rest...> {
  static constexpr auto name = Name;
};

template <class T>
inline constexpr int num_axes_v = 1;
template <auto... Axis>
inline constexpr int num_axes_v<each_axis<Axis...>> = static_cast<int>(sizeof...(Axis));

template <class Axes, class Tree>
constexpr void push_member_axes(Axes axes, passes::ids& out);

/// The axis of each leaf of a tree for which `axis` was given: one for all, or one for each member.
template <auto Axis, class Tree>
constexpr void push_axes(passes::ids& out) {
  using type = std::remove_cv_t<decltype(Axis)>;
  if constexpr (std::is_same_v<type, none_tag>) {
    for (int i = 0; i < num_leaves_v<Tree>; ++i) out.push(not_mapped);
  } else if constexpr (std::is_integral_v<type>) {
    for (int i = 0; i < num_leaves_v<Tree>; ++i) out.push(static_cast<int>(Axis));
  } else {
    push_member_axes<type, Tree>(Axis, out);
  }
}
template <class Tree>
constexpr int num_members() {
  if constexpr (is_branch_v<Tree>) {
    return static_cast<int>(std::tuple_size_v<decltype(members_of(std::declval<Tree&>()))>);
  } else {
    return 0;
  }
}
template <class Tree, auto... Axis>
constexpr void push_each(each_axis<Axis...>, passes::ids& out) {
  using members = decltype(members_of(std::declval<Tree&>()));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (push_axes<Axis, std::remove_cvref_t<std::tuple_element_t<I, members>>>(out), ...);
  }
  (std::make_index_sequence<sizeof...(Axis)>{});
}
template <class Axes, class Tree>
constexpr void push_member_axes(Axes axes, passes::ids& out) {
  static_assert(num_axes_v<Axes> == num_members<Tree>(),
                "atled::vmap: each<...> must give an axis to each member of a tree");
  if constexpr (num_axes_v<Axes> == num_members<Tree>()) push_each<Tree>(axes, out);
}

/// The axes of all leaves of several trees in a tuple; false where their number does not fit.
template <class Axes, class Trees>
constexpr bool push_all_axes(Axes, passes::ids& out) {
  if constexpr (num_axes_v<Axes> == num_members<Trees>()) {
    push_each<Trees>(Axes{}, out);
    return true;
  } else if constexpr (num_axes_v<Axes> == 1) {
    [&]<auto Axis>(each_axis<Axis>) {
      push_axes<Axis, Trees>(out);
    }
    (Axes{});
    return true;
  } else {
    return false;
  }
}

/// The mapped leaves of a call: variables of their type in one lane, and the nodes that hold all
/// lanes, which axis 0 counts.
struct lane_arguments {
  passes::ids inputs;
  passes::ids mapped;
  std::int64_t size;
  int axis;    ///< its place in ir::graph::axes, or -1
  text first;  ///< `argument 0 axis 0 is 8`, which gave the size
  bool failed;
};

/// Appends one mapped leaf; keeps the sentence where it has no such axis or another size.
constexpr void add_lanes(ir::builder& b, const expr& leaf, int axis, const text& name,
                         lane_arguments& in) {
  const tensor_type type = leaf.type();
  if (axis < -type.rank() || axis >= type.rank()) {
    text why = name;
    why << " is " << type << ", to be mapped along axis " << axis << ": ";
    if (type.rank() == 0) {
      why << "a scalar has no axes; use none";
    } else {
      why << "the axis must be from " << -type.rank() << " to " << type.rank() - 1;
    }
    b.site = {};
    b.fail("vmap", why);
    in.failed = true;
    return;
  }
  const int at = axis < 0 ? axis + type.rank() : axis;
  text here = name;
  here << " axis " << at << " is " << size_text{type.dims[at]};
  if (in.first.empty()) {
    in.first = here;
    in.size = type.dims[at];
  } else if (in.size != type.dims[at]) {
    b.site = {};
    b.fail("vmap", text(in.first) << ", " << here << ": mapped sizes must agree");
    in.failed = true;
    return;
  }
  b.site = b.g[leaf.id()].at;
  // any value of the type of one lane will do: it is not computed
  const int lane = b.variable(b.reduce(op::reduce_sum, leaf.id(), std::int64_t{1} << at));
  in.inputs.push(lane);
  in.mapped.push(passes::detail::moved_axis(b, leaf.id(), at, 0));
}

/// Puts variables for one lane in place of the mapped leaves of the arguments; a name that is not
/// empty is open until `gathered_lanes`.
template <class Axes, class... Args>
constexpr void make_lanes(ir::builder& b, std::string_view name, std::tuple<Args...>& arguments,
                          lane_arguments& in) {
  passes::ids axes{};
  const auto fail = [&](const text& why) {
    b.site = {};
    b.fail("vmap", why);
    in.failed = true;
  };
  if (!push_all_axes<Axes, std::tuple<Args...>>(Axes{}, axes)) {
    fail(text("in_axes has ") << num_axes_v<Axes> << " entries, the call "
                              << static_cast<int>(sizeof...(Args))
                              << " arguments: one for each, or one for all");
    for (int i = 0; i < num_leaves_v<std::tuple<Args...>>; ++i) axes.push(0);
  }
  int leaf_at = 0;
  int argument_at = 0;
  const auto add = [&](const auto& tree) {
    int index = 0;
    for_each_leaf(
        [&](const auto& leaf) {
          const int axis = axes[leaf_at++];
          const text here = leaf_text(tree, static_cast<std::size_t>(argument_at), index++);
          if (axis == not_mapped || in.failed) return;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
            if (leaf.is_poison()) {
              in.failed = true;
            } else {
              add_lanes(b, leaf, axis, here, in);
            }
          } else if (num_axes_v<Axes> > 1) {
            fail(text(here) << " is a number, to be mapped along axis " << axis
                            << ": it has no axes; use none");
          }
        },
        tree);
    ++argument_at;
  };
  std::apply([&](const auto&... argument) { (add(argument), ...); }, arguments);
  if (in.inputs.size == 0 && !in.failed) {
    fail(text("no argument is mapped: in_axes must give an axis to one of them"));
  }
  in.axis = -1;
  if (!name.empty()) {
    in.axis = b.open_axis(name, in.size);
    for (const int lane : in.inputs) b.vary(lane, std::uint32_t{1} << b.g.axes[in.axis].bit);
  }
  int next = 0;
  leaf_at = 0;
  for_each_leaf(
      [&](auto& leaf) {
        const int axis = axes[leaf_at++];
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
          if (in.failed) {
            leaf = {b, ir::poison};
          } else if (axis != not_mapped) {
            leaf = {b, in.inputs[next++]};
          }
        }
      },
      arguments);
}

/// One result for all lanes, which `axis` counts; `not_mapped` for a result that they share.
constexpr int placed_lanes(ir::builder& b, int id, bool is_mapped, std::int64_t size, int axis,
                           int index) {
  if (id < 0) return ir::poison;
  text why = "output ";
  why << index;
  if (axis == not_mapped) {
    if (!is_mapped) return id;
    b.site = {};
    return b.fail("vmap", why << " differs between lanes: out_axes must give it an axis, not none");
  }
  const int rank = b.type(id).rank() + (is_mapped ? 0 : 1);
  if (axis < -rank || axis >= rank || rank > max_rank) {
    b.site = {};
    why << " is " << b.type(id) << (is_mapped ? " in all lanes" : " in each lane")
        << ", to be counted by axis " << axis << ": ";
    if (rank > max_rank) {
      why << "it would have more than 8 axes";
    } else {
      why << "the axis must be from " << -rank << " to " << rank - 1;
    }
    return b.fail("vmap", why);
  }
  b.site = b.g[id].at;
  const int all = is_mapped ? id : passes::detail::repeated(b, id, size);
  return passes::detail::moved_axis(b, all, 0, axis < 0 ? axis + rank : axis);
}

/// The result of the function on variables, for all lanes: a tree of expressions like it.
template <class Axes, class Result>
constexpr auto gathered_lanes(ir::builder& b, const lane_arguments& in, const Result& result) {
  passes::ids axes{};
  passes::ids outputs{};
  if (!push_all_axes<Axes, Result>(Axes{}, axes)) {
    b.site = {};
    b.fail("vmap", text("out_axes has ")
                       << num_axes_v<Axes> << " entries, the result " << num_members<Result>()
                       << " members: one for each, or one for all");
    for (int i = 0; i < num_leaves_v<Result>; ++i) axes.push(0);
  }
  for_each_leaf(
      [&](const auto& leaf) {
        using type = std::remove_cvref_t<decltype(leaf)>;
        if constexpr (std::is_arithmetic_v<type>) {
          outputs.push(b.constant(static_cast<double>(leaf), leaf_type<type>().element));
        } else {
          static_assert(std::is_same_v<type, expr>,
                        "atled::vmap: the function returns a leaf that is no expression; it must "
                        "return tensors computed from its arguments, or trees of them");
          outputs.push(leaf.id());
        }
      },
      result);
  passes::lane_ids lanes{};
  if (in.failed || !b.problem.empty()) {
    for (int i = 0; i < outputs.size; ++i) lanes.values.push(ir::poison);
  } else {
    passes::vmap(b, outputs, in.inputs, in.mapped, in.size, in.axis, lanes);
  }
  if (in.axis >= 0) b.close_axis();
  traced_t<Result> out{};
  int index = 0;
  for_each_leaf(
      [&](auto& leaf) {
        leaf = {b, placed_lanes(b, lanes.values[index], lanes.is_mapped[index], in.size,
                                axes[index], index)};
        ++index;
      },
      out);
  return out;
}

}  // namespace detail
}  // namespace atled
