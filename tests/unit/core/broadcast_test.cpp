// unit/core/broadcast_test.cpp: NumPy's broadcasting and the type of a literal, as values.
// Reads: atled/core/broadcast.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/broadcast.hpp"

#include "support/catch.hpp"

namespace {

using namespace atled;

constexpr tensor_type f32_of(std::initializer_list<std::int64_t> sizes) {
  return {dtype::f32, shape::of(sizes)};
}
constexpr shape both(std::initializer_list<std::int64_t> lhs,
                     std::initializer_list<std::int64_t> rhs) {
  return broadcast_dims(f32_of(lhs), f32_of(rhs)).dims;
}

static_assert(both({3, 1}, {1, 4}) == shape::of({3, 4}));
static_assert(both({}, {2, 3}) == shape::of({2, 3}));
static_assert(both({8, 1, 6, 1}, {7, 1, 5}) == shape::of({8, 7, 6, 5}));
static_assert(both({0, 3}, {1}) == shape::of({0, 3}));
static_assert(both({0}, {1}) == shape::of({0}));

static_assert(literal_element<double>(dtype::bf16) == dtype::bf16);
static_assert(literal_element<double>(dtype::i32) == dtype::f32);
static_assert(literal_element<int>(dtype::boolean) == dtype::i32);
static_assert(literal_element<int>(dtype::i64) == dtype::i64);
static_assert(literal_element<bool>(dtype::u8) == dtype::u8);

}  // namespace

TEST_CASE("broadcast: sizes that do not fit give the axis and, where there is one, the fix",
          "[core]") {
  CHECK(broadcast_dims(f32_of({8, 16}), f32_of({8})).problem.view() ==
        "f32[8,16] and f32[8]: axis 1 (16) against 8: sizes must be equal or 1; reshape the second "
        "to f32[8,1]");
  CHECK(broadcast_dims(f32_of({2}), f32_of({3})).problem.view() ==
        "f32[2] and f32[3]: axis 0 (2) against 3: sizes must be equal or 1");
}
