// atled/transform/jit.hpp: jit: a function compiled with the program, not on its first call.
// Reads: transform/transformed.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/transformed.hpp"

namespace atled {

/// What `jit` returns; see there.
template <class F>
class jit_function : public transformed<jit_function<F>> {
 public:
  constexpr jit_function() = default;
  constexpr explicit jit_function(F function) : f_(function) {}

  template <class... Args>
  constexpr auto apply(const Args&... args) const {
    return f_(args...);
  }

 private:
  [[no_unique_address]] F f_;
};

/// Compiles a pure function: `auto step = jit(train_step);`.
///
/// Arguments and results are tensors, numbers and trees of them. `decltype(step)::program<Args...>`
/// holds the facts of the build: text(), peak_bytes, flops, bytes_moved.
/// Ill-formed: the function captures; a shape does not fit (the sentence names the user's line).
template <class F>
[[nodiscard]] constexpr auto jit(F f) {
  return jit_function<F>(f);
}

}  // namespace atled
