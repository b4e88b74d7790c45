// unit/core/tensor_test.cpp: the owning tensor as a value, its memory, its view.
// Reads: atled/core/tensor.hpp. Rows of expressions are in unit/loops/eager_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/core/tensor.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace atled;

using small = tensor<f32, 3>;
using large = tensor<f32, 50, 40>;
using huge = tensor<f32, 1024, 1024>;

template <class X>
concept has_temporary_data = requires(X make()) {
  make().data();
};
template <class X>
concept has_temporary_span = requires(X make()) {
  make().span();
};
template <class View, class From>
concept views = requires(From make()) {
  View(make());
};

static_assert(!has_temporary_data<small> && !has_temporary_data<large>);
static_assert(!has_temporary_span<small> && !has_temporary_span<const large>);
static_assert(!views<tensor_view<const f32, 3>, small> && views<tensor_view<const f32, 3>, small&>);
static_assert(!views<tensor_view<f32, 3>, const small&>);
static_assert(std::semiregular<small> && std::semiregular<large>);
static_assert(std::is_nothrow_move_constructible_v<large> && std::is_nothrow_swappable_v<large>);
static_assert(sizeof(huge) == sizeof(void*));
static_assert(tensor_like<small> && tensor_like<tensor_view<const f32, 3>> && !tensor_like<float>);

constexpr tensor<i32, 2, 3> numbers{{1, 2, 3}, {4, 5, 6}};
static_assert(numbers(1, 0) == 4 && numbers.size() == 6 && numbers.bytes == 24);
static_assert(numbers.rank == 2 && numbers.dims == shape::of({2, 3}));
static_assert(numbers.type == tensor_type{dtype::i32, shape::of({2, 3})});
static_assert(array_equal(numbers, tensor<i32, 2, 3>{1, 2, 3, 4, 5, 6}));
constexpr tensor<f32> three = 3;
constexpr f32 as_number = three;
static_assert(as_number == 3.0F && three.item() == 3.0F && three() == 3.0F);

template <class X>
std::string sentence_of_use(const X& x) {
  try {
    (void)x.data();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

template <class X>
X filled(float first) {
  X out;
  for (auto& value : out) value = first++;
  return out;
}

}  // namespace

TEST_CASE("tensor: a new one is zero and starts on a 64-byte boundary", "[core]") {
  const auto is_aligned = [](const void* p, std::uintptr_t to) {
    return reinterpret_cast<std::uintptr_t>(p) % to == 0;
  };
  for (int i = 0; i < 3; ++i) {
    const small a;
    const large b;
    const huge c;
    CHECK(is_aligned(a.data(), 64));
    CHECK(is_aligned(b.data(), 64));
    CHECK(is_aligned(c.data(), std::uintptr_t{2} << 20));
    CHECK(std::all_of(b.begin(), b.end(), [](f32 v) { return v == 0; }));
    CHECK(std::all_of(c.begin(), c.end(), [](f32 v) { return v == 0; }));
  }
}

TEST_CASE("tensor: braces are row-major, flat or nested", "[core]") {
  const tensor<f32, 2, 2, 2> nested{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  CHECK(same_bits(nested, tensor<f32, 2, 2, 2>{1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(same_bits(tensor<f32, 1, 2>{{1, 2}}, tensor<f32, 1, 2>{1, 2}));
  CHECK(same_bits(tensor<f32, 2, 1>{{1}, {2}}, tensor<f32, 2, 1>{1, 2}));
  const tensor<bf16, 2, 2> halves{{1, 2.5}, {3, 4}};
  CHECK(float(halves(0, 1)) == 2.5F);
  const tensor<boolean, 2> truth{true, false};
  CHECK((truth(0) && !truth(1)));
}

TEST_CASE("tensor: bf16 rounds to nearest, ties to even, and keeps a NaN", "[core]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const tensor<bf16, 5> x{1.00390625F, 1.01171875F, 257.0F, 0.1F, nan};
  CHECK(float(x(0)) == 1.0F);
  CHECK(float(x(1)) == 1.015625F);
  CHECK(float(x(2)) == 256.0F);
  CHECK(float(x(3)) == 0.10009765625F);
  CHECK(float(x(4)) != float(x(4)));
}

TEST_CASE("tensor: copies are deep", "[core]") {
  auto a = filled<large>(1);
  large b = a;
  b(0, 0) = 100;
  CHECK(a(0, 0) == 1);
  a = b;
  a(49, 39) = -1;
  CHECK(b(49, 39) == 2000);
  CHECK(a(0, 0) == 100);
}

TEMPLATE_TEST_CASE("tensor: a moved-from one is empty, says so, and can be assigned to", "[core]",
                   small, large, huge) {
  auto a = filled<TestType>(1);
  TestType b = std::move(a);
  CHECK(a.is_empty());
  CHECK(!b.is_empty());
  CHECK(*std::as_const(b).data() == 1);
  text sentence = "tensor ";
  sentence << TestType::type;
  sentence << ": moved from or donated: it holds no values; assign to it before use";
  CHECK(sentence_of_use(a) == sentence.view());
  const TestType copy_of_empty = a;
  CHECK(copy_of_empty.is_empty());
  a = b;
  CHECK(same_bits(a, b));
  a = std::move(b);
  CHECK(b.is_empty());
  b = filled<TestType>(7);
  CHECK(*std::as_const(b).data() == 7);
  a = copy_of_empty;
  CHECK(a.is_empty());
}

TEMPLATE_TEST_CASE("tensor: self-assignment, swap and tie do as plain values would", "[core]",
                   small, large) {
  auto a = filled<TestType>(1);
  auto b = filled<TestType>(2);
  const TestType first = a;
  const TestType second = b;
  auto& alias = a;
  a = alias;
  CHECK(same_bits(a, first));
  a = std::move(alias);
  CHECK(same_bits(a, first));
  std::swap(a, b);
  CHECK((same_bits(a, second) && same_bits(b, first)));
  swap(a, b);
  std::tie(a, b) = std::tuple(b, a);
  CHECK((same_bits(a, second) && same_bits(b, first)));
}

TEST_CASE("tensor: a step takes its state by value and gives it back in place", "[core]") {
  const auto step = [](large state) {
    for (auto& value : state) value += 1;
    return state;
  };
  auto state = filled<large>(0);
  const f32* before = state.data();
  large old = std::move(state);
  state = step(std::move(old));
  CHECK(std::as_const(state).data() == before);
  CHECK(state(49, 39) == 2000);
  CHECK(old.is_empty());
}

TEMPLATE_TEST_CASE("tensor: share() copies in O(1) until one of the two is written", "[core]",
                   small, large) {
  auto a = filled<TestType>(1);
  const TestType original = a;
  TestType b = a.share();
  *b.data() = 100;
  CHECK(same_bits(a, original));
  b = a.share();
  *a.data() = 100;
  CHECK(same_bits(b, original));
  TestType c = b.share();
  b = TestType();
  CHECK(same_bits(c, original));
}

TEST_CASE("tensor: an index out of range is a sentence", "[core]") {
  const large a;
  CHECK_THROWS_WITH(a(50, 0), "tensor f32[50,40]: index 50 on axis 0: it must be >= 0 and < 50");
  CHECK_THROWS_WITH(a(0, -1), "tensor f32[50,40]: index -1 on axis 1: it must be >= 0 and < 40");
}

TEST_CASE("tensor: a span of another size is refused", "[core]") {
  const std::vector<f32> values{1, 2, 3};
  CHECK(same_bits(small(values), small{1, 2, 3}));
  CHECK_THROWS_WITH((tensor<f32, 2, 2>(values)), "tensor f32[2,2]: 3 values: it needs exactly 4");
  using view = tensor_view<const f32, 2>;
  CHECK_THROWS_WITH(view(std::span(values)), "tensor f32[2]: 3 values: it needs exactly 2");
}

TEST_CASE("tensor: a scalar converts from and to its number", "[core]") {
  tensor<f64> x = 1.5;
  f64 y = x + 1;
  x = y;
  CHECK(x.item() == 2.5);
  CHECK(tensor<i32, 1>{7}.item() == 7);
}

TEST_CASE("tensor: an axis of size 0 holds nothing", "[core]") {
  const tensor<f32, 0, 3> none;
  CHECK(none.size() == 0);
  CHECK(none.begin() == none.end());
  CHECK(!none.is_empty());
}

TEST_CASE("tensor_view: foreign memory is read and written in place", "[core]") {
  std::vector<f32> values{1, 2, 3, 4, 5, 6};
  const tensor_view<f32, 2, 3> view(values.data());
  view(1, 0) = 40;
  CHECK(values[3] == 40);
  const tensor_view<const f32, 2, 3> reading = view;
  const tensor<f32, 2, 3> copy = reading;
  values[0] = 9;
  CHECK((reading(0, 0) == 9 && copy(0, 0) == 1));
  CHECK(same_bits(copy, tensor<f32, 2, 3>{1, 2, 3, 40, 5, 6}));
}
