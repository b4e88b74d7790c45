// atled/transform/eager_collective.hpp: collectives on plain tensors outside of a trace: each call
// is a small program that all ranks of a mesh run. Reads: transform/shard_map.hpp; inside the
// program they are those of ops/collective.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/shard_map.hpp"

namespace atled {

namespace detail {

/// Runs `Call` on a value that each rank has for itself; what it gives may differ too.
template <class Call, class T, auto... Axis>
auto on_all_ranks(const T& x, const mesh<Axis...>& devices) {
  static_assert(!holds_expressions<T>(),
                "atled: inside a trace the axes of the mesh are open: psum(x, axis<data>)");
  return shard_map_function<Call, mesh<Axis...>, each_axis<differs>, each_axis<differs>>(
      devices.ranks())(x);
}

template <class Axis>
struct psum_along {
  constexpr auto operator()(auto x) const { return psum(x, Axis{}); }
};
template <class Axis>
struct pmean_along {
  constexpr auto operator()(auto x) const { return pmean(x, Axis{}); }
};
template <class Axis>
struct pmax_along {
  constexpr auto operator()(auto x) const { return pmax(x, Axis{}); }
};
template <class Axis>
struct pmin_along {
  constexpr auto operator()(auto x) const { return pmin(x, Axis{}); }
};
template <class Axis>
struct all_gather_along {
  constexpr auto operator()(auto x) const { return all_gather(x, Axis{}); }
};
template <class Axis>
struct psum_scatter_along {
  constexpr auto operator()(auto x) const { return psum_scatter(x, Axis{}); }
};
template <class Axis>
struct all_to_all_along {
  constexpr auto operator()(auto x) const { return all_to_all(x, Axis{}); }
};
template <class Axis>
struct pbroadcast_along {
  constexpr auto operator()(auto x) const { return pbroadcast(x, Axis{}); }
};

template <axis_label Label, auto... Axis>
constexpr int place_in_mesh() {
  constexpr int at = mesh<Axis...>::shape_value.axis_named(Label.name.view());
  static_assert(at >= 0, "atled: the mesh has no axis of this name");
  return at;
}

}  // namespace detail

/// The sum of a tensor, or of each leaf of a tree, over the ranks along an axis of a mesh.
///
///   tensor<f32, 8> total = psum(mine, devices, axis<"data">);
///
/// Blocks until: all ranks along the axis have called it.
/// Throws: what the communicator reports. Ill-formed: the mesh has no such axis.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto psum(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::psum_along<axis_tag<Label, 0>>>(x, devices);
}
/// The mean; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto pmean(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::pmean_along<axis_tag<Label, 0>>>(x, devices);
}
/// The largest; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto pmax(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::pmax_along<axis_tag<Label, 0>>>(x, devices);
}
/// The smallest; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto pmin(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::pmin_along<axis_tag<Label, 0>>>(x, devices);
}
/// The values of all ranks, counted by a new axis in front; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto all_gather(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::all_gather_along<axis_tag<Label, 0>>>(x, devices);
}
/// The sum, of which rank i gets row i; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto psum_scatter(const T& x, const mesh<Axis...>& devices,
                                const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::psum_scatter_along<axis_tag<Label, 0>>>(x, devices);
}
/// Row j of rank i becomes row i of rank j; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto all_to_all(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::all_to_all_along<axis_tag<Label, 0>>>(x, devices);
}
/// The value of the first rank along the axis; all else as `psum`.
template <class T, auto... Axis, axis_label Label>
[[nodiscard]] auto pbroadcast(const T& x, const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return detail::on_all_ranks<detail::pbroadcast_along<axis_tag<Label, 0>>>(x, devices);
}

/// The place of this rank along an axis of a mesh.
template <auto... Axis, axis_label Label>
[[nodiscard]] int axis_index(const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return devices.ranks().along(detail::place_in_mesh<Label, Axis...>()).rank();
}
/// The number of ranks along an axis of a mesh.
template <auto... Axis, axis_label Label>
[[nodiscard]] int axis_size(const mesh<Axis...>& devices, const axis_tag<Label, 0>&) {
  return devices.ranks().along(detail::place_in_mesh<Label, Axis...>()).size();
}

}  // namespace atled
