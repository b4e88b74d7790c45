// unit/loops/eager_reduce_test.cpp: reductions of plain tensors: values, types, accuracy.
// Reads: atled/loops/eager_reduce.hpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_reduce.hpp"

#include "atled/core/creation.hpp"
#include "atled/loops/eager_shape.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace {

using namespace atled;

const tensor<f32, 2, 3> six{{1, 2, 3}, {4, 5, 6}};

static_assert(std::is_same_v<decltype(sum(six)), tensor<f32>>);
static_assert(std::is_same_v<decltype(sum(six, axis<1>, keepdims)), tensor<f32, 2, 1>>);
static_assert(std::is_same_v<decltype(sum(six > 1)), tensor<i32>>);
static_assert(std::is_same_v<decltype(sum(tensor<bf16, 3>())), tensor<bf16>>);
static_assert(std::is_same_v<decltype(mean(tensor<i32, 3>())), tensor<f32>>);

}  // namespace

TEST_CASE("eager_reduce: over all axes, one, several, kept or not", "[loops]") {
  CHECK(sum(six) == 21);
  CHECK(same_bits(sum(six, axis<0>), tensor<f32, 3>{5, 7, 9}));
  CHECK(same_bits(sum(six, axis<-1>), tensor<f32, 2>{6, 15}));
  CHECK(same_bits(sum(six, axis<1>, keepdims), tensor<f32, 2, 1>{6, 15}));
  CHECK(same_bits(mean(six, axis<0>), tensor<f32, 3>{2.5, 3.5, 4.5}));
  CHECK(same_bits(max(six, axis<0>), tensor<f32, 3>{4, 5, 6}));
  CHECK(min(six) == 1);
  CHECK(prod(six) == 720);
  const auto a = reshape<2, 3, 4, 5>(arange<f32, 120>());
  CHECK(same_bits(sum(a, axis<0>, axis<2>), sum(sum(a, axis<2>), axis<0>)));
  CHECK(same_bits(sum(a, axis<3>, axis<0>, keepdims),
                  sum(sum(a, axis<3>, keepdims), axis<0>, keepdims)));
}

TEST_CASE("eager_reduce: an expression is reduced without being stored", "[loops]") {
  CHECK(sum(six * six + 1) == 97);
  CHECK(same_bits(sum(six * 2, axis<0>), tensor<f32, 3>{10, 14, 18}));
  CHECK(same_bits(max(six + tensor<f32, 3>{0, 10, 0}, axis<1>), tensor<f32, 2>{12, 15}));
  CHECK(norm(tensor<f64, 2>{3, 4}) == 5);
}

TEST_CASE("eager_reduce: small types are summed in wide ones", "[loops]") {
  CHECK(float(sum(full<bf16, 1000>(1)).item()) == 1000);
  CHECK(sum(full<boolean, 1000>(true)).item() == 1000);
  CHECK(sum(full<u8, 1000>(200)).item() == 200000);
}

TEST_CASE("eager_reduce: nothing has a sum and a product, and any and all", "[loops]") {
  const tensor<f32, 0, 3> none;
  CHECK(same_bits(sum(none, axis<0>), tensor<f32, 3>{0, 0, 0}));
  CHECK(same_bits(prod(none, axis<0>), tensor<f32, 3>{1, 1, 1}));
  CHECK(sum(none, axis<1>).size() == 0);
  CHECK(std::isnan(mean(none).item()));
  CHECK((all(none).item() && !any(none).item()));
}

TEST_CASE("eager_reduce: a NaN is the extreme", "[loops]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto x = arange<f32, 1000>();
  x(500) = nan;
  CHECK(std::isnan(max(x).item()));
  CHECK(std::isnan(min(x).item()));
  CHECK(max(full<f32, 3>(-std::numeric_limits<float>::infinity())) < 0);
}

TEST_CASE("eager_reduce: any and all ask whether elements are 0", "[loops]") {
  CHECK(any(six > 5).item());
  CHECK(!any(six > 6).item());
  CHECK(all(six).item());
  CHECK(same_bits(all(six > 2, axis<0>), tensor<boolean, 3>{false, false, true}));
}

TEST_CASE("eager_reduce: the error of a long sum does not grow with its length", "[loops]") {
  constexpr std::int64_t size = 10'000'000;
  const auto x = full<f32, size>(0.1F);
  CHECK(near(sum(x).item(), 0.1F * float(size), {1e-6, 0}));
  CHECK(near(sum(reshape<size / 10, 10>(x), axis<0>), full<f32, 10>(0.1F * float(size / 10)),
             {1e-5, 0}));
}

TEST_CASE("eager_reduce: the bits do not depend on where the row lies", "[loops]") {
  tensor<f32, 3, 10001> x;
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t i = 0; i < 10001; ++i) x(r, i) = 1.0F / static_cast<float>(i + 1);
  }
  const auto rows = sum(x, axis<1>);
  CHECK(same_bits(rows(0), rows(1)));
  CHECK(same_bits(rows(0), rows(2)));
  CHECK(same_bits(rows(0), sum(tensor_view<const f32, 10001>(std::as_const(x).data())).item()));
  CHECK(same_bits(sum(x * 1, axis<1>), rows));
}
