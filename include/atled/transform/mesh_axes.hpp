// atled/transform/mesh_axes.hpp: the axes of a mesh around a function while it is traced: its
// arguments differ between ranks as their specs say, and its results must.
// Reads: core/partition_spec.hpp, transform/lanes.hpp. Used by transform/shard_map.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"
#include "atled/transform/lanes.hpp"

#include <tuple>
#include <type_traits>

namespace atled {

template <auto... Spec>
struct in_specs_option {};
/// Which mesh axes split each argument: `in_specs<P<"data">, P<>>`.
template <auto... Spec>
inline constexpr in_specs_option<Spec...> in_specs{};

template <auto... Spec>
struct out_specs_option {};
/// Which mesh axes split the result, or each of its members.
template <auto... Spec>
inline constexpr out_specs_option<Spec...> out_specs{};

namespace detail {

/// In place of a spec: the value differs along all axes of the mesh, whatever its rank is.
struct differs_tag {};
inline constexpr differs_tag differs{};

/// The specs of the leaves of some trees.
struct leaf_specs {
  static constexpr int capacity = passes::ids::capacity;
  std::uint8_t axes[capacity];  ///< that split it, one bit each, in the order of the mesh
  std::uint8_t entries[capacity];
  int size;
  text problem;

  constexpr void push(const named_spec& named, const mesh_shape& mesh, int count) {
    const resolved_spec found = resolve(named, mesh);
    if (problem.empty()) problem = found.problem;
    for (int i = 0; i < count; ++i) {
      axes[size] = static_cast<std::uint8_t>(found.spec.used());
      entries[size++] = static_cast<std::uint8_t>(named.rank);
    }
  }
};

template <class Tree, auto... Spec>
constexpr void push_member_specs(each_axis<Spec...>, const mesh_shape& mesh, leaf_specs& out);

/// The spec of each leaf of a tree for which `Spec` was given: one for all, or one a member.
template <auto Spec, class Tree>
constexpr void push_specs(const mesh_shape& mesh, leaf_specs& out) {
  using type = std::remove_cv_t<decltype(Spec)>;
  if constexpr (std::is_convertible_v<type, named_spec>) {
    out.push(Spec, mesh, num_leaves_v<Tree>);
  } else if constexpr (std::is_same_v<type, differs_tag>) {
    for (int i = 0; i < num_leaves_v<Tree>; ++i) out.axes[out.size++] = 255;
  } else {
    static_assert(num_axes_v<type> == num_members<Tree>(),
                  "atled::shard_map: each<...> must give a spec to each member of a tree");
    if constexpr (num_axes_v<type> == num_members<Tree>()) {
      push_member_specs<Tree>(Spec, mesh, out);
    }
  }
}
template <class Tree, auto... Spec>
constexpr void push_member_specs(each_axis<Spec...>, const mesh_shape& mesh, leaf_specs& out) {
  using members = decltype(members_of(std::declval<Tree&>()));
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (push_specs<Spec, std::remove_cvref_t<std::tuple_element_t<I, members>>>(mesh, out), ...);
  }
  (std::make_index_sequence<sizeof...(Spec)>{});
}

/// The specs of all leaves of a tree; false where their number does not fit its members.
template <class Tree, auto... Spec>
constexpr bool push_all_specs(each_axis<Spec...> specs, const mesh_shape& mesh, leaf_specs& out) {
  if constexpr (sizeof...(Spec) == 1) {
    (push_specs<Spec, Tree>(mesh, out), ...);
    return true;
  } else if constexpr (static_cast<int>(sizeof...(Spec)) == num_members<Tree>()) {
    push_member_specs<Tree>(specs, mesh, out);
    return true;
  } else {
    return false;
  }
}

/// The axes of a mesh in a trace, from `first` on in ir::graph::axes.
struct traced_mesh {
  int first;
  int num_axes;
  bool failed;

  /// As bits of node::varies.
  [[nodiscard]] constexpr std::uint32_t bits(const ir::builder& b, std::uint32_t axes) const {
    std::uint32_t out = 0;
    for (int i = 0; i < num_axes; ++i) {
      if (((axes >> i) & 1U) != 0) out |= std::uint32_t{1} << b.g.axes[first + i].bit;
    }
    return out;
  }
};

constexpr void fail_shard_map(ir::builder& b, const text& why) {
  b.site = {};
  b.fail("shard_map", why);
}

/// `argument 0 is f32[8]: its spec has 2 entries for 1 axis`.
constexpr void fail_entries(ir::builder& b, const text& name, const tensor_type& type,
                            int entries) {
  text why = name;
  fail_shard_map(b, why << " is " << type << ": its spec has " << entries << " entries for "
                        << type.rank() << (type.rank() == 1 ? " axis" : " axes"));
}

/// Opens the axes of a mesh; in place of the leaves of the arguments come variables that differ
/// between ranks as their specs say.
template <class In, class... Args>
constexpr traced_mesh open_mesh(ir::builder& b, const mesh_shape& mesh,
                                std::tuple<Args...>& arguments) {
  traced_mesh out{};
  out.num_axes = mesh.num_axes;
  leaf_specs specs{};
  const bool fits = push_all_specs<std::tuple<Args...>>(In{}, mesh, specs);
  if (!fits) {
    fail_shard_map(b, text("in_specs has ") << num_axes_v<In> << " entries, the call "
                                            << static_cast<int>(sizeof...(Args))
                                            << " arguments: one for each, or one for all");
  }
  if (!specs.problem.empty()) fail_shard_map(b, specs.problem);
  for (int i = 0; i < b.num_open_axes(); ++i) {
    if (!b.g.axes[b.open_axis_at(i)].is_of_ranks()) continue;
    fail_shard_map(b, text(mesh.text()) << ": it stands inside of another mesh");
    break;
  }
  out.failed = !b.problem.empty();
  for (int i = 0; i < mesh.num_axes; ++i) {
    const int made = b.open_axis(mesh.name(i), mesh.sizes[i], i + 1);
    if (i == 0) out.first = made;
  }
  int at = 0;
  int argument_at = 0;
  const auto enter = [&](auto& tree) {
    int index = 0;
    for_each_leaf(
        [&](auto& leaf) {
          const int in_tree = index++;
          const int spec = at++;
          if constexpr (std::is_same_v<std::remove_cvref_t<decltype(leaf)>, expr>) {
            if (!out.failed && !leaf.is_poison() && specs.entries[spec] > leaf.rank()) {
              const text name = leaf_text(tree, static_cast<std::size_t>(argument_at), in_tree);
              fail_entries(b, name, leaf.type(), specs.entries[spec]);
              out.failed = true;
            }
            if (out.failed || leaf.is_poison()) {
              leaf = {b, ir::poison};
              return;
            }
            b.site = b.g[leaf.id()].at;
            leaf = {b, b.variable(leaf.id())};
            b.vary(leaf.id(), out.bits(b, specs.axes[spec]));
          }
        },
        tree);
    ++argument_at;
  };
  std::apply([&](auto&... argument) { (enter(argument), ...); }, arguments);
  return out;
}

/// A value that ranks share, as one of which each hands out a copy of its own: they may be used
/// differently.
constexpr int handed_out(ir::builder& b, const traced_mesh& open, int id, std::uint32_t axes) {
  for (int i = 0; i < open.num_axes; ++i) {
    const std::uint32_t axis = std::uint32_t{1} << i;
    if ((axes & axis) == 0 || (b.varies(id) & open.bits(b, axis)) != 0) continue;
    const tensor_type type = b.type(id);
    const int index =
        b.append(op::axis_index, {}, ir::attribute_list::of(open.first + i), {dtype::i32, {}});
    const int never = b.binary(op::lt, index, b.constant(0, dtype::i32));
    id = b.select(b.broadcast(never, type.dims, 0), b.splat(0, type), id);
  }
  return id;
}

/// The names of the axes along which a value differs though its spec does not name them.
constexpr text unnamed_axes(const ir::builder& b, const mesh_shape& mesh, const traced_mesh& open,
                            int id, std::uint32_t named) {
  text out;
  for (int i = 0; i < mesh.num_axes; ++i) {
    const std::uint32_t axis = std::uint32_t{1} << i;
    if ((named & axis) != 0 || (b.varies(id) & open.bits(b, axis)) == 0) continue;
    if (!out.empty()) out << " and ";
    out << mesh.name(i);
  }
  return out;
}

/// Closes the axes; the results must differ between ranks along axes of their specs only.
template <class Out, class Result>
constexpr auto close_mesh(ir::builder& b, const mesh_shape& mesh, const traced_mesh& open,
                          const Result& result) {
  leaf_specs specs{};
  if (!push_all_specs<Result>(Out{}, mesh, specs)) {
    fail_shard_map(b, text("out_specs has ")
                          << num_axes_v<Out> << " entries, the result " << num_members<Result>()
                          << " members: one for each, or one for all");
  }
  if (!specs.problem.empty()) fail_shard_map(b, specs.problem);
  traced_t<Result> out{};
  int index = 0;
  for_each_leaf(
      [&](expr& to, const auto& leaf) {
        using type = std::remove_cvref_t<decltype(leaf)>;
        const int at = index++;
        if constexpr (std::is_arithmetic_v<type>) {
          to = {b, b.constant(static_cast<double>(leaf), leaf_type<type>().element)};
        } else {
          static_assert(std::is_same_v<type, expr>,
                        "atled::shard_map: the function returns a leaf that is no expression; it "
                        "must return tensors computed from its arguments, or trees of them");
          to = {b, ir::poison};
          if (leaf.is_poison() || !b.problem.empty()) return;
          if (specs.entries[at] > leaf.rank()) {
            fail_entries(b, text("output ") << at, leaf.type(), specs.entries[at]);
            return;
          }
          if ((b.varies(leaf.id()) & open.bits(b, ~std::uint32_t{0}) &
               ~open.bits(b, specs.axes[at])) != 0) {
            const text axes = unnamed_axes(b, mesh, open, leaf.id(), specs.axes[at]);
            b.fail_as("shard_map", b.g[leaf.id()].at,
                      text("output ") << at << " differs between the ranks of " << axes
                                      << ", which its spec does not name: use psum or pmean over "
                                      << axes << ", or name it in out_specs");
            return;
          }
          b.site = b.g[leaf.id()].at;
          const int left = b.variable(handed_out(b, open, leaf.id(), specs.axes[at]));
          b.share(left, open.bits(b, ~std::uint32_t{0}));
          to = {b, left};
        }
      },
      out, result);
  for (int i = 0; i < open.num_axes; ++i) b.close_axis();
  return out;
}

}  // namespace detail
}  // namespace atled
