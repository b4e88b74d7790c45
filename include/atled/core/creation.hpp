// atled/core/creation.hpp: tensors made from a rule: zeros, ones, full, arange, linspace, eye.
// Reads: core/tensor.hpp. Their traced counterparts are in ops/creation.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/tensor.hpp"

#include <cstdint>

namespace atled {

template <element T, std::int64_t... Dims>
[[nodiscard]] constexpr tensor<T, Dims...> zeros() {
  return tensor<T, Dims...>();
}

/// A tensor whose elements all are `value`.
template <element T, std::int64_t... Dims, number V>
[[nodiscard]] constexpr tensor<T, Dims...> full(V value) {
  auto out = tensor<T, Dims...>::uninitialized();
  for (T& x : out) x = detail::to_element<T>(value);
  return out;
}

template <element T, std::int64_t... Dims>
[[nodiscard]] constexpr tensor<T, Dims...> ones() {
  return full<T, Dims...>(1);
}

/// start, start + step, start + 2 step ...: N values, each from its index, so that no error adds
/// up.
template <element T, std::int64_t N>
[[nodiscard]] constexpr tensor<T, N> arange(double start = 0, double step = 1) {
  auto out = tensor<T, N>::uninitialized();
  T* values = out.data();
  for (std::int64_t i = 0; i < N; ++i) {
    values[i] = detail::to_element<T>(start + step * static_cast<double>(i));
  }
  return out;
}

/// N evenly spaced values from `start` to `stop`, both included.
template <element T, std::int64_t N>
[[nodiscard]] constexpr tensor<T, N> linspace(double start, double stop) {
  tensor<T, N> out = arange<T, N>(start, N > 1 ? (stop - start) / static_cast<double>(N - 1) : 0);
  if constexpr (N > 1) out(N - 1) = detail::to_element<T>(stop);
  return out;
}

/// Ones on the main diagonal of an N by M matrix, zeros elsewhere.
template <element T, std::int64_t N, std::int64_t M = N>
[[nodiscard]] constexpr tensor<T, N, M> eye() {
  tensor<T, N, M> out;
  for (std::int64_t i = 0; i < (N < M ? N : M); ++i) out(i, i) = detail::to_element<T>(1);
  return out;
}

}  // namespace atled
