// unit/loops/eager_expression_test.cpp: lifetime and aliasing of expressions on plain tensors.
// Reads: atled/loops/eager.hpp. Meant to run under ASan and UBSan, too.
// SPDX-License-Identifier: MIT
#include "atled/loops/eager_expression.hpp"

#include "atled/core/creation.hpp"
#include "atled/loops/eager.hpp"
#include "atled/loops/eager_shape.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cstdint>
#include <utility>
#include <vector>

namespace {

using namespace atled;

using small = tensor<f32, 6>;
using large = tensor<f32, 40, 50>;

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

}  // namespace

TEMPLATE_TEST_CASE("eager_expression: a stored expression owns its temporaries", "[loops]", small,
                   large) {
  const auto f = [](TestType x) { return x; };
  auto e = f(filled<TestType>()) * 2;
  const std::vector<f32> noise(TestType::size(), -1.0F);
  auto deeper = e + f(filled<TestType>());
  CHECK(same_bits(e.eval(), mapped(filled<TestType>(), [](f32 v) { return v * 2; })));
  CHECK(same_bits(deeper.eval(), mapped(filled<TestType>(), [](f32 v) { return v * 3; })));
}

TEMPLATE_TEST_CASE("eager_expression: an expression over a local tensor may be returned", "[loops]",
                   small, large) {
  const auto f = [] {
    const auto local = filled<TestType>();
    const TestType other = local;
    return local * other + 1;
  };
  const auto e = f();
  CHECK(same_bits(e.eval(), mapped(filled<TestType>(), [](f32 v) { return v * v + 1; })));
}

TEMPLATE_TEST_CASE("eager_expression: later writes do not change an expression", "[loops]", small,
                   large) {
  auto a = filled<TestType>();
  const TestType before = a;
  const auto e = a + 0;
  *a.data() = 100;
  CHECK(same_bits(e.eval(), before));
  a = a * 2;
  CHECK(same_bits(e.eval(), before));
  a = e;
  a += 1;
  CHECK(same_bits(e.eval(), before));
  a = TestType();
  CHECK(same_bits(e.eval(), before));
}

TEMPLATE_TEST_CASE("eager_expression: an operand may be the target, in one loop and in place",
                   "[loops]", small, large) {
  auto a = filled<TestType>();
  const auto b = filled<TestType>(3);
  const f32* memory = std::as_const(a).data();
  TestType expected = a;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    expected.data()[i] = a.data()[i] * b.data()[i] + a.data()[i];
  }
  a = a * b + a;
  CHECK(same_bits(a, expected));
  a += a;
  CHECK(same_bits(a, mapped(expected, [](f32 v) { return v + v; })));
  a -= a / 2;
  CHECK(same_bits(a, expected));
  CHECK(std::as_const(a).data() == memory);
}

TEST_CASE("eager_expression: a target that is read at other places gets new memory first",
          "[loops]") {
  tensor<f32, 2, 2> a{{1, 2}, {3, 4}};
  a = transpose(a);
  CHECK(same_bits(a, tensor<f32, 2, 2>{1, 3, 2, 4}));
  auto big = filled<tensor<f32, 70, 70>>();
  big = transpose(big) + big * 0;
  CHECK(std::as_const(big)(1, 0) == 2);
  CHECK(std::as_const(big)(69, 1) == 70 + 70);

  std::vector<f32> v{1, 2, 3, 4};
  const tensor_view<f32, 3> target(v.data() + 1);
  target.assign(tensor_view<const f32, 3>(v.data()));
  CHECK(v == std::vector<f32>{1, 1, 2, 3});
  v = {1, 2, 3, 4};
  target.assign(tensor_view<const f32, 3>(v.data()) * 10);
  CHECK(v == std::vector<f32>{1, 10, 20, 30});

  auto m = filled<tensor<f32, 30, 30>>();
  const tensor_view<const f32, 30> first_row(std::as_const(m).data());
  m = m + first_row;
  CHECK(std::as_const(m)(0, 29) == 60);
  CHECK(std::as_const(m)(29, 29) == 930);
}

TEST_CASE("eager_expression: a moved-from operand says so", "[loops]") {
  auto a = filled<large>();
  const large b = std::move(a);
  CHECK_THROWS_AS(a + b, error);
  a = b * 2;
  CHECK(std::as_const(a)(0, 1) == 4);
}

TEST_CASE("eager_expression: an expression moved from its operand reuses nothing that lives",
          "[loops]") {
  auto a = filled<large>();
  const large copy = a;
  const auto e = std::move(a) + 1;
  CHECK(a.is_empty());
  CHECK(same_bits(e.eval(), mapped(copy, [](f32 v) { return v + 1; })));
}

TEST_CASE("eager_expression: views are operands and targets", "[loops]") {
  std::vector<f32> memory{1, 2, 3, 4, 5, 6};
  const tensor_view<f32, 6> view(memory.data());
  CHECK(same_bits((view + filled<small>()).eval(), small{2, 4, 6, 8, 10, 12}));
  view.assign(view * view);
  CHECK(memory == std::vector<f32>{1, 4, 9, 16, 25, 36});
}

TEST_CASE("eager_expression: a large result is streamed and parallel, and right", "[loops]") {
  constexpr std::int64_t size = 9'000'011;
  const auto x = full<f32, size>(2);
  const tensor<f32, size> y = x * 3 + 1;
  bool all_right = true;
  for (const f32 v : y) all_right = all_right && v == 7;
  CHECK(all_right);
}
