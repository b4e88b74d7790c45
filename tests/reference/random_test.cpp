// Random numbers against jax.random, number for number: random_numbers.hpp.
// SPDX-License-Identifier: MIT
#include "atled/random/distributions.hpp"
#include "atled/transform/jit.hpp"

#include "reference/random_numbers.hpp"
#include "support/catch.hpp"
#include "support/near.hpp"
#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace {

using namespace atled;
namespace reference = atled::reference;

constexpr auto key_0 = random::key(0);
constexpr auto key_42 = random::key(42);
constexpr tolerance tight{1e-6, 1e-7};

template <class Key>
constexpr bool is(const Key& key, const u32* expected) {
  return key(0) == expected[0] && key(1) == expected[1];
}

// Keys are plain constexpr code outside a trace.
static_assert(is(key_0, reference::key_0));
static_assert(is(key_42, reference::key_42));
static_assert(is(random::key(-7), reference::key_negative));
static_assert(is(random::key((std::int64_t{1} << 40) + 5), reference::key_long));
static_assert(is(random::split<3>(key_0)[0], reference::split_3));
static_assert(is(random::split<3>(key_0)[1], reference::split_3 + 2));
static_assert(is(random::split<3>(key_0)[2], reference::split_3 + 4));
static_assert(is(random::split<2>(random::split<2>(key_0)[0])[1], reference::split_of_split));
static_assert(is(random::fold_in(key_0, 1), reference::fold_in_1));
static_assert(is(random::fold_in(key_42, 123456789), reference::fold_in_large));

}  // namespace

TEST_CASE("random: keys inside a trace have the words of jax.random", "[reference]") {
  const auto make = jit([](auto seed, auto data) {
    const auto key = random::key(seed);
    const auto [first, second] = random::split<2>(key);
    return std::tuple(random::split(key, 3), random::split<2>(first)[1], random::fold_in(key, data),
                      second);
  });
  const auto [three, of_split, folded, second] = make(0, 1);
  CHECK(same_bits(three, std::span(reference::split_3)));
  CHECK(same_bits(of_split, std::span(reference::split_of_split)));
  CHECK(same_bits(folded, std::span(reference::fold_in_1)));
  CHECK(is(second, reference::split_3 + 2));
  const auto [three_42, of_split_42, folded_42, second_42] = make(42, 123456789);
  CHECK(same_bits(folded_42, std::span(reference::fold_in_large)));
}

TEST_CASE("random: bits are those of jax.random", "[reference]") {
  CHECK(same_bits(random::bits<u32, 4>(key_0), std::span(reference::bits_u32)));
  const auto bytes = random::bits<u8, 6>(key_42);
  for (std::size_t i = 0; i < 6; ++i) CHECK(bytes.span()[i] == reference::bits_u8[i]);
}

TEST_CASE("random: uniform numbers are those of jax.random, bit for bit", "[reference]") {
  CHECK(same_bits(random::uniform<f32, 4>(key_0), std::span(reference::uniform_f32)));
  CHECK(same_bits(random::uniform<f64, 4>(key_0), std::span(reference::uniform_f64)));
  CHECK(near(random::uniform<bf16, 8>(key_0), std::span(reference::uniform_bf16), {0, 0}));
  CHECK(near(random::uniform<f16, 8>(key_0), std::span(reference::uniform_f16), {0, 0}));
  const std::span between(reference::uniform_between);
  CHECK(near(random::uniform<f32, 2, 3>(key_42, -2, 5.5F), between, tight));
}

TEST_CASE("random: normal numbers are those of jax.random", "[reference]") {
  CHECK(near(random::normal<f32, 3>(key_42), std::span(reference::normal_f32), tight));
  CHECK(near(random::normal<f32>(key_42), std::span(reference::normal_scalar), tight));
  CHECK(near(random::normal<f32, 4, 4>(key_0), std::span(reference::normal_16), tight));
  CHECK(near(random::normal<f64, 8>(key_42), std::span(reference::normal_f64), {1e-14, 1e-15}));
  const std::span in_bf16(reference::normal_bf16);
  CHECK(near(random::normal<bf16, 8>(key_0), in_bf16, ulps<bf16>(1)));
  const std::span in_f16(reference::normal_f16);
  CHECK(near(random::normal<f16, 8>(key_0), in_f16, ulps<f16>(1)));
}

TEST_CASE("random: truncated_normal and gumbel are those of jax.random", "[reference]") {
  const auto truncated = jit([](auto key) { return random::truncated_normal(key, -2, 1.5, {8}); });
  CHECK(near(truncated(key_0), std::span(reference::truncated), {2e-6, 1e-6}));
  CHECK(near(random::gumbel<f32, 8>(key_0), std::span(reference::gumbel_f32), {2e-6, 1e-6}));
  CHECK(near(random::gumbel<f16, 8>(key_0), std::span(reference::gumbel_f16), {2e-3, 1e-3}));
}

TEST_CASE("random: integers are those of jax.random", "[reference]") {
  CHECK(same_bits(random::randint<i32, 8>(key_0, -5, 100), std::span(reference::randint_i32)));
  constexpr i32 least = -2147483647 - 1;
  CHECK(same_bits(random::randint<i32, 8>(key_42, least, 2147483647),
                  std::span(reference::randint_wide)));
  const auto bytes = random::randint<u8, 8>(key_0, 0, 200);
  for (std::size_t i = 0; i < 8; ++i) CHECK(i32{bytes.span()[i]} == reference::randint_u8[i]);
}

TEST_CASE("random: bernoulli and categorical are those of jax.random", "[reference]") {
  CHECK(same_bits(random::bernoulli<10>(key_0, 0.3F), std::span(reference::bernoulli_10)));
  const tensor<f32, 3, 4> logits{std::span<const f32>(reference::logits)};
  CHECK(same_bits(random::categorical(key_42, logits), std::span(reference::categorical_last)));
  const auto along_first = jit([](auto key, auto x) { return random::categorical(key, x, 0); });
  CHECK(same_bits(along_first(key_42, logits), std::span(reference::categorical_first)));
}

TEST_CASE("random: numbers from split keys are those of jax.vmap", "[reference]") {
  const auto rows = jit([](auto key) {
    const auto keys = random::split<3>(key);
    return std::array{random::uniform<f32, 2>(keys[0]), random::uniform<f32, 2>(keys[1]),
                      random::uniform<f32, 2>(keys[2])};
  });
  const auto drawn = rows(key_0);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(same_bits(drawn[i], std::span(reference::vmapped).subspan(2 * i, 2)));
  }
}

TEST_CASE("random: erf_inv agrees with jax.lax.erf_inv", "[reference]") {
  const auto inverse = jit([](auto x) { return erf_inv(x); });
  const tensor<f32, 11> x{std::span<const f32>(reference::erf_inv_at_f32)};
  CHECK(near(inverse(x), std::span(reference::erf_inv_f32), {1e-6, 1e-7}));
  const tensor<f64, 9> y{std::span<const f64>(reference::erf_inv_at_f64)};
  CHECK(near(inverse(y), std::span(reference::erf_inv_f64), {2e-11, 1e-300}));  // JAX: log1p(-x^2)
}
