// tests/unit/loops/simd_test.cpp: each operation of loops/simd.hpp against the same on one value,
// for every type and number of lanes, whole and partial.
// SPDX-License-Identifier: MIT
#include "atled/loops/simd.hpp"

#include "support/catch.hpp"
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace loops = atled::loops;
using atled::bf16;
using atled::f32;
using atled::f64;
using atled::i32;
using atled::i64;
using atled::u32;
using atled::u8;

namespace {

constexpr int room = 96;  // more than the widest vector, so that stray writes are seen

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

}  // namespace

TEMPLATE_TEST_CASE("simd: loads and stores touch the counted elements only", "[loops]", f32, f64,
                   i32, u32, i64, u8) {
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

TEMPLATE_TEST_CASE("simd: arithmetic on lanes is arithmetic on values", "[loops]", f32, f64) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x + y, [](T a, T b) { return a + b; });
    check_lanes(in, x - y, [](T a, T b) { return a - b; });
    check_lanes(in, x * y, [](T a, T b) { return a * b; });
    check_lanes(in, x / y, [](T a, T b) { return a / b; });
    check_lanes(in, x % y, [](T a, T b) { return std::fmod(a, b); });
    check_lanes(in, -x, [](T a, T) { return -a; });
    check_lanes(in, abs(x), [](T a, T) { return std::abs(a); });
    check_lanes(in, sqrt(x), [](T a, T) { return std::sqrt(a); });
    check_lanes(in, rsqrt(x), [](T a, T) { return T(1) / std::sqrt(a); });
    check_lanes(in, floor(x), [](T a, T) { return std::floor(a); });
    check_lanes(in, ceil(x), [](T a, T) { return std::ceil(a); });
    check_lanes(in, trunc(x), [](T a, T) { return std::trunc(a); });
    check_lanes(in, round_even(x), [](T a, T) { return std::nearbyint(a); });
    check_lanes(in, copysign(x, y), [](T a, T b) { return std::copysign(a, b); });
    check_lanes(in, sign(x), [](T a, T) { return a > 0 ? T(1) : a < 0 ? T(-1) : a; });
    check_lanes(in, is_nan(x), [](T a, T) { return std::isnan(a); });
    check_lanes(in, is_inf(x), [](T a, T) { return std::isinf(a); });
    check_lanes(in, is_finite(x), [](T a, T) { return std::isfinite(a); });
  });
}

TEMPLATE_TEST_CASE("simd: integers wrap around, and no quotient traps", "[loops]", i32, u32, i64,
                   u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x + y, [](T a, T b) { return wrap<T>(wide(a) + wide(b)); });
    check_lanes(in, x - y, [](T a, T b) { return wrap<T>(wide(a) - wide(b)); });
    check_lanes(in, x * y, [](T a, T b) { return wrap<T>(wide(a) * wide(b)); });
    check_lanes(in, -x, [](T a, T) { return wrap<T>(0 - wide(a)); });
    check_lanes(in, x / y, [](T a, T b) { return int_quotient(a, b); });
    check_lanes(in, x % y, [](T a, T b) {
      return b == 0 ? a : wrap<T>(wide(a) - wide(int_quotient(a, b)) * wide(b));
    });
    check_lanes(in, x & y, [](T a, T b) { return static_cast<T>(a & b); });
    check_lanes(in, x | y, [](T a, T b) { return static_cast<T>(a | b); });
    check_lanes(in, x ^ y, [](T a, T b) { return static_cast<T>(a ^ b); });
    check_lanes(in, ~x, [](T a, T) { return static_cast<T>(~a); });
    check_lanes(in, x << 3, [](T a, T) { return wrap<T>(wide(a) << 3); });
    check_lanes(in, x >> 3, [](T a, T) { return static_cast<T>(a >> 3); });
    check_lanes(in, abs(x), [](T a, T) { return negative(a) ? wrap<T>(0 - wide(a)) : a; });
    check_lanes(in, sign(x), [](T a, T) { return static_cast<T>((a > 0) - negative(a)); });
    constexpr std::uint64_t bits = 8 * sizeof(T);
    const auto inside = [](T n) { return !negative(n) && wide(n) < bits; };
    using U = std::make_unsigned_t<T>;
    using S = std::make_signed_t<T>;
    check_lanes(in, shift_left(x, y),
                [=](T a, T n) { return inside(n) ? wrap<T>(wide(a) << n) : T(0); });
    check_lanes(in, shift_right_logical(x, y), [=](T a, T n) {
      return inside(n) ? static_cast<T>(static_cast<U>(a) >> n) : T(0);
    });
    check_lanes(in, shift_right_arithmetic(x, y), [=](T a, T n) {
      return static_cast<T>(static_cast<S>(a) >> (inside(n) ? wide(n) : bits - 1));
    });
  });
}

TEST_CASE("simd: the smallest integer by -1 is itself, and x by 0 is -1", "[loops]") {
  const auto least = loops::splat<16>(std::numeric_limits<i32>::min());
  CHECK(all(least / loops::splat<16>(-1) == least));
  CHECK(all(least % loops::splat<16>(-1) == loops::splat<16>(0)));
  CHECK(all(loops::splat<16>(5) / loops::splat<16>(0) == loops::splat<16>(-1)));
  CHECK(all(loops::splat<16>(5) % loops::splat<16>(0) == loops::splat<16>(5)));
}

TEMPLATE_TEST_CASE("simd: comparisons choose lanes, and a NaN is unequal to all", "[loops]", f32,
                   f64, i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    const auto y = in.y();
    check_lanes(in, x == y, [](T a, T b) { return a == b; });
    check_lanes(in, x != y, [](T a, T b) { return a != b; });
    check_lanes(in, x < y, [](T a, T b) { return a < b; });
    check_lanes(in, x <= y, [](T a, T b) { return a <= b; });
    check_lanes(in, x > y, [](T a, T b) { return a > b; });
    check_lanes(in, x >= y, [](T a, T b) { return a >= b; });
    check_lanes(in, !(x < y), [](T a, T b) { return !(a < b); });
    check_lanes(in, (x < y) & (x != y), [](T a, T b) { return a < b; });
    check_lanes(in, (x < y) | (x > y), [](T a, T b) { return a < b || a > b; });
    check_lanes(in, (x <= y) ^ (x == y), [](T a, T b) { return a < b; });
    check_lanes(in, select(x < y, x, y), [](T a, T b) { return a < b ? a : b; });
    check_lanes(in, select(x < y, x == x, x == y), [](T a, T b) { return a < b || a == b; });
    check_lanes(in, convert<f64>(x < y), [](T a, T b) { return a < b ? 1.0 : 0.0; });
    check_lanes(in, convert<u8>(x < y), [](T a, T b) { return static_cast<u8>(a < b); });
    bool some = false;
    bool every = true;
    for (std::size_t i = 0; i < in.a.size(); ++i) {
      some = some || in.a[i] < in.b[i];
      every = every && in.a[i] < in.b[i];
    }
    CHECK(any(x < y) == some);
    CHECK(all(x < y) == every);
  });
}

TEMPLATE_TEST_CASE("simd: max and min of a NaN are NaN, on either side", "[loops]", f32, f64, i32,
                   u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    check_lanes(in, max(in.x(), in.y()), [](T a, T b) {
      if (not_a_number(a)) return a;
      if (not_a_number(b)) return b;
      return a > b ? a : b;
    });
    check_lanes(in, min(in.x(), in.y()), [](T a, T b) {
      if (not_a_number(a)) return a;
      if (not_a_number(b)) return b;
      return a < b ? a : b;
    });
  });
}

TEST_CASE("simd: fma rounds once where the machine can", "[loops]") {
#if defined(__FMA__)
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    const f32 e = std::numeric_limits<f32>::epsilon();
    const auto square = fma(loops::splat<N>(1 + e), loops::splat<N>(1 - e), loops::splat<N>(-1.0F));
    CHECK(all(square == loops::splat<N>(-e * e)));
    const f64 d = std::numeric_limits<f64>::epsilon();
    const auto wide = fma(loops::splat<N>(1 + d), loops::splat<N>(1 - d), loops::splat<N>(-1.0));
    CHECK(all(wide == loops::splat<N>(-d * d)));
  });
#else
  CHECK(all(fma(loops::splat<4>(2.0F), loops::splat<4>(3.0F), loops::splat<4>(1.0F)) ==
            loops::splat<4>(7.0F)));
#endif
}

namespace {

// Towards zero, the nearest end outside, 0 for a NaN.
template <class U, class T>
U saturated(T a) {
  using limits = std::numeric_limits<U>;
  if (std::isnan(a)) return 0;
  const long double whole = std::trunc(static_cast<long double>(a));
  if (whole >= static_cast<long double>(limits::max())) return limits::max();
  if (whole <= static_cast<long double>(limits::min())) return limits::min();
  return static_cast<U>(whole);
}

template <class U, class T>
U converted(T a) {
  if constexpr (std::is_floating_point_v<T> && std::is_integral_v<U>) {
    return saturated<U>(a);
  } else {
    return static_cast<U>(a);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("simd: a float becomes the nearest end of an integer's range, a NaN 0",
                   "[loops]", f32, f64, i32, u32, i64, u8) {
  using T = TestType;
  with_operands<T>([](const auto& in) {
    const auto x = in.x();
    check_lanes(in, loops::convert<f32>(x), [](T a, T) { return converted<f32>(a); });
    check_lanes(in, loops::convert<f64>(x), [](T a, T) { return converted<f64>(a); });
    check_lanes(in, loops::convert<i32>(x), [](T a, T) { return converted<i32>(a); });
    check_lanes(in, loops::convert<u32>(x), [](T a, T) { return converted<u32>(a); });
    check_lanes(in, loops::convert<i64>(x), [](T a, T) { return converted<i64>(a); });
    check_lanes(in, loops::convert<u8>(x), [](T a, T) { return converted<u8>(a); });
    check_lanes(in, loops::convert<bool>(x), [](T a, T) { return a != T(0); });
    check_lanes(in, loops::convert<bf16>(x),
                [](T a, T) { return static_cast<f32>(bf16(static_cast<f32>(a))); });
  });
  if constexpr (std::is_floating_point_v<T>) {
    for (const T edge : {T(2147483520), T(2147483648.0), T(-2147483648.0), T(4294967040.0),
                         T(9.2233720368547758e18), T(-9.2233720368547758e18), T(255.5), T(256),
                         T(-0.9), T(1e30), T(-1e30)}) {
      INFO("edge " << edge);
      CHECK(all(loops::convert<i32>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<i32>(edge))));
      CHECK(all(loops::convert<u32>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<u32>(edge))));
      CHECK(all(loops::convert<i64>(loops::splat<16>(edge)) ==
                loops::splat<16>(saturated<i64>(edge))));
      CHECK(
          all(loops::convert<u8>(loops::splat<16>(edge)) == loops::splat<16>(saturated<u8>(edge))));
    }
  }
}

TEST_CASE("simd: bf16 is widened when loaded and rounded to even when stored", "[loops]") {
  // All 2^16 upper halves with lower halves around the tie.
  for (std::uint32_t upper = 0; upper < 0x10000; upper += 16) {
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU}) {
      std::array<f32, 16> in;
      for (std::uint32_t i = 0; i < 16; ++i) {
        in[i] = std::bit_cast<f32>(((upper + i) << 16) | lower);
      }
      std::array<bf16, 16> out;
      loops::store(out.data(), loops::load<16>(in.data()));
      bool good = true;
      for (std::size_t i = 0; i < 16; ++i) good = good && out[i].bits == bf16(in[i]).bits;
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
    std::array<bf16, room> memory;
    for (int i = 0; i < room; ++i) memory[static_cast<std::size_t>(i)] = bf16(static_cast<f32>(i));
    for (int count = 0; count <= N; ++count) {
      std::array<bf16, room> out;
      out.fill(bf16(99.0F));
      const auto v = loops::load_partial<N>(memory.data(), count, bf16(50.0F));
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

TEST_CASE("simd: bool bytes are masks in registers", "[loops]") {
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

TEMPLATE_TEST_CASE("simd: reductions join halves, in one order on every machine", "[loops]", f32,
                   f64, i32, u32, i64, u8) {
  using T = TestType;
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    std::array<T, std::size_t{N}> values;
    for (int i = 0; i < N; ++i) {
      values[static_cast<std::size_t>(i)] = static_cast<T>(T(1) + static_cast<T>(i * 7 % 5) / T(3));
    }
    auto sum = values;
    auto product = values;
    for (std::size_t half = N / 2; half > 0; half /= 2) {
      for (std::size_t i = 0; i < half; ++i) {
        sum[i] = static_cast<T>(sum[i] + sum[i + half]);
        product[i] = static_cast<T>(product[i] * product[i + half]);
      }
    }
    const auto v = loops::load<N>(values.data());
    CHECK(same(loops::reduce_add(v), sum[0]));
    CHECK(same(loops::reduce_mul(v), product[0]));
    T greatest = values[0];
    T least = values[0];
    for (const T x : values) {
      greatest = x > greatest ? x : greatest;
      least = x < least ? x : least;
    }
    CHECK(same(loops::reduce_max(v), greatest));
    CHECK(same(loops::reduce_min(v), least));
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t at = 0; at < N; ++at) {
        auto with_nan = values;
        with_nan[at] = std::numeric_limits<T>::quiet_NaN();
        CHECK(std::isnan(loops::reduce_max(loops::load<N>(with_nan.data()))));
        CHECK(std::isnan(loops::reduce_min(loops::load<N>(with_nan.data()))));
      }
    }
  });
}

TEMPLATE_TEST_CASE("simd: powers of two scale with one rounding and split exactly", "[loops]", f32,
                   f64) {
  using T = TestType;
  using limits = std::numeric_limits<T>;
  for_each_lane_count([](auto n) {
    constexpr int N = n;
    for (int e = limits::min_exponent - 60; e <= limits::max_exponent + 3; ++e) {
      const T m = T(1.4142135623730951);
      INFO("exponent " << e);
      const auto scaled = scale_pow2(loops::splat<N>(m), loops::splat<N>(static_cast<T>(e)));
      CHECK(loops::low(loops::join(scaled, scaled)).lanes == N);
      CHECK(loops::reduce_max(scaled) == std::ldexp(m, e));
      const T whole = std::ldexp(m, e);
      if (whole == 0 || std::isinf(whole)) continue;
      const auto parts = split_pow2(loops::splat<N>(whole));
      const T mantissa = loops::reduce_max(parts.m);
      CHECK(mantissa >= T(0.75));
      CHECK(mantissa < T(1.5));
      CHECK(std::ldexp(mantissa, static_cast<int>(loops::reduce_max(parts.e))) == whole);
    }
    const T inf = limits::infinity();
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(T(0))).e) == -inf);
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(inf)).e) == inf);
    CHECK(loops::reduce_max(split_pow2(loops::splat<N>(inf)).m) == T(1));
    CHECK(std::isnan(loops::reduce_max(split_pow2(loops::splat<N>(T(-2))).m)));
    CHECK(std::isnan(loops::reduce_max(split_pow2(loops::splat<N>(limits::quiet_NaN())).m)));
  });
}
