// atled/trace/split_leaves.hpp: models whose leaves say how a mesh splits them: `leaf_of` with a
// spec in a layer, and the policy `on<grid>`, under which a model holds one rank's blocks.
// Reads: trace/trace.hpp, core/partition_spec.hpp. Next: nn/linear.hpp, transform/sharded.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"
#include "atled/trace/trace.hpp"

#include <cstddef>
#include <type_traits>
#include <utility>

namespace atled {
namespace detail {

template <class K, auto Spec, element T, std::int64_t... Dims>
struct split_leaf_of {
  using type = typename K::template leaf<T, Dims...>;
};
template <class K, auto Spec, element T, std::int64_t... Dims>
  requires(named_spec(Spec).rank > 0)
&&requires {
  typename K::template split_leaf<Spec, T, Dims...>;
}
struct split_leaf_of<K, Spec, T, Dims...> {
  using type = typename K::template split_leaf<Spec, T, Dims...>;
};

/// What stands for a leaf that declares a spec.
template <auto Spec, element T, std::int64_t... Dims>
struct leaf_with_spec {
  static constexpr tensor_type type{dtype_of<T>(), shape::of({Dims...})};
  static constexpr named_spec spec = Spec;
};
/// The same, of a leaf whose last axis is `Groups` parts of equal length side by side.
template <auto Spec, std::int64_t Groups, std::int64_t Unit, element T, std::int64_t... Dims>
struct grouped_leaf_with_spec : leaf_with_spec<Spec, T, Dims...> {
  static constexpr std::int64_t groups = Groups;
  static constexpr std::int64_t unit = Unit;
};
/// The leaf policy that shows which leaves do.
struct declared_specs {
  template <element T, std::int64_t... Dims>
  using leaf = tensor<T, Dims...>;
  template <auto Spec, element T, std::int64_t... Dims>
  using split_leaf = leaf_with_spec<Spec, T, Dims...>;
  template <auto Spec, std::int64_t Groups, std::int64_t Unit, element T, std::int64_t... Dims>
  using grouped_leaf = grouped_leaf_with_spec<Spec, Groups, Unit, T, Dims...>;
};

template <class K, auto Spec, std::int64_t Groups, std::int64_t Unit, element T,
          std::int64_t... Dims>
struct grouped_leaf_of {
  using type = typename K::template leaf<T, Dims...>;
};
template <class K, auto Spec, std::int64_t Groups, std::int64_t Unit, element T,
          std::int64_t... Dims>
  requires(named_spec(Spec).rank > 0)
&&requires {
  typename K::template grouped_leaf<Spec, Groups, Unit, T, Dims...>;
}
struct grouped_leaf_of<K, Spec, Groups, Unit, T, Dims...> {
  using type = typename K::template grouped_leaf<Spec, Groups, Unit, T, Dims...>;
};

/// The sizes of one rank's block; a size that is not divisible is cut, and refused where it is
/// used.
template <class Mesh, auto Spec, std::int64_t... Dims>
inline constexpr shape block_dims = block_of(Mesh::shape_value,
                                             resolve(Spec, Mesh::shape_value).spec,
                                             shape::of({Dims...}));
template <class Mesh, auto Spec, element T, std::int64_t... Dims, std::size_t... I>
auto block_tensor(std::index_sequence<I...>)
    -> tensor<T, block_dims<Mesh, Spec, Dims...>.dims[I]...>;

}  // namespace detail

/// The leaf of a layer, with the spec that the layer was given for it: `leaf_of<K, P<none,
/// "model">, f32, 784, 128> weight;`. Without a mesh it is `K::leaf<f32, 784, 128>`.
template <class K, auto Spec, element T, std::int64_t... Dims>
using leaf_of = typename detail::split_leaf_of<K, Spec, T, Dims...>::type;

/// A leaf whose last axis is `Groups` parts of equal length side by side, each of units of `Unit`
/// elements: queries, keys and values of heads.
///
/// Split over a mesh, its last axis is in the order [units, Groups, Unit], so that a rank has the
/// same units of all groups: device_put and device_get change the order. Whole, it is as declared,
/// [Groups, units, Unit].
template <class K, auto Spec, std::int64_t Groups, std::int64_t Unit, element T,
          std::int64_t... Dims>
using grouped_leaf_of = typename detail::grouped_leaf_of<K, Spec, Groups, Unit, T, Dims...>::type;

namespace detail {

/// Split by nothing, or by one rank.
constexpr bool is_whole_entry(const spec_entry& entry, const mesh_shape& mesh) {
  const int axis = mesh.axis_named(entry.view());
  return entry.size == 0 || (axis >= 0 && mesh.sizes[axis] == 1);
}
/// The axis of a leaf that is split once more where ranks along `stored` keep a part of it each:
/// the first that is divisible and, by its own spec, whole; -1: there is none.
constexpr int stored_axis(const named_spec& spec, const mesh_shape& mesh, const spec_entry& stored,
                          const shape& dims) {
  const int axis = mesh.axis_named(stored.view());
  const std::int64_t parts = axis < 0 ? 0 : mesh.sizes[axis];
  for (int i = 0; parts > 0 && i < dims.rank; ++i) {
    const bool is_divisible = dims[i] > 0 && dims[i] % parts == 0;
    if (is_whole_entry(spec.entries[i], mesh) && is_divisible) return i;
  }
  return -1;
}
template <class Mesh, spec_entry Stored, auto Spec, int Axis, int Entry>
inline constexpr spec_entry stored_entry = [] {
  const spec_entry own = named_spec(Spec).entries[Entry];
  if (Entry == Axis) return gathered<Stored>;
  return is_whole_entry(own, Mesh::shape_value) ? spec_entry{} : own;
}();
template <class Mesh, spec_entry Stored, auto Spec, int Axis, std::size_t... I>
constexpr auto with_stored_axis(std::index_sequence<I...>) {
  return P<stored_entry<Mesh, Stored, Spec, Axis, static_cast<int>(I)>...>;
}
/// A spec of a layer, and the axis that is stored in parts.
template <class Mesh, spec_entry Stored, auto Spec, std::int64_t... Dims>
inline constexpr auto stored_spec = [] {
  if constexpr (Stored.size == 0) {
    return Spec;
  } else {
    constexpr int axis = stored_axis(Spec, Mesh::shape_value, Stored, shape::of({Dims...}));
    constexpr int rank = named_spec(Spec).rank > axis ? named_spec(Spec).rank : axis + 1;
    return with_stored_axis<Mesh, Stored, Spec, axis>(
        std::make_index_sequence<std::size_t{rank}>{});
  }
}();

/// What `on<Mesh, Stored>` says of leaves, in the place of `declared_specs`.
template <class Mesh, spec_entry Stored>
struct stored_specs {
  template <element T, std::int64_t... Dims>
  using leaf = leaf_with_spec<stored_spec<Mesh, Stored, P<>, Dims...>, T, Dims...>;
  template <auto Spec, element T, std::int64_t... Dims>
  using split_leaf = leaf_with_spec<stored_spec<Mesh, Stored, Spec, Dims...>, T, Dims...>;
  template <auto Spec, std::int64_t Groups, std::int64_t Unit, element T, std::int64_t... Dims>
  using grouped_leaf =
      grouped_leaf_with_spec<stored_spec<Mesh, Stored, Spec, Dims...>, Groups, Unit, T, Dims...>;
};

}  // namespace detail

/// The leaf policy of a model of which each rank of a mesh holds its blocks: `mlp<on<grid>>`.
///
/// `mlp<on<grid, "data">>` is fully sharded: each leaf is split once more, along its first whole
/// axis that is divisible, by the ranks of that mesh axis. It is gathered before it is used, and
/// its gradient is reduce-scattered. Source: Rajbhandari et al., ZeRO, SC 2020, stage 3.
template <class Mesh, spec_entry Stored = none>
struct on {
  using mesh_type = Mesh;
  using specs = std::conditional_t<Stored.size == 0, detail::declared_specs,
                                   detail::stored_specs<Mesh, Stored>>;

  template <element T, std::int64_t... Dims>
  using leaf =
      decltype(detail::block_tensor<Mesh, detail::stored_spec<Mesh, Stored, P<>, Dims...>, T,
                                    Dims...>(std::make_index_sequence<sizeof...(Dims)>{}));
  template <auto Spec, element T, std::int64_t... Dims>
  using split_leaf =
      decltype(detail::block_tensor<Mesh, detail::stored_spec<Mesh, Stored, Spec, Dims...>, T,
                                    Dims...>(std::make_index_sequence<sizeof...(Dims)>{}));
  template <auto Spec, std::int64_t Groups, std::int64_t Unit, element T, std::int64_t... Dims>
  using grouped_leaf = split_leaf<Spec, T, Dims...>;
};

namespace detail {
/// The leaf policy of the blocks of a rank of `Mesh`.
template <class Policy, class Mesh>
concept policy_of_blocks = requires {
  typename Policy::specs;
}
&&std::is_same_v<typename Policy::mesh_type, Mesh>;
/// What a model's policy says of its leaves.
template <class Policy>
struct specs_of {
  using type = declared_specs;
};
template <class Policy>
  requires requires {
    typename Policy::specs;
  }
struct specs_of<Policy> {
  using type = typename Policy::specs;
};
}  // namespace detail

/// A P with one entry of another: the spec of a bias is that of the last axis of its weight.
template <auto Spec, std::size_t Entry>
inline constexpr auto spec_of_axis = [] {
  if constexpr (static_cast<int>(Entry) < named_spec(Spec).rank) {
    return P<named_spec(Spec).entries[Entry]>;
  } else {
    return P<>;
  }
}();

/// The first entry of a P as that of axis 1: columns in the place of rows.
template <auto Spec>
inline constexpr auto spec_of_columns = [] {
  if constexpr (named_spec(Spec).rank == 0) {
    return P<>;
  } else {
    return P<none, named_spec(Spec).entries[0]>;
  }
}();

}  // namespace atled
