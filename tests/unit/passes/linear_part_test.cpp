// unit/passes/linear_part_test.cpp: what a loop keeps for its reverse where calls in its body, or
// around it, are checkpointed, and rules of the user's own inside of it.
// SPDX-License-Identifier: MIT
#include "atled/passes/linear_part.hpp"

#include "atled/ops/control.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/external.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/transform/checkpoint.hpp"
#include "atled/transform/custom_jvp.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <cmath>

using namespace atled;

namespace {

constexpr std::int64_t trips = 16;
using row = tensor<f32, 64, 8>;
using weights = tensor<f32, trips, 8, 32>;

constexpr auto layer = [](auto x, auto w) {
  return x + 0.1F * tanh(matmul(tanh(matmul(sin(x), w)), transpose(w)));
};
template <int Mode>
constexpr auto deep = [](auto w, auto x) {
  const auto body = [](auto u, auto v) {
    if constexpr (Mode == 1) {
      return std::pair(checkpoint(layer)(u, v), 0.0F * sum(u));
    } else {
      return std::pair(layer(u, v), 0.0F * sum(u));
    }
  };
  const auto all = [=](auto u, auto v) { return scan(body, u, v).first; };
  if constexpr (Mode == 2) {
    return sum(square(checkpoint(all)(x, w)));
  } else {
    return sum(square(all(x, w)));
  }
};
template <int Mode>
constexpr auto step =
    [](auto w, auto x) { return value_and_grad(deep<Mode>, argnums<0, 1>)(w, x); };
template <int Mode>
using facts = typename decltype(jit(step<Mode>))::template program<weights, row>;

template <class T>
T noise(std::uint32_t seed) {
  T out;
  for (std::int64_t i = 0; i < out.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    out.data()[i] = static_cast<f32>(seed >> 8) / 0x1p24F - 0.5F;
  }
  return out;
}

using scalar = tensor<f64>;
tensor<f64> host_sine(f64 x) {
  return std::sin(x);
}
constexpr auto sine = custom_vjp([](auto x) { return external_call<host_sine>(x); },
                                 [](auto x) { return std::pair(external_call<host_sine>(x), x); },
                                 [](auto x, auto ct) { return 10.0 * cos(x) * ct; });
constexpr auto cosine =
    custom_jvp([](auto x) { return cos(x); },
               [](auto primals, auto tangents) {
                 const auto [x] = primals;
                 return std::pair(cos(x), -10.0 * sin(x) * std::get<0>(tangents));
               });

}  // namespace

TEST_CASE("linear_part: a checkpointed body keeps its carry only", "[passes]") {  // CF10
  const auto w = noise<weights>(1);
  const auto x = noise<row>(2);
  const auto [value, slopes] = jit(step<0>)(w, x);
  const auto [checked, checked_slopes] = jit(step<1>)(w, x);
  CHECK(same_bits(value, checked));
  CHECK(same_bits(std::get<0>(slopes), std::get<0>(checked_slopes)));
  CHECK(same_bits(std::get<1>(slopes), std::get<1>(checked_slopes)));
  constexpr std::int64_t inner = trips * 64 * 32 * 4;  // the inner tanh of all trips
  STATIC_REQUIRE(facts<1>::peak_bytes < facts<0>::peak_bytes - inner);
}

TEST_CASE("linear_part: a loop inside a checkpointed call runs again", "[passes]") {
  const auto w = noise<weights>(1);
  const auto x = noise<row>(2);
  const auto [value, slopes] = jit(step<0>)(w, x);
  const auto [checked, checked_slopes] = jit(step<2>)(w, x);
  CHECK(same_bits(value, checked));
  CHECK(same_bits(std::get<0>(slopes), std::get<0>(checked_slopes)));
  CHECK(same_bits(std::get<1>(slopes), std::get<1>(checked_slopes)));
}

TEST_CASE("linear_part: rules of the user's own and host functions in a loop", "[passes]") {
  const auto f = [](auto x) {
    return scan([](auto u, auto) { return std::pair(sine(u) + cosine(u), u); }, x, length<2>).first;
  };
  const auto g = [](auto x) { return sine(x) + cosine(x); };
  const scalar at(0.3);
  const double once = grad(g)(at).item();
  const double twice = grad(g)(g(at)).item();
  CHECK(grad(f)(at).item() == Approx(once * twice));
}
