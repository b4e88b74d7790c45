// unit/kernels/sort_test.cpp: places in order against std::stable_sort.
// SPDX-License-Identifier: MIT
#include "atled/kernels/sort.hpp"

#include "support/catch.hpp"
#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

using namespace atled;
using kernels::sort_shape;

namespace {

template <class T>
bool is_before(T x, T y) {
  if constexpr (std::is_same_v<T, bf16>) {
    return is_before(static_cast<f32>(x), static_cast<f32>(y));
  } else {
    return x < y || (y != y && x == x);
  }
}

template <class T>
std::vector<i32> expected(const sort_shape& s, const std::vector<T>& in) {
  std::vector<i32> out(static_cast<std::size_t>(s.outer * s.count * s.inner));
  for (std::int64_t o = 0; o < s.outer; ++o) {
    for (std::int64_t k = 0; k < s.inner; ++k) {
      const auto at = [&](std::int64_t i) {
        return in[static_cast<std::size_t>((o * s.size + i) * s.inner + k)];
      };
      std::vector<i32> places(static_cast<std::size_t>(s.size));
      std::iota(places.begin(), places.end(), 0);
      std::stable_sort(places.begin(), places.end(), [&](i32 l, i32 r) {
        return s.descends ? is_before(at(r), at(l)) : is_before(at(l), at(r));
      });
      for (std::int64_t i = 0; i < s.count; ++i) {
        out[static_cast<std::size_t>((o * s.count + i) * s.inner + k)] =
            places[static_cast<std::size_t>(i)];
      }
    }
  }
  return out;
}

template <class T>
std::vector<T> some_numbers(std::int64_t count, std::uint32_t seed) {
  std::vector<T> out;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    const auto number = static_cast<std::int32_t>(seed) >> 8;
    if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, bf16>) {
      f32 x = static_cast<f32>(number) * 0x1p-10F;
      if (number % 7 == 0) x = 0.0F;
      if (number % 11 == 0) x = -0.0F;
      if (number % 13 == 0) x = std::numeric_limits<f32>::quiet_NaN();
      if (number % 17 == 0) x = -std::numeric_limits<f32>::infinity();
      out.push_back(static_cast<T>(x));
    } else {
      out.push_back(static_cast<T>(number % 50));
    }
  }
  return out;
}

template <class T>
bool sorts(const sort_shape& s) {
  const auto in = some_numbers<T>(s.outer * s.size * s.inner, static_cast<std::uint32_t>(s.size));
  std::vector<i32> out(static_cast<std::size_t>(s.outer * s.count * s.inner));
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(kernels::argsort_workspace_bytes(dtype_of<T>(), s.size)));
  kernels::argsort(s, std::vector<T>(in).data(), out.data(), workspace.data());
  return out == expected(s, in);
}

}  // namespace

TEMPLATE_TEST_CASE("argsort: places are those of a stable sort", "[kernels][sanitize]", f32, f64,
                   bf16, i32, u32, i64, u8) {
  for (const bool descends : {false, true}) {
    CHECK(sorts<TestType>({1, 0, 1, 0, descends}));
    CHECK(sorts<TestType>({3, 1, 2, 1, descends}));
    CHECK(sorts<TestType>({2, 37, 3, 37, descends}));
    CHECK(sorts<TestType>({2, 500, 2, 500, descends}));
    CHECK(sorts<TestType>({2, 500, 1, 5, descends}));
    CHECK(sorts<TestType>({1, 500, 1, 100, descends}));
  }
}
