// unit/ops/determinant_test.cpp: derivatives of a determinant that is 0.
// SPDX-License-Identifier: MIT
#include "atled/ops/determinant.hpp"

#include "atled/transform/grad.hpp"
#include "atled/transform/jvp.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 4, 4>;

constexpr auto along = [](auto a, auto d) {
  return [=](auto t) { return linalg::det(a + t * d); };
};
/// det(a + t d) and its derivatives by t at 0, by the modes named.
constexpr auto derivatives = [](auto a, auto d, auto t) {
  const auto f = along(a, d);
  const auto slope = [=](auto u) { return jvp(f, u, ones_like(u)).second; };
  const auto second = grad(slope);
  const auto third = [=](auto u) { return jvp(second, u, ones_like(u)).second; };
  return stack({f(t), grad(f)(t), slope(t), second(t), grad(grad(f))(t), third(t)});
};

// det(a + t step) = 18 t + 25 t^2 + 14 t^3 + 13 t^4 for diag(1, 2, 3, 0), and so on.
const matrix step{1, 2, 0, 1, 0, 1, 1, 0, 2, 0, 1, 1, 1, 0, 1, 3};
}  // namespace

TEST_CASE("det: derivatives to the third order where it is 0, of any rank", "[ops]") {
  const auto check = [](const char* what, const matrix& a, const numbers& c) {
    INFO(what);
    const numbers out = values_of(derivatives, a, step, tensor<f64>(0.0));
    const numbers expected{0, c[0], c[0], 2 * c[1], 2 * c[1], 6 * c[2]};
    for (std::size_t i = 0; i < out.size(); ++i) {
      INFO("number " << i << " is " << out[i] << ", expected " << expected[i]);
      CHECK(std::abs(out[i] - expected[i]) < 1e-11);
    }
  };
  check("rank 3", {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0}, {18, 25, 14});
  check("rank 2", {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 4, 8});
  check("rank 1", {1, 2, -1, 1, 2, 4, -2, 2, 0, 0, 0, 0, -1, -2, 1, -1}, {0, 0, -1});
  check("rank 0", {}, {0, 0, 0});
  check("equal rows", {1, 2, 3, 4, 2, 4, 6, 8, 0, 1, 1, 0, 5, 0, 1, 2}, {84, 20, 45});
}

TEST_CASE("det: larger matrices, and many at once", "[ops]") {
  const auto gradient = [](auto a) {
    return vmap(grad([](auto one) { return linalg::det(one); }))(a);
  };
  tensor<f64, 2, 5, 5> a{};
  for (int i = 0; i < 5; ++i) {
    a(0, i, i) = i;                    // cofactors: 24 at (0, 0), else 0
    a(1, i, i) = i + 1;                // 120 / (i + 1)
    if (i > 0) a(1, i, i - 1) = 0.25;  // below the diagonal: no change of these
  }
  const numbers out = values_of(gradient, a);
  for (int i = 0; i < 5; ++i) {
    const auto k = static_cast<std::size_t>(6 * i);
    CHECK(std::abs(out[k] - (i == 0 ? 24 : 0)) < 1e-11);
    CHECK(std::abs(out[25 + k] - 120.0 / (i + 1)) < 1e-10);
  }
}
