// SPDX-License-Identifier: MIT
#include "atled/nn/init.hpp"

#include "atled/nn/linear.hpp"
#include "atled/nn/norm.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

namespace {

using namespace atled;

template <class K>
struct network {
  nn::linear<K, f32, 6, 4> hidden;
  std::array<nn::layer_norm<K, f32, 4>, 2> norms;
  nn::linear<K, f32, 4, 2> out;
  ATLED_TREE(network, hidden, norms, out)
};

}  // namespace

TEST_CASE("init: a struct is made member by member, from keys of their own", "[nn]") {
  const auto model = nn::init<network>(random::key(0));
  const auto keys = random::split<3>(random::key(0));
  CHECK(same_bits(model.hidden.weight, nn::linear<values, f32, 6, 4>::init(keys[0]).weight));
  CHECK(same_bits(model.out.weight, nn::linear<values, f32, 4, 2>::init(keys[2]).weight));
  CHECK(same_bits(model.norms[1].weight, tensor<f32, 4>{1, 1, 1, 1}));
  CHECK(same_bits(model.hidden.bias, tensor<f32, 4>{0, 0, 0, 0}));
}

TEST_CASE("init: a template of the leaf policy and a type give the same model", "[nn]") {
  const auto one = nn::init<network>(random::key(5));
  const auto other = nn::init<network<values>>(random::key(5));
  CHECK(same_bits(one.hidden.weight, other.hidden.weight));
  CHECK_FALSE(same_bits(one.hidden.weight, nn::init<network>(random::key(6)).hidden.weight));
}

TEST_CASE("init: inside a trace it makes the same numbers", "[nn]") {
  const auto make = jit([](auto key) { return nn::init<network>(key); });
  const network<values> traced = make(random::key(1));
  const network<values> direct = nn::init<network>(random::key(1));
  for_each_leaf(
      [](const auto& a, const auto& b) {
        CHECK(near(a, b, {1e-6, 1e-8}));
      },
      traced, direct);
}

TEST_CASE("initializers: a normal leaf has the deviation that was asked for", "[nn]") {
  const auto x = nn::initializers::normal<f32, 64, 64>(random::key(2), 0.02);
  double squares = 0;
  for (const f32 value : x.span()) squares += static_cast<double>(value * value);
  CHECK(std::sqrt(squares / 4096) == Approx(0.02).epsilon(0.05));
}

TEST_CASE("square_root: it agrees with std::sqrt", "[nn]") {
  for (const double x : {1e-9, 0.02, 0.5, 1.0, 2.0, 24.0, 768.0, 1e12}) {
    CHECK(nn::square_root(x) == Approx(std::sqrt(x)).epsilon(1e-15));
  }
}
