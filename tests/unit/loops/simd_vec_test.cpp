// tests/unit/loops/simd_vec_test.cpp: making vectors, and taking them apart.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_vec.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_vec: halves join to the whole", "[loops]", f32, f64, i32, u32, i64, u8) {
  using T = TestType;
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    const auto v = loops::iota<T, N>();
    static_assert(sizeof(v) == N * sizeof(T));
    std::array<T, std::size_t{N}> out;
    loops::store(out.data(), v);
    for (std::size_t i = 0; i < N; ++i) CHECK(out[i] == static_cast<T>(i));
    std::array<T, std::size_t{2} * N> twice;
    loops::store(twice.data(), loops::join(v, loops::splat<N>(T(9))));
    for (std::size_t i = 0; i < N; ++i) {
      CHECK(twice[i] == static_cast<T>(i));
      CHECK(twice[i + N] == T(9));
    }
    if constexpr (N > 1) {
      std::array<T, std::size_t{N} / 2> half;
      loops::store(half.data(), loops::low(v));
      for (std::size_t i = 0; i < N / 2; ++i) CHECK(half[i] == static_cast<T>(i));
      loops::store(half.data(), loops::high(v));
      for (std::size_t i = 0; i < N / 2; ++i) CHECK(half[i] == static_cast<T>(i + N / 2));
    }
  });
}

TEST_CASE("simd_vec: halves of masks join to the whole", "[loops]") {
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    for (int count = 0; count <= N; ++count) {
      std::array<bool, std::size_t{2} * N> twice;
      loops::store(twice.data(), loops::join(loops::first_lanes<N>(count), loops::splat<N>(true)));
      for (int i = 0; i < 2 * N; ++i) {
        CHECK(twice[static_cast<std::size_t>(i)] == (i < count || i >= N));
      }
      if constexpr (N > 1) {
        std::array<bool, std::size_t{N} / 2> half;
        loops::store(half.data(), loops::high(loops::first_lanes<N>(count)));
        for (int i = 0; i < N / 2; ++i) {
          CHECK(half[static_cast<std::size_t>(i)] == (i + N / 2 < count));
        }
      }
    }
  });
}

TEST_CASE("simd_vec: reinterpret keeps the bits, per_lane the lanes", "[loops]") {
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    const auto ones = loops::splat<N>(1.0F);
    CHECK(all(loops::reinterpret<u32>(ones) == loops::splat<N>(u32{0x3f800000})));
    CHECK(all(loops::reinterpret<f32>(loops::reinterpret<i32>(ones)) == ones));
    const auto v = loops::iota<f64, N>();
    const auto sum = loops::per_lane([](f64 a, f64 b) { return a + 2 * b; }, v, v);
    CHECK(all(sum == v + v + v));
  });
}

TEST_CASE("simd_vec: splat keeps the sign of zero", "[loops]") {
  CHECK(std::signbit(loops::low(loops::low(loops::splat<4>(-0.0F))).r));
}
