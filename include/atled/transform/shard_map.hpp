// atled/transform/shard_map.hpp: shard_map: a function of the blocks of one rank, run by all ranks
// of a mesh together. Reads: transform/mesh_axes.hpp, transform/transformed.hpp, comm/single.hpp.
//
// The axes of the mesh have names, as those of a vmap may: psum, all_gather ... work along them,
// and a value either differs between ranks or is shared by them (node::varies).
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/comm/single.hpp"
#include "atled/transform/mesh_axes.hpp"
#include "atled/transform/transformed.hpp"

#include <tuple>
#include <type_traits>

namespace atled {

/// What `shard_map` returns; see there.
template <class F, class Mesh, class In, class Out>
class shard_map_function : public transformed<shard_map_function<F, Mesh, In, Out>> {
  static_assert(
      detail::is_stateless_v<F>,
      "atled::shard_map: the function captures variables: it must be stateless; pass them "
      "as arguments, or give a constexpr object as a template argument");

 public:
  static constexpr mesh_shape mesh_axes = Mesh::shape_value;

  constexpr shard_map_function() = default;
  constexpr explicit shard_map_function(comm::grid& ranks) : ranks_(&ranks) {}

  /// The ranks that a call runs on.
  [[nodiscard]] constexpr comm::grid* ranks() const { return ranks_; }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    std::tuple<Args...> arguments(args...);
    ir::builder& b = *detail::builder_of_tree(arguments);
    const auto open = detail::open_mesh<In>(b, mesh_axes, arguments);
    const auto result = std::apply([](auto&... argument) { return F{}(argument...); }, arguments);
    return detail::close_mesh<Out>(b, mesh_axes, open, result);
  }

 private:
  comm::grid* ranks_ = nullptr;
};

/// A function of blocks, run by all ranks of a mesh: each passes its own block of an argument, and
/// gets its own block of a result.
///
///   shard_map(f, devices, in_specs<P<"data">, P<>>, out_specs<P<>>)(x, w)
///
///   x    P<"data">   each rank along data has another block: a value that differs between ranks
///   w    P<>         all ranks pass the same: what ranks share
///   out  P<>         ranks share it: psum, pmean, pmax or all_gather has made it so
///
/// Inside, `psum(y, axis<"data">)` and the other collectives work along the axes of the mesh, in
/// loops and branches too.
/// One spec stands for all arguments, or for all leaves of a tree; `each<...>` for its members.
/// Cost: f on a block, and its collectives: `program<...>::comm_report()`.
/// Gradient: inside and outside alike: `shard_map(grad(f))` and `grad(shard_map(f))` are the same.
/// A gradient by what ranks share is summed over them; that of a block is a block. Outside of the
/// mesh a block is all that a rank knows: nothing is summed there.
/// Blocks until: all ranks have called it.
/// Ill-formed: a spec names no axis of the mesh, or one twice; a result differs between ranks along
/// an axis that its spec does not name. The function object must not outlive the mesh.
template <class F, auto... Axis, auto... In, auto... Out>
[[nodiscard]] constexpr auto shard_map(const F&, const mesh<Axis...>& devices,
                                       in_specs_option<In...>, out_specs_option<Out...>) {
  return shard_map_function<F, mesh<Axis...>, each_axis<In...>, each_axis<Out...>>(devices.ranks());
}

}  // namespace atled
