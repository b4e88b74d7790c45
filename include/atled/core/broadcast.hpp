// atled/core/broadcast.hpp: NumPy's broadcasting on shape values, and the type of a literal.
// Reads: core/shape.hpp. Both the traced and the eager operators follow these rules.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/shape.hpp"

#include <cstdint>
#include <type_traits>

namespace atled {

/// A shape, or the middle and end of a sentence.
struct broadcast_result {
  shape dims;
  text problem;

  [[nodiscard]] constexpr bool ok() const { return problem.empty(); }
};

/// The shape of two operands broadcast together: aligned at the last axis, sizes equal or 1.
[[nodiscard]] constexpr broadcast_result broadcast_dims(const tensor_type& lhs,
                                                        const tensor_type& rhs) {
  broadcast_result out{};
  out.dims.rank = lhs.rank() > rhs.rank() ? lhs.rank() : rhs.rank();
  for (int i = 1; i <= out.dims.rank; ++i) {  // from the last axis to the first
    const int axis = out.dims.rank - i;
    const std::int64_t left = i <= lhs.rank() ? lhs.dims[lhs.rank() - i] : 1;
    const std::int64_t right = i <= rhs.rank() ? rhs.dims[rhs.rank() - i] : 1;
    if (left != right && left != 1 && right != 1) {
      out.problem << lhs << " and " << rhs << ": axis " << axis << " (" << size_text{left}
                  << ") against " << size_text{right} << ": sizes must be equal or 1";
      if (rhs.rank() < lhs.rank() && rhs.rank() > 0 && rhs.dims[0] == lhs.dims[0]) {
        tensor_type fixed = rhs;
        while (fixed.rank() < lhs.rank()) fixed.dims.push(1);
        out.problem << "; reshape the second to " << fixed;
      }
      return out;
    }
    out.dims[axis] = left == 1 ? right : left;
  }
  return out;
}

/// The element type that a weakly typed C++ number of type V takes beside `other`, as in JAX.
template <class V>
[[nodiscard]] constexpr dtype literal_element(dtype other) {
  if constexpr (std::is_same_v<V, bool>) {
    return other;
  } else if constexpr (std::is_integral_v<V>) {
    return other == dtype::boolean ? dtype::i32 : other;
  } else {
    return is_floating(other) ? other : dtype::f32;
  }
}

}  // namespace atled
