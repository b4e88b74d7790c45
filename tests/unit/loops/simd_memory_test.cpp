// tests/unit/loops/simd_memory_test.cpp: loads and stores touch what they should and nothing else.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd_memory.hpp"

#include "support/catch.hpp"
#include "unit/loops/lanes.hpp"
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

using namespace lanes;  // NOLINT: the vocabulary of these tests

TEMPLATE_TEST_CASE("simd_memory: loads and stores touch the counted elements only", "[loops]", f32,
                   f64, i32, u32, i64, u8) {
  using T = TestType;
  std::array<T, room> memory;
  for (int i = 0; i < room; ++i) memory[static_cast<std::size_t>(i)] = static_cast<T>(i + 1);
  for_each_lane_count([&](auto n) {
    constexpr int N = n;
    for (int count = 0; count <= N + 1; ++count) {
      std::array<T, room> out;
      out.fill(T(99));
      const auto v = loops::load_partial<N>(memory.data(), count, T(50));
      loops::store(out.data(), v);
      for (int i = 0; i < room; ++i) {
        const T want = i < N ? (i < count ? static_cast<T>(i + 1) : T(50)) : T(99);
        CHECK(out[static_cast<std::size_t>(i)] == want);
      }
      out.fill(T(99));
      loops::store_partial(out.data(), loops::load<N>(memory.data() + 1), count);
      for (int i = 0; i < room; ++i) {
        const T want = i < N && i < count ? static_cast<T>(i + 2) : T(99);
        CHECK(out[static_cast<std::size_t>(i)] == want);
      }
      out.fill(T(99));
      loops::store_strided(out.data() + N, loops::load<N>(memory.data()), 2, count);
      for (int i = 0; i < room - N; ++i) {
        const bool written = i % 2 == 0 && i / 2 < N && i / 2 < count;
        CHECK(out[static_cast<std::size_t>(i + N)] ==
              (written ? static_cast<T>(i / 2 + 1) : T(99)));
      }
      out.fill(T(99));
      loops::store(out.data(), loops::load_strided<N>(memory.data() + 64, -2, count));
      for (int i = 0; i < N; ++i) {
        CHECK(out[static_cast<std::size_t>(i)] == (i < count ? static_cast<T>(65 - 2 * i) : T(0)));
      }
      const auto index = loops::iota<i32, N>() * loops::splat<N>(i32{2}) + loops::splat<N>(i32{5});
      loops::store(out.data(), loops::gather(memory.data(), index, count));
      for (int i = 0; i < N; ++i) {
        CHECK(out[static_cast<std::size_t>(i)] == (i < count ? static_cast<T>(2 * i + 6) : T(0)));
      }
      loops::store(out.data(), loops::gather(memory.data(), loops::convert<i64>(index), count));
      for (int i = 0; i < N; ++i) {
        CHECK(out[static_cast<std::size_t>(i)] == (i < count ? static_cast<T>(2 * i + 6) : T(0)));
      }
    }
    alignas(64) std::array<T, room> out{};
    loops::store_stream(out.data(), loops::iota<T, N>());
    loops::stream_fence();
    for (int i = 0; i < N; ++i) CHECK(out[static_cast<std::size_t>(i)] == static_cast<T>(i));
  });
}

TEMPLATE_TEST_CASE("simd_memory: halves are widened when loaded and rounded to even when stored",
                   "[loops]", bf16, f16) {
  using T = TestType;
  // All 2^16 upper halves with lower halves around the tie.
  for (std::uint32_t upper = 0; upper < 0x10000; upper += 16) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x0fffU, 0x1000U, 0x1001U, 0x3000U, 0x5000U,
                                      0x7fffU, 0x8000U, 0x8001U, 0xf000U, 0xffffU}) {
      std::array<f32, 16> in;
      for (std::uint32_t i = 0; i < 16; ++i) {
        in[i] = std::bit_cast<f32>(((upper + i) << 16) | lower);
      }
      std::array<T, 16> out;
      loops::store(out.data(), loops::load<16>(in.data()));
      bool good = true;
      for (std::size_t i = 0; i < 16; ++i) good = good && out[i].bits == T(in[i]).bits;
      INFO("upper half " << upper << ", lower half " << lower);
      REQUIRE(good);
      std::array<f32, 16> back;
      loops::store(back.data(), loops::load<16>(out.data()));
      for (std::size_t i = 0; i < 16; ++i) good = good && same(back[i], static_cast<f32>(out[i]));
      REQUIRE(good);
    }
  }
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    std::array<T, room> memory;
    for (int i = 0; i < room; ++i) memory[static_cast<std::size_t>(i)] = T(static_cast<f32>(i));
    for (int count = 0; count <= N; ++count) {
      std::array<T, room> out;
      out.fill(T(99.0F));
      const auto v = loops::load_partial<N>(memory.data(), count, T(50.0F));
      loops::store_partial(out.data() + 1, v, count);
      for (int i = 0; i < N; ++i) {
        CHECK(static_cast<f32>(out[static_cast<std::size_t>(i + 1)]) ==
              (i < count ? static_cast<f32>(i) : 99.0F));
      }
      loops::store(out.data(), v);
      for (int i = 0; i < N; ++i) {
        CHECK(static_cast<f32>(out[static_cast<std::size_t>(i)]) ==
              (i < count ? static_cast<f32>(i) : 50.0F));
      }
      loops::store(out.data(), loops::load_strided<N>(memory.data(), 2, count));
      for (int i = 0; i < N; ++i) {
        CHECK(static_cast<f32>(out[static_cast<std::size_t>(i)]) ==
              (i < count ? static_cast<f32>(2 * i) : 0.0F));
      }
    }
  });
}

TEST_CASE("simd_memory: bool bytes are masks in registers", "[loops]") {
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    std::array<bool, room> memory;
    for (int i = 0; i < room; ++i) memory[static_cast<std::size_t>(i)] = i % 3 == 1;
    for (int count = 0; count <= N; ++count) {
      for (const bool fill : {false, true}) {
        std::array<bool, room> out;
        out.fill(!fill);
        loops::store(out.data(), loops::load_partial<N>(memory.data(), count, fill));
        for (int i = 0; i < room; ++i) {
          const bool want = i >= N ? !fill : i < count ? i % 3 == 1 : fill;
          CHECK(out[static_cast<std::size_t>(i)] == want);
        }
        out.fill(fill);
        loops::store_partial(out.data(), loops::load<N>(memory.data()), count);
        for (int i = 0; i < room; ++i) {
          CHECK(out[static_cast<std::size_t>(i)] == (i < N && i < count ? i % 3 == 1 : fill));
        }
      }
      std::array<bool, std::size_t{N}> out;
      loops::store(out.data(), loops::first_lanes<N>(count));
      for (int i = 0; i < N; ++i) CHECK(out[static_cast<std::size_t>(i)] == (i < count));
    }
    CHECK(all(loops::splat<N>(true)));
    CHECK(!any(loops::splat<N>(false)));
    CHECK(!any(loops::first_lanes<N>(-3)));
    CHECK(all(loops::first_lanes<N>(N + 3)));
  });
}
