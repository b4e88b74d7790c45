// unit/ops/activation_test.cpp: the functions between layers, at their kinks and far out.
// SPDX-License-Identifier: MIT
#include "atled/ops/activation.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec3 = tensor<f64, 3>;
using vec5 = tensor<f64, 5>;
static_assert(types_of<tensor<bf16, 3>>([](auto x) {
                return std::tuple{relu(x), gelu(x), silu(x), softplus(x), log_sigmoid(x)};
              }).view() == "bf16[3] bf16[3] bf16[3] bf16[3] bf16[3]");
}  // namespace

TEST_CASE("relu: the derivative at 0 is 0, NaN stays", "[ops]") {
  const auto f = [](auto x) { return relu(x); };
  CHECK(are_near(values_of(f, vec5{-1, 0, 2, not_a_number, infinity}),
                 {0, 0, 2, not_a_number, infinity}));
  CHECK(gradient_of(f, vec3{-1, 0, 2}) == numbers{0, 0, 1});
  CHECK(second_of(f, vec3{-1, 0, 2}) == numbers{0, 0, 0});
}

TEST_CASE("softplus: exact in both tails, smooth at 0", "[ops]") {
  const auto f = [](auto x) { return softplus(x); };
  const vec3 x{1000, -40, 0};
  CHECK(are_near(values_of(f, x), {1000, 4.248354255291589e-18, std::log(2.0)}));
  CHECK(are_near(gradient_of(f, x), {1, 4.248354255291589e-18, 0.5}));
  CHECK(are_near(second_of(f, x), {0, 4.248354255291589e-18, 0.25}));
  CHECK(values_of(f, tensor<f32, 1>{88.8F}) == numbers{static_cast<double>(88.8F)});
}

TEST_CASE("log_sigmoid: no infinity and no NaN far out", "[ops]") {
  const auto f = [](auto x) { return log_sigmoid(x); };
  CHECK(values_of(f, vec3{-1000, 1000, -infinity}) == numbers{-1000, 0, -infinity});
  CHECK(gradient_of(f, vec3{-1000, 1000, 0}) == numbers{1, 0, 0.5});
}

TEST_CASE("sigmoid: saturates without overflow", "[ops]") {
  const auto f = [](auto x) { return sigmoid(x); };
  CHECK(are_near(values_of(f, vec3{-40, 800, -800}), {4.248354255291589e-18, 1, 0}));
  CHECK(gradient_of(f, vec3{0, 800, -800}) == numbers{0.25, 0, 0});
}

TEST_CASE("gelu: the approximation is the one with tanh", "[ops]") {
  const vec5 x{-3, -0.5, 0, 0.5, 3};
  numbers by_tanh;
  numbers exact;
  for (std::int64_t i = 0; i < 5; ++i) {
    const double v = x(i);
    by_tanh.push_back(0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    exact.push_back(0.5 * v * (1 + std::erf(v / std::sqrt(2.0))));
  }
  CHECK(are_near(values_of([](auto y) { return gelu(y); }, x), by_tanh, 1e-12));
  CHECK(are_near(values_of([](auto y) { return gelu(y, false); }, x), exact, 1e-12));
}

TEST_CASE("activation: the gradient is the central difference", "[ops]") {
  const vec5 x{-1.5, -0.2, 0.1, 0.8, 2.5};
  const auto check = [&](auto f) {
    CHECK(are_near(gradient_of(f, x), difference_of(f, x), 1e-7));
    CHECK(are_near(second_of(f, x), difference_of(gradient_function(f), x), 1e-6));
  };
  check([](auto y) { return gelu(y) + silu(y); });
  check([](auto y) { return gelu(y, false) + softplus(y) + log_sigmoid(y); });
  check([](auto y) { return elu(y) + leaky_relu(y, 0.1) + relu(y); });
}
