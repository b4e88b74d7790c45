// atled/transform/vmap.hpp: vmap: a function of one example becomes a function of many.
// Reads: transform/lanes.hpp, passes/vmap.hpp. Next: transform/jacobian.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/lanes.hpp"
#include "atled/transform/transformed.hpp"

#include <concepts>
#include <tuple>

namespace atled {

/// What `vmap` returns; see there.
template <class F, class... Options>
class vmap_function : public transformed<vmap_function<F, Options...>> {
 public:
  constexpr vmap_function() requires std::default_initializable<F>
  = default;
  constexpr explicit vmap_function(const F& function) : f_(function) {}
  /// The ranks that a call runs on, if `f` is a function of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    using where = detail::vmap_axes<Options...>;
    std::tuple<Args...> arguments(args...);
    ir::builder& b = *detail::builder_of_tree(arguments);
    detail::lane_arguments in{};
    detail::make_lanes<typename where::in>(b, where::name.view(), arguments, in);
    const auto result = std::apply([&](auto&... argument) { return f_(argument...); }, arguments);
    return detail::gathered_lanes<typename where::out>(b, in, result);
  }

 private:
  [[no_unique_address]] F f_;
};

/// The function on many examples at once: `f` is written for one, and runs on all in one program.
///
///   vmap(f)(x, y)                            along axis 0 of every argument and result
///   vmap(f, in_axes<none, 0, -1>)(w, x, y)   w is shared, y is mapped along its last axis
///   vmap(f, in_axes<0, each<none, 0>>)       an axis for each member of a tree
///   vmap(f, out_axes<1>), out_axes<0, none>  where the axis goes in the result, or in its members
///   vmap(f, axis_name<"batch">)              psum(x, axis<"batch">) in f sums over the lanes
///
/// One entry stands for all arguments, or for all leaves of a tree. What does not depend on a
/// mapped argument is computed once; as a result it is repeated. A plain number is shared.
/// Cost: that of f, for each example; one op where f has one.
/// Gradient: as any function; `vmap(grad(f))` gives a gradient for each example.
/// Ill-formed: mapped sizes differ; an axis is out of range; nothing is mapped; `none` for a result
/// that differs between examples.
template <class F, class... Options>
[[nodiscard]] constexpr auto vmap(const F& f, const Options&...) {
  return vmap_function<F, Options...>(f);
}

/// `vmap` under the name that it has where each lane has a device of its own.
///
///   pmap(f, axis_name<"ranks">)(x)     axis 0 of x counts the lanes
template <class F, class... Options>
[[nodiscard]] constexpr auto pmap(const F& f, const Options&...) {
  return vmap_function<F, Options...>(f);
}

}  // namespace atled
