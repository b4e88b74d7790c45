// tests/unit/loops/simd_test.cpp: types of several sizes in one loop.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <array>
#include <cstddef>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEST_CASE("simd: one mask chooses lanes of every size", "[loops]") {
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    std::array<f32, room> in;
    std::array<f64, room> wide;
    std::array<u8, room> narrow;
    for (std::size_t i = 0; i < room; ++i) {
      in[i] = static_cast<f32>(i * 5 % 7);
      wide[i] = static_cast<f64>(i * 3 % 11);
      narrow[i] = static_cast<u8>(i);
    }
    const auto x = loops::load<N>(in.data());
    const auto y = loops::load<N>(wide.data());
    const auto z = loops::load<N>(narrow.data());
    const auto chosen = (x < loops::splat<N>(3.0F)) & (y > loops::splat<N>(4.0));
    std::array<f64, std::size_t{N}> wide_out;
    std::array<u8, std::size_t{N}> narrow_out;
    loops::store(wide_out.data(), select(chosen, y, loops::convert<f64>(x)));
    loops::store(narrow_out.data(), select(chosen, z, loops::convert<u8>(y)));
    for (std::size_t i = 0; i < N; ++i) {
      const bool want = in[i] < 3 && wide[i] > 4;
      CHECK(wide_out[i] == (want ? wide[i] : static_cast<f64>(in[i])));
      CHECK(narrow_out[i] == (want ? narrow[i] : static_cast<u8>(wide[i])));
    }
  });
}
