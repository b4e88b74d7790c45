// More distributions against jax.random, in one compiled program: random_numbers.hpp.
// SPDX-License-Identifier: MIT
#include "atled/linalg.hpp"
#include "atled/random/continuous.hpp"
#include "atled/random/discrete.hpp"
#include "atled/random/gamma.hpp"
#include "atled/random/multivariate_normal.hpp"
#include "atled/transform/jit.hpp"

#include "reference/random_numbers.hpp"
#include "support/catch.hpp"
#include "support/near.hpp"
#include <algorithm>
#include <span>
#include <tuple>

namespace {

using namespace atled;
namespace reference = atled::reference;

constexpr auto key_0 = random::key(0);
constexpr auto key_42 = random::key(42);
constexpr tolerance tight{4e-6, 1e-6};

template <class T, std::size_t N>
tensor<T, static_cast<std::int64_t>(N)> vector_of(const T (&numbers)[N]) {
  tensor<T, static_cast<std::int64_t>(N)> out;
  std::ranges::copy(numbers, out.data());
  return out;
}

constexpr auto formulas = [](auto key) {
  return std::tuple(random::exponential(key, {6}), random::laplace(key, {6}),
                    random::cauchy(key, {6}), random::logistic(key, {6}),
                    random::pareto(key, 2.5, {6}), random::rayleigh(key, 2.5, {6}),
                    random::weibull_min(key, 2.0, 1.5, {6}), random::triangular(key, 0, 1, 3, {6}),
                    random::rademacher(key, {8}), random::geometric(key, 0.3, {8}));
};
constexpr auto orders = [](auto key, auto other, auto chances) {
  return std::tuple(random::permutation(key, 10), random::permutation(other, 2000),
                    random::choice(other, chances, {8}, chances),
                    random::choice(other, chances, {8}),
                    random::choice_without_replacement(other, chances, 3),
                    random::choice_without_replacement(other, chances, 3, chances));
};
constexpr auto accepted = [](auto key, auto rates, auto shapes) {
  return std::tuple(random::poisson(key, rates, {7}), random::loggamma(key, shapes, {6}),
                    random::gamma(key, shapes, {6}), random::beta(key, 2.0, 3.0, {6}),
                    random::dirichlet(key, shapes, {2}));
};
constexpr auto wide = [](auto key, auto shapes) {
  return random::gamma(key, shapes, {6}, dtype::f64);
};
constexpr auto vectors = [](auto key, auto mean, auto covariance) {
  return random::multivariate_normal(key, mean, covariance, {4});
};

}  // namespace

TEST_CASE("random: formulas of uniform numbers are those of jax.random", "[reference][random]") {
  const auto [e, l, c, g, p, r, w, t, signs, trials] = jit(formulas)(key_0);
  CHECK(near(e, std::span(reference::exponential), tight));
  CHECK(near(l, std::span(reference::laplace), tight));
  CHECK(near(c, std::span(reference::cauchy), tight));
  CHECK(near(g, std::span(reference::logistic), tight));
  CHECK(near(p, std::span(reference::pareto), tight));
  CHECK(near(r, std::span(reference::rayleigh), tight));
  CHECK(near(w, std::span(reference::weibull_min), tight));
  CHECK(near(t, std::span(reference::triangular), tight));
  CHECK(same_bits(signs, std::span(reference::rademacher)));
  CHECK(same_bits(trials, std::span(reference::geometric)));
}

TEST_CASE("random: orders and choices are those of jax.random", "[reference][random]") {
  const auto chances = vector_of(reference::chances);
  const auto [ten, many, weighted, plain, some, likely] = jit(orders)(key_0, key_42, chances);
  CHECK(same_bits(ten, std::span(reference::permutation_10)));
  CHECK(std::ranges::equal(many.span().first(20), reference::permutation_2000));
  CHECK(same_bits(weighted, std::span(reference::choice_weighted)));
  CHECK(same_bits(plain, std::span(reference::choice_plain)));
  CHECK(same_bits(some, std::span(reference::choice_without)));
  CHECK(same_bits(likely, std::span(reference::choice_without_weighted)));
}

TEST_CASE("random: numbers that loops accept are those of jax.random", "[reference][random]") {
  const auto shapes = vector_of(reference::shapes);
  const auto [counts, logs, gammas, betas, rows] =
      jit(accepted)(key_0, vector_of(reference::rates), shapes);
  CHECK(same_bits(counts, std::span(reference::poisson)));
  CHECK(near(logs, std::span(reference::loggamma), {1e-5, 1e-5}));
  CHECK(near(gammas, std::span(reference::gamma), {2e-5, 1e-9}));
  CHECK(near(betas, std::span(reference::beta), {2e-5, 1e-6}));
  CHECK(near(rows, std::span(reference::dirichlet), {2e-5, 1e-9}));
  tensor<f64, 6> wide_shapes;
  std::ranges::copy(reference::shapes, wide_shapes.data());
  CHECK(near(jit(wide)(key_42, wide_shapes), std::span(reference::gamma_f64), {1e-12, 1e-15}));
}

TEST_CASE("random: normal vectors with a covariance are those of jax.random", "[reference]") {
  const tensor<f32, 2> mean{reference::chances[0], reference::chances[1]};
  const auto drawn = jit(vectors)(key_0, mean, tensor<f32, 2, 2>{2, 0.5F, 0.5F, 1});
  CHECK(near(drawn, std::span(reference::vectors), tight));
}
