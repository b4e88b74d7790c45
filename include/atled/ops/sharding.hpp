// atled/ops/sharding.hpp: words inside a function about how its values are split over a mesh:
// with_sharding_constraint, reshard. Reads: ops/operand.hpp, core/partition_spec.hpp.
// Next: passes/shard.hpp, which places the collectives.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/partition_spec.hpp"
#include "atled/core/tree.hpp"
#include "atled/ops/arguments.hpp"

namespace atled {

/// The same value, split over the mesh of `jit(f, devices)` as the spec says from here on.
///
///   with_sharding_constraint(x, P<"data", none>)
///
/// What must be sent for it is sent: a gather, an exchange, a sum of parts that is scattered; a
/// finer split only takes blocks. Without a mesh it does nothing, so that one source serves both.
/// Gradient: d_out, split as what uses it is.
/// Ill-formed: the mesh has no axis of that name, or the spec uses one twice; the axis is not
/// divisible; the spec has more entries than x has axes.
[[nodiscard]] constexpr expr with_sharding_constraint(const expr& x, const named_spec& spec,
                                                      call_site at = call_site::here()) {
  const ir::operand in(x, at.in("with_sharding_constraint"));
  ir::builder& b = in.builder();
  if (in.is_poison() || b.mesh.num_axes == 0) return x;
  const resolved_spec found = resolve(spec, b.mesh, in.type());
  if (!found.problem.empty()) return ir::fail(b, found.problem);
  ir::attribute_list attributes{};
  attributes.push(static_cast<std::int64_t>(found.spec.masks));
  attributes.push(found.spec.gathered);
  return {b, b.append(op::sharding_constraint, {in.id()}, attributes, in.type())};
}
/// The same for each leaf of a tree.
template <class Tree>
  requires is_branch_v<Tree>
[[nodiscard]] constexpr Tree with_sharding_constraint(const Tree& tree, const named_spec& spec,
                                                      call_site at = call_site::here()) {
  return tree_map([&](const expr& x) { return with_sharding_constraint(x, spec, at); }, tree);
}

/// The word for a move between ranks: `reshard<P<>>(y)` gathers y on each of them.
///
/// It is `with_sharding_constraint`, said where a value leaves or changes hands; what it sends
/// stands in `program<...>::comm_report()` with its line and bytes.
template <auto Spec>
[[nodiscard]] constexpr auto reshard(const auto& x, call_site at = call_site::here()) {
  return with_sharding_constraint(x, Spec, at.in("reshard"));
}

}  // namespace atled
