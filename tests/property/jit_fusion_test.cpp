// property/jit_fusion_test.cpp: programs that fuse in every way equal their graphs run node by
// node. Reads: property/compiled.hpp.
// SPDX-License-Identifier: MIT
#include "property/compiled.hpp"

using namespace atled;
using namespace atled::test;

namespace {
template <class F, class... T>
bool agrees(F f, const T&... x) {
  return compiled_distance(f, x...) < 2e-6;
}
template <std::int64_t... D>
tensor<f32, D...> some(std::uint32_t seed) {
  return numbers_for<tensor<f32, D...>>(seed);
}
constexpr auto scaled_norm = [](auto x, auto g, auto b) {
  auto d = x - mean(x, -1, keepdims);
  return d * rsqrt(mean(square(d), -1, keepdims) + 1e-5F) * g + b;
};

constexpr auto attend = [](auto x) {  // f32[B,T,3C] with 2 heads of 4
  const auto head = [&](int i) {
    return transpose(reshape(slice_in_dim(x, 8 * i, 8 * i + 8, 1, 2), {2, 5, 2, 4}), {0, 2, 1, 3});
  };
  auto scores = matmul(head(0), transpose(head(1), {0, 1, 3, 2})) * 0.5F;
  scores = where(iota_like(scores, 2) >= iota_like(scores, 3), scores, -1e30F);
  return reshape(transpose(matmul(softmax(scores), head(2)), {0, 2, 1, 3}), {2, 5, 8});
};

constexpr auto bump = [](auto x) { return sum(tanh(x) * exp(-square(x))); };
}  // namespace

TEST_CASE("jit: an elementwise chain with broadcasts is one kernel and agrees", "[property]") {
  constexpr auto f = [](auto x, auto row, auto column, auto one) {
    return exp(x * row + column) / (one + square(x));
  };
  CHECK(agrees(f, some<5, 67>(1), some<67>(2), some<5, 1>(3), tensor<f32>(1.5F)));
  CHECK(agrees(f, some<1, 1>(1), some<1>(2), some<1, 1>(3), tensor<f32>(1.5F)));
  CHECK(agrees(f, some<3, 2, 33>(1), some<33>(2), some<2, 1>(3), tensor<f32>(2.0F)));
  using program = decltype(jit(
      f))::program<tensor<f32, 5, 67>, tensor<f32, 67>, tensor<f32, 5, 1>, tensor<f32>>;
  STATIC_REQUIRE(program::num_steps == 1);
}

TEST_CASE("jit: softmax along the last axis is one kernel and agrees", "[property]") {
  constexpr auto f = [](auto x) { return softmax(x); };
  CHECK(agrees(f, some<7, 65>(1)));
  CHECK(agrees(f, some<3, 4, 16>(2)));
  CHECK(agrees(f, some<5, 1>(2)));
  CHECK(agrees(f, some<100>(2)));
  STATIC_REQUIRE(decltype(jit(f))::program<tensor<f32, 7, 65>>::num_steps == 1);
}

TEST_CASE("jit: softmax along other axes agrees", "[property]") {
  CHECK(agrees([](auto x) { return softmax(x, 0); }, some<7, 65>(1)));
  CHECK(agrees([](auto x) { return softmax(x, 1); }, some<3, 4, 16>(1)));
  CHECK(agrees([](auto x) { return logsumexp(x, {0, 2}); }, some<3, 4, 16>(1)));
}

TEST_CASE("jit: layer norm and its gradient agree", "[property]") {
  constexpr auto loss = [](auto x, auto g, auto b, auto w) {
    return sum(scaled_norm(x, g, b) * w);
  };
  CHECK(agrees(scaled_norm, some<6, 40>(1), some<40>(2), some<40>(3)));
  CHECK(agrees(scaled_norm, some<2, 3, 40>(1), some<40>(2), some<40>(3)));
  CHECK(agrees(grad(loss, argnums<0, 1, 2>), some<6, 40>(1), some<40>(2), some<40>(3),
               some<6, 40>(4)));
  CHECK(agrees(grad(loss, argnums<0, 1, 2>), some<50, 3, 40>(1), some<40>(2), some<40>(3),
               some<50, 3, 40>(4)));
}

TEST_CASE("jit: products with every epilogue agree", "[property]") {
  constexpr auto plain = [](auto x, auto w) { return matmul(x, w); };
  constexpr auto biased = [](auto x, auto w, auto b) { return gelu(matmul(x, w) + b); };
  constexpr auto residual = [](auto x, auto w, auto b, auto r) {
    return r + matmul(x, w) * 0.5F + b;
  };
  CHECK(agrees(plain, some<17, 33>(1), some<33, 65>(2)));
  CHECK(agrees(plain, some<2, 17, 33>(1), some<33, 65>(2)));
  CHECK(agrees(plain, some<2, 3, 17, 5>(1), some<2, 3, 5, 9>(2)));
  CHECK(agrees(plain, some<3, 17, 5>(1), some<2, 1, 5, 9>(2)));
  CHECK(agrees(plain, some<17>(1), some<17>(2)));
  CHECK(agrees(plain, some<17>(1), some<17, 4>(2)));
  CHECK(agrees(plain, some<4, 17>(1), some<17>(2)));
  CHECK(agrees(biased, some<17, 33>(1), some<33, 65>(2), some<65>(3)));
  CHECK(agrees(residual, some<2, 17, 33>(1), some<33, 65>(2), some<65>(3), some<2, 17, 65>(4)));
  CHECK(agrees([](auto x, auto w) { return matmul(transpose(x), transpose(w)); }, some<33, 17>(1),
               some<65, 33>(2)));
}

TEST_CASE("jit: attention and its gradients agree", "[property]") {
  constexpr auto loss = [](auto x, auto w) { return sum(attend(x) * w); };
  CHECK(agrees(attend, some<2, 5, 24>(1)));
  CHECK(agrees(grad(loss), some<2, 5, 24>(1), some<2, 5, 8>(2)));
}

TEST_CASE("jit: cross-entropy and its gradient are few kernels and agree", "[property]") {
  constexpr auto loss = [](auto logits, auto label) {
    auto picked = sum(where(iota_like(logits, 1) == expand_dims(label, 1), logits, 0.0F), 1);
    return mean(logsumexp(logits, 1) - picked);
  };
  tensor<i32, 11> label;
  for (int i = 0; i < 11; ++i) label(i) = (i * 5) % 37;
  CHECK(agrees(loss, some<11, 37>(1), label));
  CHECK(agrees(value_and_grad(loss), some<11, 37>(1), label));
  using program =
      decltype(jit(value_and_grad(loss)))::program<tensor<f32, 11, 37>, tensor<i32, 11>>;
  STATIC_REQUIRE(program::num_steps <= 2);
}

TEST_CASE("jit: reductions over every set of axes agree", "[property]") {
  CHECK(agrees([](auto x) { return sum(x); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, 0); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, 1); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, 2); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, {0, 1}); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, {0, 2}); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(x, {1, 2}); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return max(x, {0, 2}) + min(x, {0, 2}); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return prod(x, 1); }, some<3, 4, 35>(1)));
  CHECK(agrees([](auto x) { return sum(square(x)); }, some<300, 401>(1)));
  CHECK(agrees([](auto x) { return sum(square(x), 0); }, some<300, 401>(1)));
  CHECK(agrees([](auto x) { return sum(transpose(x), 1); }, some<30, 41>(1)));
  CHECK(agrees([](auto x) { return sum(x, 0); }, some<0, 3>(1)));
  CHECK(agrees([](auto x) { return sum(x, 1); }, some<3, 0>(1)));
  CHECK(agrees([](auto x) { return sum(x); }, some<0>(1)));
}

TEST_CASE("jit: moved elements agree", "[property]") {
  CHECK(agrees([](auto x) { return transpose(x, {2, 0, 1}); }, some<3, 4, 5>(1)));
  CHECK(agrees([](auto x) { return reshape(transpose(x), {4, 3}) * 2.0F; }, some<3, 4>(1)));
  CHECK(agrees([](auto x) { return flip(x, 1) + x; }, some<3, 4>(1)));
  CHECK(agrees(
      [](auto x, auto y) {
        return concatenate({x, y, x}, 1);
      },
      some<3, 4>(1), some<3, 2>(2)));
  CHECK(agrees([](auto x) { return exp(slice_in_dim(x, 1, 4, 2, 1)); }, some<3, 5>(1)));
  CHECK(
      agrees([](auto x) { return std::make_tuple(x, x, transpose(x), x + 0.0F); }, some<3, 4>(1)));
  CHECK(agrees([](auto x) { return std::make_tuple(zeros_like(x), iota_like(x, 1)); },
               some<3, 4>(1)));
}

TEST_CASE("jit: gather and its gradient agree", "[property]") {
  tensor<i32, 2, 3> ids{4, 0, 4, 2, 9, 1};
  constexpr auto f = [](auto table, auto at) { return take(table, at, 0); };
  constexpr auto loss = [](auto table, auto at) { return sum(square(take(table, at, 0))); };
  CHECK(agrees(f, some<5, 7>(1), ids));
  CHECK(agrees(grad(loss), some<5, 7>(1), ids));
}

TEST_CASE("jit: a gradient of a gradient agrees", "[property]") {
  constexpr auto g = [](auto x) { return sum(square(grad(bump)(x))); };
  CHECK(agrees(grad(g), some<33>(1)));
}

TEST_CASE("jit: f64, integers and booleans agree", "[property]") {
  constexpr auto f = [](auto x, auto n) {
    return std::make_tuple(where(n > 3, x, -x), n * 2 + 1, (n & 1) == 0, x + n,
                           astype<i32>(x * 10));
  };
  CHECK(compiled_distance(f, numbers_for<tensor<f64, 19>>(1), numbers_for<tensor<i32, 19>>(2)) <
        1e-14);
  CHECK(compiled_distance(f, numbers_for<tensor<f64, 19>>(1), numbers_for<tensor<i64, 19>>(2)) <
        1e-14);
  CHECK(compiled_distance([](auto x, auto w) { return matmul(x, w); },
                          numbers_for<tensor<f64, 9, 8>>(1),
                          numbers_for<tensor<f64, 8, 21>>(2)) < 1e-14);
}

TEST_CASE("jit: a donated argument is updated in place, with the same numbers", "[property]") {
  constexpr auto f = [](auto x, auto y) { return std::make_tuple(x * 2.0F + y, sum(x)); };
  auto x = some<300, 10>(1);
  const auto kept = x;
  const auto y = some<300, 10>(2);
  const float* memory = x.data();
  const auto step = jit(f);
  auto [next, total] = step(std::move(x), y);
  CHECK(next.data() == memory);
  CHECK(x.is_empty());
  CHECK(distance(numbers_of(std::tuple(next, total)), all_values(f, kept, y)) < 2e-6);
  auto again = kept;
  auto [both, sum_of_both] =
      step(std::move(again), again);  // NOLINT: one tensor, given up and read
  CHECK(distance(numbers_of(std::tuple(both, sum_of_both)), all_values(f, kept, kept)) < 2e-6);
}

TEST_CASE("jit: any and all of truth values, along any axes", "[property]") {
  constexpr auto f = [](auto x) {
    return std::tuple{any(x > 0.9F, 1), all(x > -0.9F, 0), all(x < 2.0F), any(x > 2.0F, {0, 2})};
  };
  CHECK(compiled_distance(f, some<3, 7, 9>(1)) == 0);
  constexpr auto g = [](auto x) { return all(x > -0.5, 1); };
  CHECK(compiled_distance(g, numbers_for<tensor<f64, 5, 4>>(1)) == 0);
}
