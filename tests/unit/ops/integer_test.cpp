// unit/ops/integer_test.cpp: division with remainder, bits, truth values.
// SPDX-License-Identifier: MIT
#include "atled/ops/integer.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <cstdint>

using namespace atled;
using namespace atled::test;

namespace {
using ints = tensor<i32, 4>;
using reals = tensor<f64, 4>;
static_assert(types_of<ints, tensor<u8, 4>>([](auto x, auto y) {
                return std::tuple{divide(x, 2), div(x, y), floor_divide(x, y), remainder(x, 2.0)};
              }).view() == "f32[4] i32[4] i32[4] f32[4]");
}  // namespace

TEST_CASE("floor_divide: rounds down, its remainder has the sign of the divisor", "[ops]") {
  const ints x{-7, 7, -8, 0};
  const ints y{2, -2, 2, 5};
  CHECK(values_of([](auto u, auto v) { return floor_divide(u, v); }, x, y) ==
        numbers{-4, -4, -4, 0});
  CHECK(values_of([](auto u, auto v) { return remainder(u, v); }, x, y) == numbers{1, -1, 0, 0});
  CHECK(values_of([](auto u, auto v) { return div(u, v); }, x, y) == numbers{-3, -3, -4, 0});
  CHECK(values_of([](auto u, auto v) { return rem(u, v); }, x, y) == numbers{-1, 1, 0, 0});
}

TEST_CASE("floor_divide: large operands do not overflow on the way", "[ops]") {
  const ints x{-2147483647, 2147483647, -2000000000, 2000000000};
  const ints y{2147483647, -2147483646, 2000000001, -3};
  CHECK(values_of([](auto u, auto v) { return remainder(u, v); }, x, y) ==
        numbers{0, -2147483645, 1, -1});
  CHECK(values_of([](auto u, auto v) { return floor_divide(u, v); }, x, y) ==
        numbers{-1, -2, -1, -666666667});
}

TEST_CASE("floor_divide: of floating operands is whole, and flat", "[ops]") {
  const reals x{1, -7.5, 1e300, 1};
  const reals y{0.1, 2, 1e-10, 0};
  const auto quotient = values_of([](auto u, auto v) { return floor_divide(u, v); }, x, y);
  CHECK(quotient == numbers{9, -4, infinity, infinity});
  const reals z{0.5, 2, -3, 4};
  CHECK(gradient_of([](auto u, auto v) { return floor_divide(u, v); }, reals{1, -7, 8, 9}, z) ==
        numbers{0, 0, 0, 0});
  CHECK(gradient_of([](auto u, auto v) { return remainder(u, v); }, reals{1.1, -7.3, 8.4, 9.5},
                    z) == numbers{1, 1, 1, 1});
  CHECK(gradient_of([](auto v, auto u) { return remainder(u, v); }, z,
                    reals{1.1, -7.3, 8.4, 9.5}) == numbers{-2, 4, 3, -2});
}

TEST_CASE("bits: shifts keep the sign of signed integers only", "[ops]") {
  const ints x{-8, 8, 5, 1};
  CHECK(values_of([](auto u) { return right_shift(u, 1); }, x) == numbers{-4, 4, 2, 0});
  CHECK(values_of([](auto u) { return left_shift(u, 2); }, x) == numbers{-32, 32, 20, 4});
  CHECK(values_of([](auto u) { return right_shift(u, 28); }, tensor<u32, 1>{4294967288U}) ==
        numbers{15});
  CHECK(values_of([](auto u) { return bitwise_xor(bitwise_and(u, 6), bitwise_or(u, 1)); }, x) ==
        numbers{-7 ^ 0, 9, 1, 1});
  CHECK(values_of([](auto u) { return bitwise_not(u); }, x) == numbers{7, -9, -6, -2});
}

TEST_CASE("logical_and: anything but 0 is true", "[ops]") {
  const ints x{0, 1, 2, -1};
  CHECK(values_of([](auto u) { return logical_and(u, u > 1); }, x) == numbers{0, 0, 1, 0});
  CHECK(values_of([](auto u) { return logical_or(u, false); }, x) == numbers{0, 1, 1, 1});
  CHECK(values_of([](auto u) { return logical_xor(u, true); }, x) == numbers{1, 0, 0, 0});
  CHECK(values_of([](auto u) { return logical_not(u); }, x) == numbers{1, 0, 0, 0});
}

TEST_CASE("integer: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tensor<f32, 4>>([](auto x) { return bitwise_and(x, 1); }) ==
        "bitwise_and: f32[4]: it takes booleans or integers");
}

TEST_CASE("population_count: of narrow and wide, signed and unsigned integers", "[ops]") {
  const auto f = [](auto x) { return population_count(x); };
  CHECK(values_of(f, tensor<u8, 4>{0, 255, 7, 128}) == numbers{0, 8, 3, 1});
  CHECK(values_of(f, tensor<i32, 4>{-1, 0, 12345, std::numeric_limits<i32>::min()}) ==
        numbers{32, 0, 6, 1});
  CHECK(values_of(f, tensor<u32, 2>{0xFFFFFFFFU, 0x80000001U}) == numbers{32, 2});
  CHECK(values_of(f, tensor<i64, 3>{-1, 1LL << 40, 0x0F0F0F0F0F0F0F0F}) == numbers{64, 1, 32});
}
