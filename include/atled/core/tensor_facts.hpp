// atled/core/tensor_facts.hpp: what a tensor type says of itself, and the concepts built on it.
// Reads: core/tensor_storage.hpp, core/shape.hpp. Next: core/tensor.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/diagnostic.hpp"
#include "atled/core/shape.hpp"
#include "atled/core/tensor_storage.hpp"

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace atled {

/// Whatever holds values in row-major order under a static shape: a tensor or a view of one.
template <class X>
concept tensor_like = requires(const std::remove_cvref_t<X>& x) {
  typename std::remove_cvref_t<X>::value_type;
  { std::remove_cvref_t<X>::dims } -> std::convertible_to<shape>;
  { x.data() } -> std::convertible_to<const typename std::remove_cvref_t<X>::value_type*>;
};

/// A computation that can be written to memory; `loops/eager.hpp` makes them.
template <class E>
concept tensor_expression = requires {
  typename std::remove_cvref_t<E>::tensor_expression_tag;
};

/// A C++ number: what braces may hold, and what a rank-0 tensor converts from.
template <class V>
concept number = std::is_arithmetic_v<V> || half_float<V>;

namespace detail {

/// `value` as an element of type T: through f32 where one of the two has 16 bits.
template <element T, number V>
[[nodiscard]] constexpr T to_element(V value) {
  if constexpr (std::same_as<T, V>) {
    return value;
  } else if constexpr (half_float<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (half_float<V>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

/// What nested braces hold: numbers convert to a bf16 or f16 only by name, hence f32 there.
template <element T>
using braced_t = std::conditional_t<half_float<T>, float, T>;

/// The facts of a tensor type, for the tensor and its view.
template <element T, std::int64_t... Dims>
struct tensor_facts {
  static_assert(((Dims >= 0) && ...), "tensor: a size is negative: sizes must be 0 or more");
  static_assert(sizeof...(Dims) <= max_rank, "tensor: more than 8 axes: the rank must be <= 8");
  static_assert(size_in_bytes<T, Dims...>() >= 0, "tensor: its bytes must fit into 63 bits");

  using value_type = T;
  static constexpr shape dims = shape::of({Dims...});
  static constexpr tensor_type type{dtype_of<T>(), shape::of({Dims...})};
  static constexpr int rank = static_cast<int>(sizeof...(Dims));
  static constexpr std::int64_t bytes = size_in_bytes<T, Dims...>();

  /// Number of elements; 1 for a scalar.
  [[nodiscard]] static constexpr std::int64_t size() {
    return bytes / static_cast<std::int64_t>(sizeof(T));
  }

 protected:
  template <std::integral... I>
  [[nodiscard]] static constexpr std::int64_t offset_of(I... indices) {
    static_assert(sizeof...(I) == sizeof...(Dims), "tensor: one index for each axis is needed");
    std::int64_t flat = 0;
    [[maybe_unused]] int axis = 0;
    if constexpr (sizeof...(I) == sizeof...(Dims)) {
      ((flat = flat * Dims + checked_index(static_cast<std::int64_t>(indices), Dims, axis++)), ...);
    }
    return flat;
  }

 private:
  static constexpr std::int64_t checked_index(std::int64_t index, std::int64_t size, int axis) {
    if (index < 0 || index >= size) [[unlikely]]
      throw_bad_index(type, index, axis);
    return index;
  }
};

/// The sentence for an expression or a view that is stored where it does not fit.
template <tensor_type From, tensor_type To>
struct store_sentence {
  static constexpr text make() {
    if (From == To) return {};
    text out = "tensor: ";
    out << From << " as " << To << ": types must be equal; ";
    return out << (From.element == To.element ? "reshape or broadcast it" : "convert with astype");
  }
  static constexpr text sentence = make();
};

}  // namespace detail
}  // namespace atled
