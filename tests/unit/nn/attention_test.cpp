// SPDX-License-Identifier: MIT
#include "atled/nn/attention.hpp"

#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>
#include <memory>

namespace {

using namespace atled;

constexpr std::int64_t B = 2, T = 4, H = 2, D = 3;
using heads = tensor<f64, B, T, H, D>;

/// Attention by its definition, one score at a time.
heads attend_plainly(const heads& q, const heads& k, const heads& v, bool is_causal) {
  heads out;
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t h = 0; h < H; ++h) {
      for (std::int64_t t = 0; t < T; ++t) {
        const std::int64_t end = is_causal ? t + 1 : T;
        double weights[T]{};
        double total = 0;
        for (std::int64_t s = 0; s < end; ++s) {
          double score = 0;
          for (std::int64_t d = 0; d < D; ++d) score += q(b, t, h, d) * k(b, s, h, d);
          total += weights[s] = std::exp(score / std::sqrt(double{D}));
        }
        for (std::int64_t s = 0; s < end; ++s) {
          for (std::int64_t d = 0; d < D; ++d) {
            out(b, t, h, d) += weights[s] / total * v(b, s, h, d);
          }
        }
      }
    }
  }
  return out;
}

const heads q = random::normal<f64, B, T, H, D>(random::key(1));
const heads k = random::normal<f64, B, T, H, D>(random::key(2));
const heads v = random::normal<f64, B, T, H, D>(random::key(3));

}  // namespace

TEST_CASE("dot_product_attention: it agrees with its definition", "[nn]") {
  const auto all = jit([](auto x, auto y, auto z) { return nn::dot_product_attention(x, y, z); });
  const auto causal =
      jit([](auto x, auto y, auto z) { return nn::dot_product_attention(x, y, z, true); });
  CHECK(near(all(q, k, v), attend_plainly(q, k, v, false)));
  CHECK(near(causal(q, k, v), attend_plainly(q, k, v, true)));
}

TEST_CASE("causal_attention: no place depends on a later one", "[nn]") {
  using layer_type = nn::causal_attention<values, f64, 6, 2>;
  const auto layer = layer_type::init(random::key(0), 0.5, 0.5);
  const auto at_place_1 =
      jit(grad([](auto net, auto x) { return sum(index_in_dim(net(x), 1, 1)); }, argnums<1>));
  const auto d = at_place_1(layer, random::normal<f64, 1, 4, 6>(random::key(4)));
  for (std::int64_t c = 0; c < 6; ++c) {
    CHECK(d(0, 0, c) != 0);
    CHECK(d(0, 1, c) != 0);
    CHECK(d(0, 2, c) == 0);
    CHECK(d(0, 3, c) == 0);
  }
}

TEST_CASE("causal_attention: the first place sees itself alone", "[nn]") {
  using layer_type = nn::causal_attention<values, f64, 6, 2>;
  const auto layer = layer_type::init(random::key(0), 0.5, 0.5);
  const auto run = jit([](auto net, auto x) { return net(x); });
  const auto only_value =
      jit([](auto net, auto x) { return net.projection(slice_in_dim(net.qkv(x), 12, 18, 1, -1)); });
  const auto x = random::normal<f64, 1, 1, 6>(random::key(4));
  CHECK(near(run(layer, x), only_value(layer, x)));
}

TEST_CASE("causal_attention: a wrong rank is a sentence about the user's line", "[nn]") {
  const auto owner = std::make_unique<ir::builder>();
  ir::builder& b = *owner;
  const auto layer = ir::make_parameters<nn::causal_attention<values, f32, 6, 2>>(b);
  const expr x(b, b.parameter({dtype::f32, shape::of({4, 6})}));
  CHECK(layer(x, {"net.cpp", 8, ""}).is_poison());
  CHECK(b.problem.view() == "net.cpp:8: causal_attention: f32[4,6]: it must be [B,T,6]");
}
