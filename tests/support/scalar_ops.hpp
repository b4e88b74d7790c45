// support/scalar_ops.hpp: each elementwise op on one element, in f64 or i64.
// Reads: support/array.hpp. The meaning of integer division, shifts and conversions stands here.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/ir/op.hpp"

#include "support/array.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

namespace atled::oracle {
namespace detail {

/// The lowest and highest value of an integer type.
inline std::pair<std::int64_t, std::int64_t> limits_of(dtype element) {
  switch (element) {
    case dtype::boolean:
      return {0, 1};
    case dtype::u8:
      return {0, 255};
    case dtype::i32:
      return {std::numeric_limits<i32>::min(), std::numeric_limits<i32>::max()};
    case dtype::u32:
      return {0, std::numeric_limits<u32>::max()};
    default:
      return {std::numeric_limits<i64>::min(), std::numeric_limits<i64>::max()};
  }
}

inline int bits_of(dtype element) {
  return static_cast<int>(8 * size_of(element));
}

/// Towards zero; out of range: the nearest value; NaN: 0.
inline std::int64_t truncated(double value, dtype element) {
  if (element == dtype::boolean) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  const auto [low, high] = limits_of(element);
  if (value <= static_cast<double>(low)) return low;
  if (value >= static_cast<double>(high)) return high;
  return static_cast<std::int64_t>(value);
}

inline std::int64_t wrapped_product(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapped_sum(std::int64_t x, std::int64_t y) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
}
inline std::int64_t wrapped_negative(std::int64_t x) {
  return static_cast<std::int64_t>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}

inline std::int64_t integer_power(std::int64_t x, std::int64_t exponent) {
  if (exponent < 0) return x == 1 ? 1 : x == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  std::int64_t out = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) out = wrapped_product(out, x);
    x = wrapped_product(x, x);
  }
  return out;
}

/// Word 0 or 1 of threefry2x32 with 20 rounds.
/// Source: Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011.
inline std::uint32_t threefry_word(int word, std::uint32_t key0, std::uint32_t key1,
                                   std::uint32_t x0, std::uint32_t x1) {
  const std::uint32_t keys[3] = {key0, key1, key0 ^ key1 ^ 0x1BD11BDAU};
  constexpr int rotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  x0 += keys[0];
  x1 += keys[1];
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (const int rotation : rotations[round % 2]) {
      x0 += x1;
      x1 = (x1 << rotation) | (x1 >> (32 - rotation));
      x1 ^= x0;
    }
    x0 += keys[(round + 1) % 3];
    x1 += keys[(round + 2) % 3] + round + 1;
  }
  return word == 0 ? x0 : word == 1 ? x1 : x0 ^ x1;
}

/// By Newton's method on erfc, which has all digits where x is near 1.
inline double erf_inv(double x) {
  using limits = std::numeric_limits<double>;
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? x * limits::infinity() : limits::quiet_NaN();
  const long double rest = 1 - std::abs(static_cast<long double>(x));
  long double y = std::sqrt(-std::log(rest * (2 - rest)));
  for (int i = 0; i < 100; ++i) {
    const long double slope = 2 / std::sqrt(3.14159265358979323846L) * std::exp(-y * y);
    const long double off =
        y < 0.5L ? std::abs(static_cast<long double>(x)) - std::erf(y) : std::erfc(y) - rest;
    y += off / slope;
  }
  return std::copysign(static_cast<double>(y), x);
}

/// The derivative of order n + 1 of log(gamma(x)): its series, and beyond 40 the asymptotic one.
inline double polygamma(int n, double x) {
  if (x <= 0 && x == std::floor(x)) {
    using limits = std::numeric_limits<double>;
    return n % 2 == 1 ? limits::infinity() : limits::quiet_NaN();
  }
  long double factorial = 1;
  for (int i = 2; i <= n; ++i) factorial *= i;
  long double sum = 0;  // of 1 / (x + k)^(n + 1)
  auto y = static_cast<long double>(x);
  for (; y < 40; y += 1) sum += 1 / std::pow(y, static_cast<long double>(n + 1));
  const long double s = n;
  // Euler and Maclaurin: the integral, half of the first term, and its derivatives.
  if (n > 0) sum += std::pow(y, -s) / s;
  sum += std::pow(y, -s - 1) / 2 + (s + 1) * std::pow(y, -s - 2) / 12 -
         (s + 1) * (s + 2) * (s + 3) * std::pow(y, -s - 4) / 720 +
         (s + 1) * (s + 2) * (s + 3) * (s + 4) * (s + 5) * std::pow(y, -s - 6) / 30240;
  if (n == 0) return static_cast<double>(std::log(y) - sum);
  return static_cast<double>((n % 2 == 1 ? 1 : -1) * factorial * sum);
}

inline double real_unary(op code, double x) {
  switch (code) {
    case op::neg:
      return -x;
    case op::exp:
      return std::exp(x);
    case op::expm1:
      return std::expm1(x);
    case op::log:
      return std::log(x);
    case op::log1p:
      return std::log1p(x);
    case op::tanh:
      return std::tanh(x);
    case op::logistic:
      return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
    case op::sin:
      return std::sin(x);
    case op::cos:
      return std::cos(x);
    case op::sqrt:
      return std::sqrt(x);
    case op::rsqrt:
      return 1 / std::sqrt(x);
    case op::erf:
      return std::erf(x);
    case op::erfc:
      return std::erfc(x);
    case op::erf_inv:
      return erf_inv(x);
    case op::sinh:
      return std::sinh(x);
    case op::cosh:
      return std::cosh(x);
    case op::cbrt:
      return std::cbrt(x);
    case op::lgamma:
      return std::lgamma(x);
    case op::abs:
      return std::abs(x);
    case op::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case op::floor:
      return std::floor(x);
    case op::ceil:
      return std::ceil(x);
    case op::round:
      return std::nearbyint(x);
    case op::stop_gradient:
    case op::checkpoint_name:
    case op::variable:
      return x;
    default:
      throw std::logic_error("interpreter: not a unary op on reals");
  }
}

inline std::int64_t integer_unary(op code, std::int64_t x, dtype element) {
  switch (code) {
    case op::neg:
      return wrapped_negative(x);
    case op::abs:
      return x < 0 ? wrapped_negative(x) : x;
    case op::sign:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case op::floor:
    case op::ceil:
    case op::round:
    case op::stop_gradient:
    case op::checkpoint_name:
    case op::variable:
      return x;
    case op::logical_not:
      return element == dtype::boolean ? 1 - x : ~x;
    default:
      throw std::logic_error("interpreter: not a unary op on integers");
  }
}

inline double real_binary(op code, double x, double y) {
  switch (code) {
    case op::add:
      return x + y;
    case op::sub:
      return x - y;
    case op::mul:
      return x * y;
    case op::strong_mul:
      return x == 0 || y == 0 ? 0 : x * y;
    case op::div:
      return x / y;
    case op::rem:
      return std::fmod(x, y);
    case op::pow:
      return std::pow(x, y);
    case op::max:
      return std::isnan(x) || std::isnan(y) ? x + y : x > y ? x : y;
    case op::min:
      return std::isnan(x) || std::isnan(y) ? x + y : x < y ? x : y;
    case op::atan2:
      return std::atan2(x, y);
    default:
      throw std::logic_error("interpreter: not a binary op on reals");
  }
}

/// x / 0 is -1 in all its bits, and the remainder then x, as in JAX.
inline std::int64_t integer_quotient(std::int64_t x, std::int64_t y) {
  if (y == 0) return -1;
  return y == -1 ? wrapped_negative(x) : x / y;
}
inline std::int64_t integer_remainder(std::int64_t x, std::int64_t y) {
  if (y == 0) return x;
  return y == -1 ? 0 : x % y;
}

/// A shift by the width or more moves all bits out.
inline std::int64_t shifted(op code, std::int64_t x, std::int64_t by, dtype element) {
  const bool is_out = by < 0 || by >= bits_of(element);
  if (code == op::shift_left) {
    return is_out ? 0 : static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << by);
  }
  if (is_signed(element)) return x >> (is_out ? bits_of(element) - 1 : by);
  return is_out ? 0 : x >> by;
}

inline std::int64_t integer_binary(op code, std::int64_t x, std::int64_t y, dtype element) {
  switch (code) {
    case op::add:
      return wrapped_sum(x, y);
    case op::sub:
      return wrapped_sum(x, wrapped_negative(y));
    case op::mul:
      return wrapped_product(x, y);
    case op::div:
      return integer_quotient(x, y);
    case op::rem:
      return integer_remainder(x, y);
    case op::pow:
      return integer_power(x, y);
    case op::max:
      return x > y ? x : y;
    case op::min:
      return x < y ? x : y;
    case op::bit_and:
      return x & y;
    case op::bit_or:
      return x | y;
    case op::bit_xor:
      return x ^ y;
    case op::shift_left:
    case op::shift_right:
      return shifted(code, x, y, element);
    default:
      throw std::logic_error("interpreter: not a binary op on integers");
  }
}

template <class T>
bool compared(op code, T x, T y) {
  switch (code) {
    case op::eq:
      return x == y;
    case op::ne:
      return x != y;
    case op::lt:
      return x < y;
    case op::le:
      return x <= y;
    case op::gt:
      return x > y;
    case op::ge:
      return x >= y;
    default:
      throw std::logic_error("interpreter: not a comparison");
  }
}

}  // namespace detail
}  // namespace atled::oracle
