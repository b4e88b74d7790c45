// atled/ir/checkpoint_scope.hpp: which nodes belong to a call of a checkpointed function.
// Reads: nothing of ours. Opened by transform/checkpoint.hpp, used by passes/remat.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>

namespace atled::ir {

/// One call of a checkpointed function; 0 is the program itself.
///
/// A node has the scope that it was made in, and a home: the scope in which its value is at hand.
/// The two are equal for a value inside of a call, which is computed again for those who read it
/// from outside, the nodes of a derivative; the home of a result, or of what a policy saves, lies
/// further out. A derivative's own factors (the cosine of a sine) belong to the scope of what they
/// are the derivative of, so that they are made where they are used.
struct checkpoint_scope {
  int parent;           ///< a smaller number
  std::int64_t budget;  ///< what may be saved all the same, in bytes; see policy::budget
};

/// The number that stands for a name of `checkpoint_name`.
[[nodiscard]] constexpr std::int64_t name_hash(std::string_view name) {
  std::uint64_t h = 0xCBF29CE484222325U;  // FNV-1a
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return static_cast<std::int64_t>(h >> 1);
}

}  // namespace atled::ir
