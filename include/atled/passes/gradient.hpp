// atled/passes/gradient.hpp: reverse mode in one step: jvp on fresh tangents, then its transpose.
// Reads: passes/jvp.hpp, passes/transpose.hpp. Used by transform/grad.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/jvp.hpp"
#include "atled/passes/transpose.hpp"

namespace atled::passes {

/// Appends the cotangents of `inputs`, given those of `outputs`.
///
/// Pre, post, cost: as `jvp` and `transpose`. The linear nodes between the two are left unused.
constexpr void gradient(ir::builder& b, const ids& outputs, const ids& cotangents,
                        const ids& inputs, ids& input_cotangents) {
  // An output that differs from lane to lane is differentiated in each lane, by that lane's own
  // copy of the inputs; one that lanes share by the inputs that they share.
  std::uint32_t axes = 0;
  for (const int output : outputs) axes |= b.varies(output);
  ids tangents{};
  for (const int input : inputs) {
    tangents.push(input < 0 ? ir::poison : b.variable(input));
    b.vary(tangents[tangents.size - 1], axes);
  }
  ids output_tangents{};
  jvp(b, outputs, inputs, tangents, output_tangents);
  transpose(b, output_tangents, cotangents, tangents, input_cotangents);
}

}  // namespace atled::passes
