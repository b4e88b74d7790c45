// atled/transform/jit.hpp: jit: a function compiled with the program, not on its first call.
// Reads: transform/transformed.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/transformed.hpp"

namespace atled {

/// An option of `jit`: the program runs as a list of kernels, however small it is.
struct by_kernels_option {};
inline constexpr by_kernels_option by_kernels{};

/// An option of `jit`: a NaN in a result is an error that names the operation that made it.
struct debug_nans_option {};
inline constexpr debug_nans_option debug_nans{};

namespace detail {

template <class Option>
struct jit_option;
template <>
struct jit_option<by_kernels_option> {
  static constexpr bool by_kernels = true;
};
template <>
struct jit_option<debug_nans_option> {
  static constexpr bool debug_nans = true;
};

template <class... Options>
struct jit_options : jit_option<Options>... {};

}  // namespace detail

/// What `jit` returns; see there.
template <class F, class... Options>
class jit_function : public transformed<jit_function<F, Options...>>,
                     public detail::jit_options<Options...> {
 public:
  constexpr jit_function() = default;
  constexpr explicit jit_function(F function) : f_(function) {}

  /// The ranks that a call runs on, where `f` is of a mesh.
  [[nodiscard]] constexpr comm::grid* ranks() const requires detail::on_ranks<F> {
    return f_.ranks();
  }

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
/// Cost: a list of fused kernels; a program of a few thousand numbers is one inlined function,
/// which `jit(f, by_kernels)` prevents.
/// With `jit(f, debug_nans)` a call throws atled::error if a result holds a NaN: the sentence names
/// the first operation, on the way to that result, that made one of numbers, with your file and
/// line, or the loop or branch in whose body it was made. It costs a second program and, in every
/// call, a look at the results; arguments are not overwritten.
/// Ill-formed: the function captures; a shape does not fit (the sentence names the user's line).
template <class F, class... Options>
[[nodiscard]] constexpr auto jit(F f, const Options&...) {
  return jit_function<F, Options...>(f);
}

}  // namespace atled
