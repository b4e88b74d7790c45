// unit/loops/eager_test.cpp: operators and functions on plain tensors: values and types.
// Reads: atled/loops/eager.hpp. Lifetime and aliasing: eager_expression_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager.hpp"

#include "atled/core/creation.hpp"
#include "atled/loops/eager_shape.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace {

using namespace atled;

using small = tensor<f32, 6>;

template <class X>
X filled(double first = 1) {
  X out;
  for (auto& value : out) value = static_cast<typename X::value_type>(first++);
  return out;
}

/// What `f` gives element by element.
template <class X, class F>
X mapped(const X& x, F f) {
  X out = x;
  for (auto& value : out) value = f(value);
  return out;
}

template <class E>
constexpr dtype element_of = std::remove_cvref_t<E>::type.element;

const small six{1, 2, 3, 4, 5, 6};
const tensor<bf16, 6> six_bf16{1, 2, 3, 4, 5, 6};
const tensor<i32, 6> six_i32{1, 2, 3, 4, 5, 6};
[[maybe_unused]] const tensor<u32, 6> six_u32{1, 2, 3, 4, 5, 6};
const tensor<boolean, 6> six_boolean{true, false, true, false, true, false};

// A number takes the type of the tensor beside it; two tensors promote as in JAX.
static_assert(element_of<decltype(six + 1.0)> == dtype::f32);
static_assert(element_of<decltype(six_bf16 * 2.0)> == dtype::bf16);
static_assert(element_of<decltype(six_i32 * 2.5)> == dtype::f32);
static_assert(element_of<decltype(six_i32 * std::int64_t{2})> == dtype::i32);
static_assert(element_of<decltype(six_i32 + six)> == dtype::f32);
static_assert(element_of<decltype(six_bf16 + six)> == dtype::f32);
static_assert(element_of<decltype(six_bf16 + bf16(1.0F))> == dtype::bf16);
static_assert(element_of<decltype(six_i32 + six_u32)> == dtype::i64);
static_assert(element_of<decltype(six_i32 / six_i32)> == dtype::f32);
static_assert(element_of<decltype(six_boolean < 2)> == dtype::boolean);
static_assert(element_of<decltype(exp(six_i32))> == dtype::f32);
static_assert(!eager_operand<float> && !eager_pair<float, float> && eager_pair<float, small>);

}  // namespace

TEST_CASE("eager: arithmetic is elementwise, with numbers on either side", "[loops]") {
  CHECK(same_bits((six + six).eval(), small{2, 4, 6, 8, 10, 12}));
  CHECK(same_bits((1 - six).eval(), small{0, -1, -2, -3, -4, -5}));
  CHECK(same_bits((six / 2).eval(), small{0.5, 1, 1.5, 2, 2.5, 3}));
  CHECK(same_bits((-six * six + 2.0F).eval(), small{1, -2, -7, -14, -23, -34}));
  CHECK(same_bits((six_bf16 * 0.5).eval(), tensor<bf16, 6>{0.5, 1, 1.5, 2, 2.5, 3}));
  CHECK(same_bits((six_i32 * 2.5).eval(), small{2.5, 5, 7.5, 10, 12.5, 15}));
}

TEST_CASE("eager: every length has the values of a plain loop", "[loops]") {
  const auto check = []<std::int64_t... N>(std::integer_sequence<std::int64_t, N...>) {
    const auto one = [](auto x) {
      const decltype(x) y = x * 0.5 * x + 2;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        CHECK(y(i) == std::as_const(x)(i) * 0.5F * std::as_const(x)(i) + 2);
      }
    };
    (one(filled<tensor<f32, N>>()), ...);
  };
  check(std::integer_sequence<std::int64_t, 1, 2, 3, 5, 7, 8, 9, 16, 31, 65, 200>());
  const auto x = filled<tensor<f64, 100003>>();
  const tensor<f64, 100003> y = x * 2 + x;
  CHECK(same_bits(y, mapped(x, [](f64 v) { return v * 2 + v; })));
}

TEST_CASE("eager: operands broadcast as in NumPy", "[loops]") {
  const tensor<f32, 3, 1> column{1, 2, 3};
  const tensor<f32, 1, 4> row{10, 20, 30, 40};
  CHECK(same_bits((column + row).eval(),
                  tensor<f32, 3, 4>{11, 21, 31, 41, 12, 22, 32, 42, 13, 23, 33, 43}));
  const tensor<f32, 2> v{1, 2};
  CHECK(same_bits((tensor<f32, 2, 2>{{1, 2}, {3, 4}} * v).eval(), tensor<f32, 2, 2>{1, 4, 3, 8}));
  const tensor<f32> s = 2;
  CHECK(same_bits((v * s).eval(), tensor<f32, 2>{2, 4}));
  CHECK(same_bits(broadcast_to<2, 2>(v).eval(), tensor<f32, 2, 2>{1, 2, 1, 2}));
}

TEST_CASE("eager: broadcasting over outer, middle and inner axes at once", "[loops]") {
  const auto a = filled<tensor<f32, 3, 1, 5, 1>>();
  const auto b = filled<tensor<f32, 4, 1, 17>>(100);
  const tensor<f32, 3, 4, 5, 17> c = a * 1000 + b;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) {
      for (int k = 0; k < 5; ++k) {
        for (int l = 0; l < 17; ++l) {
          REQUIRE(std::as_const(c)(i, j, k, l) ==
                  std::as_const(a)(i, 0, k, 0) * 1000 + std::as_const(b)(j, 0, l));
        }
      }
    }
  }
}

TEST_CASE("eager: an axis of size 0 gives an empty tensor", "[loops]") {
  const tensor<f32, 0, 3> none;
  CHECK((none + tensor<f32, 3>{1, 2, 3}).eval().size() == 0);
}

TEST_CASE("eager: a scalar expression is its number", "[loops]") {
  const tensor<f32> x = 3;
  const float y = x * 2 + 1;
  CHECK(y == 7);
  CHECK((x > 2 && !(x == 2)));
  tensor<f32> z = x;
  z += 1;
  CHECK(z == 4);
}

TEST_CASE("eager: comparisons are elementwise; in a condition == means all, != some", "[loops]") {
  CHECK(same_bits((six > 3).eval(), tensor<boolean, 6>{false, false, false, true, true, true}));
  CHECK(same_bits((six <= six_i32).eval(), full<boolean, 6>(true)));
  small other = six;
  CHECK(other == six);
  CHECK(!(other != six));
  other(5) = 0;
  CHECK(!(other == six));
  CHECK(other != six);
  CHECK(six_boolean == six_boolean);
}

TEST_CASE("eager: where, maximum and minimum choose; a NaN wins against a number", "[loops]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(same_bits(where(six > 3, six, 0).eval(), small{0, 0, 0, 4, 5, 6}));
  CHECK(same_bits(where(six_i32 % 2, 1, 0).eval(), tensor<i32, 6>{1, 0, 1, 0, 1, 0}));
  CHECK(same_bits(maximum(six, 4).eval(), small{4, 4, 4, 4, 5, 6}));
  CHECK(same_bits(clip(six, 2, 4).eval(), small{2, 2, 3, 4, 4, 4}));
  CHECK(near(maximum(tensor<f32, 2>{nan, 1}, tensor<f32, 2>{1, nan}).eval(),
             tensor<f32, 2>{nan, nan}));
  CHECK(near(relu(tensor<f32, 3>{-1, nan, 2}).eval(), tensor<f32, 3>{0, nan, 2}));
}

TEST_CASE("eager: integer division floors, the remainder has the sign of the divisor", "[loops]") {
  const tensor<i32, 2> x{-7, 7};
  const tensor<i32, 2> y{2, -2};
  CHECK(same_bits(floor_divide(x, y).eval(), tensor<i32, 2>{-4, -4}));
  CHECK(same_bits((x % y).eval(), tensor<i32, 2>{1, -1}));
  CHECK(same_bits((x / y).eval(), tensor<f32, 2>{-3.5, -3.5}));
}

TEST_CASE("eager: integers wrap around and never trap", "[loops]") {
  constexpr i32 most = std::numeric_limits<i32>::max();
  constexpr i32 least = std::numeric_limits<i32>::min();
  CHECK((tensor<i32, 1>{most} + 1).eval().item() == least);
  CHECK(floor_divide(tensor<i32, 1>{least}, -1).eval().item() == least);
  CHECK(floor_divide(tensor<i32, 1>{5}, 0).eval().item() == -1);
  CHECK((tensor<i32, 1>{5} % 0).eval().item() == 5);
  CHECK(same_bits(power(tensor<i32, 3>{2, 3, -2}, 3).eval(), tensor<i32, 3>{8, 27, -8}));
}

TEST_CASE("eager: functions agree with the C library", "[loops]") {
  const tensor<f64, 7> x{-2.5, -1, -0.1, 0, 0.3, 1, 4};
  const auto agrees = [&](const auto& e, auto f) {
    return near(e.eval(), mapped(x, [&](f64 v) { return f(v); }), {1e-14, 1e-15});
  };
  CHECK(agrees(exp(x), [](f64 v) { return std::exp(v); }));
  CHECK(agrees(expm1(x), [](f64 v) { return std::expm1(v); }));
  CHECK(agrees(tanh(x), [](f64 v) { return std::tanh(v); }));
  CHECK(agrees(sin(x), [](f64 v) { return std::sin(v); }));
  CHECK(agrees(cos(x), [](f64 v) { return std::cos(v); }));
  CHECK(agrees(erf(x), [](f64 v) { return std::erf(v); }));
  CHECK(agrees(sigmoid(x), [](f64 v) { return 1 / (1 + std::exp(-v)); }));
  CHECK(agrees(sqrt(abs(x)), [](f64 v) { return std::sqrt(std::abs(v)); }));
  CHECK(agrees(log(square(x) + 1), [](f64 v) { return std::log(v * v + 1); }));
  CHECK(agrees(log1p(x * x), [](f64 v) { return std::log1p(v * v); }));
  CHECK(agrees(atan2(x, 2), [](f64 v) { return std::atan2(v, 2); }));
  CHECK(agrees(power(abs(x), 1.5), [](f64 v) { return std::pow(std::abs(v), 1.5); }));
  CHECK(agrees(floor(x) + ceil(x) + round(x) + sign(x), [](f64 v) {
    return std::floor(v) + std::ceil(v) + std::nearbyint(v) + (v > 0) - (v < 0);
  }));
}

TEST_CASE("eager: astype converts, and a bf16 on the way rounds", "[loops]") {
  const tensor<f32, 3> x{1.00390625F, 257, -2.7F};
  CHECK(same_bits(astype<f32>(astype<bf16>(x)).eval(), tensor<f32, 3>{1, 256, -2.703125F}));
  CHECK(same_bits(astype<i32>(x).eval(), tensor<i32, 3>{1, 257, -2}));
  CHECK(same_bits(astype<boolean>(tensor<f32, 2>{0, 0.5}).eval(), tensor<boolean, 2>{false, true}));
}
