// unit/core/creation_test.cpp: tensors made from a rule.
// Reads: atled/core/creation.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/creation.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

namespace {
using namespace atled;
static_assert(array_equal(zeros<f32, 2>(), tensor<f32, 2>{0, 0}));
static_assert(array_equal(ones<i32, 2, 2>(), tensor<i32, 2, 2>{1, 1, 1, 1}));
static_assert(array_equal(eye<f32, 2, 3>(), tensor<f32, 2, 3>{{1, 0, 0}, {0, 1, 0}}));
static_assert(array_equal(arange<i32, 3>(), tensor<i32, 3>{0, 1, 2}));
}  // namespace

TEST_CASE("creation: arange takes each value from its index", "[core]") {
  CHECK(same_bits(arange<f32, 4>(1, 0.5), tensor<f32, 4>{1, 1.5, 2, 2.5}));
  CHECK(arange<f64, 1001>(0, 0.1)(1000) == 100.0);
}

TEST_CASE("creation: linspace includes both ends exactly", "[core]") {
  CHECK(same_bits(linspace<f32, 5>(0, 1), tensor<f32, 5>{0, 0.25, 0.5, 0.75, 1}));
  CHECK(linspace<f64, 50>(0, 0.7)(49) == 0.7);
  CHECK(same_bits(linspace<f32, 1>(3, 4), tensor<f32, 1>{3}));
}

TEST_CASE("creation: full works for each element type", "[core]") {
  CHECK(float(full<bf16, 300>(0.1)(299)) == 0.10009765625F);
  CHECK(full<boolean, 3>(true)(2));
  CHECK(full<i64, 2>(std::int64_t{1} << 40)(1) == std::int64_t{1} << 40);
}
