// unit/core/dtype_test.cpp: the table of promotion, as jax.numpy.promote_types has it.
// SPDX-License-Identifier: MIT
#include "atled/core/dtype.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {
constexpr dtype table[num_dtypes][num_dtypes] = {
    // in the order of the enumeration
    {dtype::boolean, dtype::u8, dtype::i32, dtype::u32, dtype::i64, dtype::f16, dtype::bf16,
     dtype::f32, dtype::f64},
    {dtype::u8, dtype::u8, dtype::i32, dtype::u32, dtype::i64, dtype::f16, dtype::bf16, dtype::f32,
     dtype::f64},
    {dtype::i32, dtype::i32, dtype::i32, dtype::i64, dtype::i64, dtype::f16, dtype::bf16,
     dtype::f32, dtype::f64},
    {dtype::u32, dtype::u32, dtype::i64, dtype::u32, dtype::i64, dtype::f16, dtype::bf16,
     dtype::f32, dtype::f64},
    {dtype::i64, dtype::i64, dtype::i64, dtype::i64, dtype::i64, dtype::f16, dtype::bf16,
     dtype::f32, dtype::f64},
    {dtype::f16, dtype::f16, dtype::f16, dtype::f16, dtype::f16, dtype::f16, dtype::f32, dtype::f32,
     dtype::f64},
    {dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16, dtype::bf16, dtype::f32, dtype::bf16,
     dtype::f32, dtype::f64},
    {dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32, dtype::f32,
     dtype::f64},
    {dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64, dtype::f64,
     dtype::f64},
};

constexpr bool is_promoted_as_in_the_table() {
  for (int i = 0; i < num_dtypes; ++i) {
    for (int j = 0; j < num_dtypes; ++j) {
      if (promote(static_cast<dtype>(i), static_cast<dtype>(j)) != table[i][j]) return false;
    }
  }
  return true;
}
static_assert(is_promoted_as_in_the_table());
}  // namespace

TEST_CASE("dtype: each type has its size, its name and its C++ type", "[core]") {
  CHECK(size_of(dtype::bf16) == 2);
  CHECK(size_of(dtype::f16) == 2);
  CHECK(size_of(dtype::boolean) == 1);
  CHECK(name_of(dtype::u32) == "u32");
  CHECK(dtype_of<element_t<dtype::f64>>() == dtype::f64);
  CHECK(name_of(dtype_of<element_t<dtype::f16>>()) == "f16");
}

TEST_CASE("dtype: a constant is what its type holds", "[core]") {
  CHECK(rounded_to(0.1, dtype::f16) == 0.0999755859375);
  CHECK(rounded_to(0.1, dtype::bf16) == 0.10009765625);
  CHECK(rounded_to(0.1, dtype::f32) == 0.100000001490116119384765625);
  CHECK(rounded_to(0.1, dtype::f64) == 0.1);
  CHECK(rounded_to(7, dtype::i32) == 7);
}
