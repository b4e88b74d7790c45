// unit/loops/eager_ops_test.cpp: single ops on lanes: integer division, remainders, powers.
// Reads: atled/loops/eager_ops.hpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_ops.hpp"

#include "support/catch.hpp"
#include <limits>

namespace {

using namespace atled;
using namespace atled::loops::eager;
using loops::vec;

static_assert(accepts(takes::numbers, dtype::bf16) && !accepts(takes::numbers, dtype::boolean));
static_assert(accepts(takes::bits, dtype::boolean) && !accepts(takes::integers, dtype::boolean));
static_assert(!accepts(takes::floating, dtype::i64));

template <class Op, class T>
T of(T x, T y) {
  return Op::apply(vec<T, 1>{x}, vec<T, 1>{y}).r;
}

}  // namespace

TEST_CASE("eager_ops: quotients floor and remainders follow the divisor", "[loops]") {
  CHECK((of<floor_divide_of>(-7, 2) == -4 && of<remainder_of>(-7, 2) == 1));
  CHECK((of<floor_divide_of>(7, -2) == -4 && of<remainder_of>(7, -2) == -1));
  CHECK((of<floor_divide_of>(6, -2) == -3 && of<remainder_of>(6, -2) == 0));
  CHECK((of<floor_divide_of>(-7.0, 2.0) == -4 && of<remainder_of>(-7.0, 2.0) == 1));
  CHECK((of<floor_divide_of>(7U, 2U) == 3 && of<remainder_of>(7U, 2U) == 1));
  CHECK((of<floor_divide_of>(5, 0) == -1 && of<remainder_of>(5, 0) == 5));
}

TEST_CASE("eager_ops: integer powers wrap around", "[loops]") {
  CHECK(of<power_of>(3, 4) == 81);
  CHECK(of<power_of>(-2, 31) == std::numeric_limits<i32>::min());
  CHECK(of<power_of>(2, 32) == 0);
  CHECK(of<power_of>(7, 0) == 1);
}
