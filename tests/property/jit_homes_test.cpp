// property/jit_homes_test.cpp: values that are computed in the memory of what they are copied into.
// Reads: property/compiled.hpp, atled/passes/home.hpp.
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

/// Attention of two heads on rows that hold queries, keys and values.
constexpr auto attend = [](auto x, auto w) {  // f32[2,5,8], f32[8,24]
  auto all = matmul(x, w);
  const auto heads = [&](int i) {
    return transpose(reshape(slice_in_dim(all, 8 * i, 8 * i + 8, 1, 2), {2, 5, 2, 4}),
                     {0, 2, 1, 3});
  };
  const auto scores = matmul(heads(0), transpose(heads(1), {0, 1, 3, 2}));
  const auto seen = iota_like(scores, 2) >= iota_like(scores, 3);
  const auto mixed = matmul(softmax(where(seen, scores, -1e30F)), heads(2));
  return matmul(reshape(transpose(mixed, {0, 2, 1, 3}), {2, 5, 8}),
                slice_in_dim(transpose(w), 0, 8, 1, 0));
};
constexpr auto attention_gradients =
    grad([](auto x, auto w) { return sum(square(attend(x, w))); }, argnums<0, 1>);

/// Products, loops and copies beside and above each other.
constexpr auto mosaic = [](auto x, auto y) {                            // f32[6,16] twice
  const auto product = matmul(x, transpose(y));                         // [6, 6]
  const auto row = concatenate(std::array{product, tanh(product)}, 1);  // [6, 12]
  const auto wide = concatenate(std::array{x, exp(y)}, 1);              // [6, 32]
  const auto turned = transpose(matmul(transpose(x), y));               // [16, 16]
  const auto tall = concatenate(std::array{turned, matmul(transpose(y), x), turned}, 0);
  const auto both = concatenate(std::array{row, wide}, 1);  // [6, 44]
  return std::tuple(both, tall, concatenate(std::array{both, both * 2.0F}, -1), flip(row, 1));
};

/// An argument that is given up, and a result of its size in two parts.
constexpr auto halves = [](auto x) {  // f32[8,8]
  const auto top = slice_in_dim(x, 0, 4, 1, 0);
  return concatenate(std::array{matmul(top, x), square(slice_in_dim(x, 4, 8, 1, 0))}, 0);
};

}  // namespace

TEST_CASE("jit: heads that are written in their places agree", "[property]") {
  CHECK(agrees(attend, some<2, 5, 8>(1), some<8, 24>(2)));
  CHECK(agrees(attention_gradients, some<2, 5, 8>(3), some<8, 24>(4)));
}

TEST_CASE("jit: parts of concatenations agree", "[property]") {
  CHECK(agrees(mosaic, some<6, 16>(1), some<6, 16>(2)));
}

TEST_CASE("jit: parts of a result that takes over an argument agree", "[property]") {
  const auto x = some<8, 8>(5);
  const auto kept = jit(halves, by_kernels)(x);
  auto given = x;
  const auto taken = jit(halves, by_kernels)(std::move(given));
  CHECK(std::equal(kept.begin(), kept.end(), taken.begin()));
  CHECK(agrees(halves, x));
}
