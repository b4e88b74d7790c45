// tests/unit/loops/lanes.hpp: operands with awkward values, and a check of each lane of a result.
// Reads: loops/simd.hpp. The tests of loops/simd_*.hpp use it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/loops/simd.hpp"

#include "support/catch.hpp"
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lanes {

namespace loops = atled::loops;
using atled::bf16;
using atled::f16;
using atled::f32;
using atled::f64;
using atled::i32;
using atled::i64;
using atled::u32;
using atled::u8;

inline constexpr int room = 96;  // more than the widest vector, so that stray writes are seen

template <class F>
void for_each_lane_count(F f) {
  f(std::integral_constant<int, 1>{});
  f(std::integral_constant<int, 2>{});
  f(std::integral_constant<int, 4>{});
  f(std::integral_constant<int, 8>{});
  f(std::integral_constant<int, 16>{});
  f(std::integral_constant<int, 32>{});
}

template <class T>
T awkward(int i) {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    const std::array<T, 20> values{T(0),
                                   T(-0.0),
                                   T(1),
                                   T(-1),
                                   T(0.5),
                                   T(-0.5),
                                   T(1.5),
                                   T(2.5),
                                   T(-2.5),
                                   T(3.75),
                                   limits::infinity(),
                                   -limits::infinity(),
                                   limits::quiet_NaN(),
                                   limits::max(),
                                   limits::lowest(),
                                   limits::min(),
                                   limits::denorm_min(),
                                   T(8388609),
                                   T(-4503599627370497.0),
                                   T(7)};
    return values[static_cast<std::size_t>(i) % values.size()];
  } else {
    const std::array<T, 11> values{T(0),
                                   T(1),
                                   static_cast<T>(-1),
                                   T(7),
                                   limits::max(),
                                   limits::min(),
                                   static_cast<T>(-7),
                                   T(100),
                                   T(13),
                                   T(2),
                                   static_cast<T>(limits::max() - 5)};
    return values[static_cast<std::size_t>(i) % values.size()];
  }
}

// Same bits, all NaN alike.
template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
  } else {
    return a == b;
  }
}

template <class T>
bool not_a_number(T a) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::isnan(a);
  } else {
    return false;
  }
}

// Values of two strides, so that over all shifts many pairs meet.
template <class T, int N>
struct operands {
  std::array<T, std::size_t{N}> a, b;
  explicit operands(int shift) {
    for (int i = 0; i < N; ++i) {
      a[static_cast<std::size_t>(i)] = awkward<T>(i);
      b[static_cast<std::size_t>(i)] = awkward<T>(i + shift);
    }
  }
  [[nodiscard]] loops::vec<T, N> x() const { return loops::load<N>(a.data()); }
  [[nodiscard]] loops::vec<T, N> y() const { return loops::load<N>(b.data()); }
};

template <class U, class T, int N, class F>
void check_lanes(const operands<T, N>& in, loops::vec<U, N> got, F one) {
  std::array<U, std::size_t{N}> out;
  loops::store(out.data(), got);
  for (std::size_t i = 0; i < N; ++i) {
    const U want = one(in.a[i], in.b[i]);
    INFO("lanes " << N << ", lane " << i << ", operands " << +in.a[i] << " and " << +in.b[i]
                  << ", got " << +out[i] << ", want " << +want);
    CHECK(same(out[i], want));
  }
}

template <class T, int N, class F>
void check_lanes(const operands<T, N>& in, loops::mask<N> got, F one) {
  std::array<bool, std::size_t{N}> out;
  loops::store(out.data(), got);
  for (std::size_t i = 0; i < N; ++i) {
    INFO("lanes " << N << ", lane " << i << ", operands " << +in.a[i] << " and " << +in.b[i]);
    CHECK(out[i] == one(in.a[i], in.b[i]));
  }
}

template <class T, class F>
void with_operands(F f) {
  for_each_lane_count([&](auto n) {
    for (int shift = 0; shift < 20; ++shift) f(operands<T, n>(shift));
  });
}

template <class T>
T wrap(std::uint64_t x) {
  return static_cast<T>(x);
}
template <class T>
std::uint64_t wide(T x) {
  return static_cast<std::uint64_t>(x);
}

template <class T>
bool negative(T a) {
  if constexpr (std::is_signed_v<T>) {
    return a < 0;
  } else {
    return false;
  }
}

template <class T>
T int_quotient(T a, T b) {  // JAX
  if (b == 0) return static_cast<T>(-1);
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrap<T>(0 - wide(a));
  return static_cast<T>(a / b);
}

}  // namespace lanes
