// atled/core/dtype.hpp: the element types, their C++ types, and how two of them promote.
// Reads: core/bf16.hpp, core/f16.hpp. Next: core/shape.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/core/bf16.hpp"
#include "atled/core/f16.hpp"

#include <concepts>
#include <cstdint>
#include <string_view>

namespace atled {

/// The element type of a tensor, as a value. The order is that of promotion within a kind.
enum class dtype : std::uint8_t { boolean, u8, i32, u32, i64, f16, bf16, f32, f64 };

using boolean = bool;
using u8 = std::uint8_t;
using i32 = std::int32_t;
using u32 = std::uint32_t;
using i64 = std::int64_t;
using f32 = float;
using f64 = double;

inline constexpr int num_dtypes = 9;

/// One byte for a boolean. Units: bytes.
[[nodiscard]] constexpr std::int64_t size_of(dtype type) {
  switch (type) {
    case dtype::boolean:
    case dtype::u8:
      return 1;
    case dtype::f16:
    case dtype::bf16:
      return 2;
    case dtype::i32:
    case dtype::u32:
    case dtype::f32:
      return 4;
    case dtype::i64:
    case dtype::f64:
      return 8;
  }
  __builtin_unreachable();
}

[[nodiscard]] constexpr std::string_view name_of(dtype type) {
  switch (type) {
    case dtype::boolean:
      return "boolean";
    case dtype::u8:
      return "u8";
    case dtype::i32:
      return "i32";
    case dtype::u32:
      return "u32";
    case dtype::i64:
      return "i64";
    case dtype::f16:
      return "f16";
    case dtype::bf16:
      return "bf16";
    case dtype::f32:
      return "f32";
    case dtype::f64:
      return "f64";
  }
  __builtin_unreachable();
}

[[nodiscard]] constexpr bool is_floating(dtype type) {
  return type >= dtype::f16;
}
/// A float of 16 bits: stored as such, computed and summed in f32.
[[nodiscard]] constexpr bool is_half(dtype type) {
  return type == dtype::f16 || type == dtype::bf16;
}
[[nodiscard]] constexpr bool is_integer(dtype type) {
  return type != dtype::boolean && !is_floating(type);
}
[[nodiscard]] constexpr bool is_signed(dtype type) {
  return is_floating(type) || type == dtype::i32 || type == dtype::i64;
}

/// The type of an operation on two typed operands, as JAX promotes them.
///
/// boolean < u8 < i32, u32 < i64 < f16, bf16 < f32 < f64; i32 with u32 gives i64, f16 with bf16
/// gives f32, and an integer with a floating type gives the floating type.
/// Source: JAX, "Type promotion semantics" (the lattice without its 8- and 16-bit rows).
[[nodiscard]] constexpr dtype promote(dtype lhs, dtype rhs) {
  if (lhs == rhs) return lhs;
  const dtype low = lhs < rhs ? lhs : rhs;
  const dtype high = lhs < rhs ? rhs : lhs;
  if (low == dtype::i32 && high == dtype::u32) return dtype::i64;
  if (low == dtype::f16 && high == dtype::bf16) return dtype::f32;
  return high;
}

namespace detail {
template <class T>
constexpr bool is_element_v =
    std::same_as<T, boolean> || std::same_as<T, u8> || std::same_as<T, i32> ||
    std::same_as<T, u32> || std::same_as<T, i64> || std::same_as<T, f16> || std::same_as<T, bf16> ||
    std::same_as<T, f32> || std::same_as<T, f64>;
}  // namespace detail

/// A C++ type that a tensor can hold.
template <class T>
concept element = detail::is_element_v<T>;

/// The C++ types of `is_half`.
template <class T>
concept half_float = std::same_as<T, f16> || std::same_as<T, bf16>;

template <element T>
[[nodiscard]] constexpr dtype dtype_of() {
  if constexpr (std::same_as<T, boolean>) return dtype::boolean;
  if constexpr (std::same_as<T, u8>) return dtype::u8;
  if constexpr (std::same_as<T, i32>) return dtype::i32;
  if constexpr (std::same_as<T, u32>) return dtype::u32;
  if constexpr (std::same_as<T, i64>) return dtype::i64;
  if constexpr (std::same_as<T, f16>) return dtype::f16;
  if constexpr (std::same_as<T, bf16>) return dtype::bf16;
  if constexpr (std::same_as<T, f32>) return dtype::f32;
  if constexpr (std::same_as<T, f64>) return dtype::f64;
}

namespace detail {
template <dtype Type>
struct element_for;
template <>
struct element_for<dtype::boolean> {
  using type = boolean;
};
template <>
struct element_for<dtype::u8> {
  using type = u8;
};
template <>
struct element_for<dtype::i32> {
  using type = i32;
};
template <>
struct element_for<dtype::u32> {
  using type = u32;
};
template <>
struct element_for<dtype::i64> {
  using type = i64;
};
template <>
struct element_for<dtype::f16> {
  using type = f16;
};
template <>
struct element_for<dtype::bf16> {
  using type = bf16;
};
template <>
struct element_for<dtype::f32> {
  using type = f32;
};
template <>
struct element_for<dtype::f64> {
  using type = f64;
};
}  // namespace detail

/// The C++ type of a dtype: `element_t<dtype::f32>` is `float`.
template <dtype Type>
using element_t = typename detail::element_for<Type>::type;

/// `value` as a constant of the type holds it; integers are left as they are.
[[nodiscard]] constexpr double rounded_to(double value, dtype type) {
  if (!is_floating(type) || type == dtype::f64) return value;
  const auto single = static_cast<f32>(value);
  if (type == dtype::f16) return static_cast<double>(static_cast<f32>(f16(single)));
  if (type == dtype::bf16) return static_cast<double>(static_cast<f32>(bf16(single)));
  return static_cast<double>(single);
}

}  // namespace atled
