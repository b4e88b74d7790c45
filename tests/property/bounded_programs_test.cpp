// property/bounded_programs_test.cpp: compiled programs of bounded sizes: loops, branches, calls.
// Reads: transform/call_sizes.hpp, passes/bound.hpp. One program for all sizes, the same numbers as
// the program of each size.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "support/catch.hpp"
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

using namespace atled;

namespace {

constexpr f32 unseen = std::numeric_limits<f32>::quiet_NaN();

/// Numbers that tell elements apart.
template <std::int64_t... Dims>
tensor<f32, Dims...> samples(f32 seed) {
  tensor<f32, Dims...> out;
  f32 at = seed;
  for (f32& x : out) x = std::sin(at += 1.3f) + 0.2f;
  return out;
}
/// The rows in a tensor of the bound, behind which lies what must never be seen.
template <std::int64_t N, std::int64_t C, std::int64_t Rows>
tensor<f32, upto<N>, C> bounded(const tensor<f32, Rows, C>& x) {
  auto out = tensor<f32, upto<N>, C>::of_size(N);
  for (f32& value : out) value = unseen;
  out.resize(Rows);
  for (std::int64_t i = 0; i < x.size(); ++i) out.data()[i] = x.data()[i];
  return out;
}

template <class Actual, class Wanted>
void check_near(const Actual& actual, const Wanted& wanted) {
  for_each_leaf(
      [](const auto& a, const auto& w) {
        REQUIRE(a.size() == w.size());
        for (std::int64_t i = 0; i < w.size(); ++i) {
          const f32 e = w.data()[i];
          INFO("place " << i);
          CHECK(std::abs(a.data()[i] - e) <= 2e-5f * (1 + std::abs(e)));
        }
      },
      actual, wanted);
}

/// Loops and branches: rows forward and back, a carry of the bounded axis, a computed count.
struct loops_and_branches {
  constexpr auto operator()(auto x, auto c) const {
    const auto step = [](auto carry, auto row) {
      const auto next = carry * 0.5f + sin(row);
      return std::pair(next, next * row);
    };
    const auto [last, ys] = scan(step, c, x);
    const auto [first, back] = scan(step, c, ys, reversed);
    const auto running = map([&](auto row) { return row * sum(x); }, back);
    const auto grown = fori_loop(
        0, size(x, 0), [&](auto, auto carry) { return carry * 0.5f + mean(x, 0); }, c,
        max_trips<8>);
    const auto chosen = cond(
        sum(x) > 1.0f, [](auto u) { return mean(u, 0); }, [](auto u) { return reduce_max(u, 0); },
        running * x);
    return sum(last * first) + sum(running) + sum(grown * chosen);
  }
};

/// A layer of attention: products, a softmax and a mean along the bounded axis.
struct attention_loss {
  constexpr auto operator()(auto x, auto w) const {
    const auto q = matmul(x, w);
    const auto scores = matmul(q, transpose(x)) * 0.3f;
    const auto mask = tri(x, x.dim(0), x.dim(0));
    const auto mixed = matmul(softmax(where(mask, scores, -1e9f), -1), x);
    return mean(square(mixed - x)) + sum(w * w);
  }
};

template <class F, bool ByKernels>
auto program_of() {
  if constexpr (ByKernels) {
    return jit(value_and_grad(F{}, argnums<0, 1>), by_kernels);
  } else {
    return jit(value_and_grad(F{}, argnums<0, 1>));
  }
}

template <class F, bool ByKernels, std::int64_t N, std::int64_t C, class Second>
void check_sizes(const Second& second) {
  const auto f = program_of<F, ByKernels>();
  const auto at = [&](const auto& x) {
    const auto [wanted, d_wanted] = f(x, second);
    const auto given = bounded<N, C>(x);
    const auto [actual, d_actual] = f(given, second);
    check_near(actual, wanted);
    check_near(std::get<0>(d_actual), std::get<0>(d_wanted));
    check_near(std::get<1>(d_actual), std::get<1>(d_wanted));
  };
  at(samples<3, C>(0.1f));
  at(samples<N, C>(0.4f));
}

template <class Fn>
std::string message_of(const Fn& fn) {
  try {
    fn();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("loops over a bounded axis end at its size", "[property]") {
  check_sizes<loops_and_branches, false, 5, 2>(samples<2>(2.0f));
}

TEST_CASE("attention over a bounded prompt is that over its tokens", "[property]") {
  check_sizes<attention_loss, true, 20, 16>(samples<16, 16>(1.0f));
}

TEST_CASE("a bag of three and of eight go through one program", "[property][sanitize]") {
  // mean 2 and gradient 1/3 each: padding is never seen
  using bag = tensor<f32, upto<8>>;
  constexpr auto f = [](auto x) { return std::tuple(sum(x), mean(x), reduce_max(x), softmax(x)); };
  constexpr auto gradient = jit(grad([](auto x) { return mean(x); }));
  bag x{1, 2, 3};
  x.resize(8);
  for (std::int64_t i = 3; i < 8; ++i) x(i) = unseen;
  x.resize(3);
  const auto [total, middle, most, shares] = jit(f)(x);
  CHECK(total == 6.0f);
  CHECK(middle == 2.0f);
  CHECK(most == 3.0f);
  CHECK(shares.size() == 3);
  check_near(shares, tensor<f32, 3>{0.09003057f, 0.24472847f, 0.66524096f});
  check_near(gradient(x), tensor<f32, 3>{1.0f / 3, 1.0f / 3, 1.0f / 3});

  x.resize(8);
  for (std::int64_t i = 3; i < 8; ++i) x(i) = static_cast<f32>(i + 1);
  CHECK(std::get<1>(jit(f)(x)) == 4.5f);
  check_near(gradient(x), full<f32, 8>(0.125f));
}

TEST_CASE("an empty bag has the sum of nothing", "[property]") {
  constexpr auto f = jit([](auto x) { return std::tuple(sum(x), prod(x), mean(x), x * 2.0f); });
  const auto [total, product, middle, doubled] = f(tensor<f32, upto<8>>());
  CHECK(total == 0.0f);
  CHECK(product == 1.0f);
  CHECK(std::isnan(middle.item()));
  CHECK(doubled.size() == 0);
}

TEST_CASE("sizes that must be equal are compared at the call", "[property]") {
  using left = tensor<f32, upto<8>>;
  constexpr auto f = jit([](auto x, auto y) { return dot(x, y); });
  CHECK(f(left{1, 2}, left{3, 4}) == 11.0f);
  CHECK(
      message_of([&] {
        static_cast<void>(f(left{1, 2, 3}, left{1, 2}));
      }) ==
      "jit: argument 0 axis 0 is 3, argument 1 axis 0 is 2: both are upto<8>, so their sizes must "
      "be equal; give one of them a name");
  constexpr auto g = jit([](auto x, auto ys) { return sum(x) * sum(std::get<1>(ys)); });
  const std::pair ys(tensor<f32, 2>{1, 2}, tensor<f32, upto<8>, 2>{{1, 2}});
  CHECK(message_of([&] {
          static_cast<void>(g(left{1, 2, 3}, ys));
        }) ==
        "jit: argument 0 axis 0 is 3, argument 1 leaf 1 axis 0 is 1: both are upto<8>, so their "
        "sizes must be equal; give one of them a name");
}

TEST_CASE("axes of other names have sizes of their own", "[property]") {
  constexpr auto f = jit([](auto x, auto y) { return mean(outer(x, y), 0); });
  const auto out = f(tensor<f32, upto<8, "a">>{1, 2, 3}, tensor<f32, upto<8, "b">>{1, 2});
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(out)>, tensor<f32, upto<8, "b">>>);
  check_near(out, tensor<f32, 2>{2, 4});
}

TEST_CASE("a donated bounded tensor gives its memory to a result of its type", "[property]") {
  using state = tensor<f32, upto<64>, 8>;
  constexpr auto f = jit([](auto x) { return x + 1.0f; });
  state x = state::of_size(3);
  const f32* const memory = x.data();
  x = f(std::move(x));
  CHECK(x.data() == memory);
  CHECK(x.size(0) == 3);
  CHECK(x(2, 7) == 1.0f);
  constexpr auto fixed = jit([](auto a, auto b) { return a + b; });
  tensor<f32, 64, 8> other;
  const auto y = fixed(tensor<f32, 64, 8>(), std::move(other));
  CHECK(y(63, 7) == 0.0f);
}

TEST_CASE("a softmax along a bounded axis computes each exponential once", "[property]") {
  constexpr auto f = jit([](auto x) { return softmax(x); }, by_kernels);
  const auto kernels = decltype(f)::program<tensor<f32, 4, upto<64>>>::kernels();
  const auto first = kernels.find("= exp ");
  REQUIRE(first != std::string::npos);
  CHECK(kernels.find("= exp ", first + 1) == std::string::npos);
  const auto y = f(tensor<f32, 4, upto<64>>(tensor<f32, 4, 2>{0, 0, 1, 1, 0, 0, 0, 0}));
  CHECK(y.sizes() == shape::of({4, 2}));
  CHECK(y(1, 1) == 0.5f);
}

TEST_CASE("one plan serves all sizes and takes the bound", "[property]") {
  constexpr auto f = jit([](auto x) { return sum(x * x, 0); });
  using program = decltype(f)::program<tensor<f32, upto<1024>, 64>>;
  static_assert(program::num_parameters == 2 && program::bounded_sizes.size == 1);
  const auto text = program::text();
  CHECK(text.find("f32[1024,64]") != std::string::npos);
  const auto graph = make_graph([](auto x) { return x + x; })(tensor<f32, upto<1024>, 64>());
  CHECK(graph.find("f32[upto<1024>,64]") != std::string::npos);
}
