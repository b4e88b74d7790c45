// support/near.hpp: how two results are compared: to the bit, or within the tolerance of a dtype.
// Reads: nothing of ours. The table of tolerances is `tolerance_of` below.
// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ostream>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>

namespace atled {

/// What a comparison found: true, or the first element that differs and how many do.
/// Catch2 prints it, so that `CHECK(near(a, b))` says where and by how much.
struct comparison {
  std::string difference;

  explicit operator bool() const { return difference.empty(); }
  friend std::ostream& operator<<(std::ostream& out, const comparison& result) {
    return out << (result ? "equal" : result.difference);
  }
};

/// Two numbers agree if |actual - expected| <= absolute + relative * |expected|.
struct tolerance {
  double relative = 0;
  double absolute = 0;
};

/// The default of `near` for results of type T: wide enough for a central difference in f64 and for
/// sums of some thousand terms in the others. Integers and booleans must be equal.
template <class T>
[[nodiscard]] constexpr tolerance tolerance_of() {
  if constexpr (std::is_integral_v<T>) {
    return {0, 0};
  } else if constexpr (sizeof(T) == 8) {  // f64
    return {1e-7, 1e-8};
  } else if constexpr (sizeof(T) == 4) {  // f32
    return {2e-5, 2e-6};
  } else if constexpr (std::is_same_v<T, f16>) {  // 11 bits of significand
    return {2.5e-3, 5e-4};
  } else {  // bf16: 8 bits of significand
    return {2e-2, 2e-3};
  }
}

/// `count` steps of the last place of T, and nothing absolute: for functions of one element.
template <class T>
[[nodiscard]] constexpr tolerance ulps(double count) {
  static_assert(!std::is_integral_v<T>);
  return {count * (sizeof(T) == 8           ? 0x1p-52
                   : sizeof(T) == 4         ? 0x1p-23
                   : std::is_same_v<T, f16> ? 0x1p-10
                                            : 0x1p-7),
          0};
}

namespace detail {

template <class T>
concept has_span = requires(const T& x) {
  x.span();
};

/// The elements of a tensor, a contiguous range or a scalar, in memory order.
template <class T>
[[nodiscard]] auto elements_of(const T& x) {
  if constexpr (has_span<T>) {
    return std::span(x.span());
  } else if constexpr (requires { std::span(x); }) {
    return std::span(x);
  } else {
    return std::span<const T, 1>(&x, 1);
  }
}

template <class T>
using element_of =
    std::remove_cv_t<typename decltype(elements_of(std::declval<const T&>()))::element_type>;

template <class T>
[[nodiscard]] double to_double(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(static_cast<float>(value));
  }
}

template <class T>
void print(std::ostream& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out << (value ? "true" : "false");
  } else if constexpr (std::is_integral_v<T>) {
    out << +value;
  } else {
    out.precision(sizeof(T) == 8 ? 17 : sizeof(T) == 4 ? 9 : 4);
    out << to_double(value);
  }
}

/// Compares element by element; `agree` decides.
template <class A, class E, class Agree>
[[nodiscard]] comparison compare(const A& actual, const E& expected, Agree agree) {
  const auto lhs = elements_of(actual);
  const auto rhs = elements_of(expected);
  std::ostringstream out;
  if (lhs.size() != rhs.size()) {
    out << lhs.size() << " elements, but " << rhs.size() << " expected";
    return {out.str()};
  }
  std::size_t differing = 0;
  for (std::size_t i = 0; i < lhs.size(); ++i) {
    if (!agree(lhs[i], rhs[i]) && differing++ == 0) {
      out << "element " << i << " is ";
      print(out, lhs[i]);
      out << ", but ";
      print(out, rhs[i]);
      out << " expected (difference " << to_double(lhs[i]) - to_double(rhs[i]) << ")";
    }
  }
  if (differing > 0) {
    out << "; " << differing << " of " << lhs.size() << " differ";
  }
  return {out.str()};
}

}  // namespace detail

/// True if the shapes' sizes and all elements agree within `allowed`. NaN agrees with NaN, and an
/// infinity with itself. The element types may differ: a result is compared with an f64 reference.
template <class A, class E>
[[nodiscard]] comparison near(const A& actual, const E& expected,
                              tolerance allowed = tolerance_of<detail::element_of<A>>()) {
  return detail::compare(actual, expected, [allowed](const auto& lhs, const auto& rhs) {
    const double x = detail::to_double(lhs);
    const double y = detail::to_double(rhs);
    if (std::isnan(x) || std::isnan(y)) {
      return std::isnan(x) && std::isnan(y);
    }
    if (std::isinf(x) || std::isinf(y)) {
      return std::isinf(x) && std::isinf(y) && (x > 0) == (y > 0);
    }
    return std::abs(x - y) <= allowed.absolute + allowed.relative * std::abs(y);
  });
}

/// True if all elements are of one type and equal to the bit: 0 and -0 differ, a NaN equals itself.
template <class A, class E>
[[nodiscard]] comparison same_bits(const A& actual, const E& expected) {
  static_assert(std::is_same_v<detail::element_of<A>, detail::element_of<E>>,
                "same_bits compares results of one element type");
  return detail::compare(actual, expected, [](const auto& lhs, const auto& rhs) {
    return std::memcmp(&lhs, &rhs, sizeof(lhs)) == 0;
  });
}

}  // namespace atled
