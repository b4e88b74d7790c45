// Linear algebra against jax.numpy.linalg, in compiled programs: linalg_numbers.hpp.
// SPDX-License-Identifier: MIT
#include "atled/linalg.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/jvp.hpp"
#include "atled/transform/vmap.hpp"

#include "reference/linalg_numbers.hpp"
#include "support/catch.hpp"
#include "support/near.hpp"
#include <algorithm>
#include <span>
#include <tuple>

namespace {

using namespace atled;
namespace reference = atled::reference;

using square_matrix = tensor<f64, 3, 3>;
using tall_matrix = tensor<f64, 4, 2>;
constexpr tolerance first{1e-11, 1e-12};
constexpr tolerance second{1e-9, 1e-10};

template <class T>
T operand(std::span<const f64> numbers) {
  T out;
  std::ranges::copy(numbers, out.data());
  return out;
}

// sin of right sides that the program knows
constexpr auto cholesky = [](auto a) { return sum(sin(linalg::cholesky(a))); };
constexpr auto triangle_of = [](auto a, auto b) {
  return sum(sin(linalg::solve_triangular(a, b, {.lower = true})));
};
constexpr auto solve = [](auto a, auto b) { return sum(sin(linalg::solve(a, b))); };
constexpr auto lu = [](auto a) {
  const auto [p, l, u] = linalg::lu(a);
  return sum(sin(l)) + sum(cos(u));
};
constexpr auto qr = [](auto a) {
  const auto [q, r] = linalg::qr(a);
  return sum(sin(q)) + sum(cos(r));
};
constexpr auto eigh = [](auto a) {
  const auto [w, v] = linalg::eigh(a);
  return sum(sin(w)) + sum(square(v * v) * a);
};
constexpr auto svd = [](auto a) {
  const auto [u, s, vt] = linalg::svd(a);
  return sum(sin(s)) + sum(square(u * u) * a) + sum(square(vt * vt));
};
constexpr auto inv = [](auto a) { return sum(sin(linalg::inv(a))); };
constexpr auto det = [](auto a) { return linalg::det(a); };
constexpr auto log_det = [](auto a) { return linalg::slogdet(a).second; };
constexpr auto pinv = [](auto a) { return sum(sin(linalg::pinv(a))); };
constexpr auto nuclear = [](auto a) { return linalg::matrix_norm(a, linalg::norm_order::nuclear); };
constexpr auto condition_of = [](auto a) { return linalg::cond(a); };
constexpr auto cubed = [](auto a) { return sum(sin(linalg::matrix_power(a, -3))); };
constexpr auto expm = [](auto a) { return sum(sin(linalg::expm(a))); };

/// Value, gradient and the change of the gradient along a direction.
template <class F, class T, class... Rest>
constexpr auto orders(F f, const T& a, const T& along, const Rest&... rest) {
  const auto gradient = [f, rest...](auto x) { return grad(f)(x, rest...); };
  const auto [g, h] = jvp(gradient, a, along);
  return std::tuple{f(a, rest...), g, h};
}

#define CHECK_ORDERS(results, name)                                                \
  CHECK(near(std::get<0>(results), std::span(reference::name##_value), first));    \
  CHECK(near(std::get<1>(results), std::span(reference::name##_gradient), first)); \
  CHECK(near(std::get<2>(results), std::span(reference::name##_second), second))

const auto a = operand<square_matrix>(reference::square);
const auto p = operand<square_matrix>(reference::positive);
const auto t = operand<tall_matrix>(reference::tall);
const auto b = operand<tensor<f64, 3, 2>>(reference::right);
const auto along = operand<square_matrix>(reference::along_square);
const auto along_tall = operand<tall_matrix>(reference::along_tall);

}  // namespace

TEST_CASE("linalg: factors, their gradients and second derivatives are JAX's", "[reference]") {
  const auto program = jit([](auto positive, auto general, auto high, auto d, auto d_high) {
    return std::tuple{orders(cholesky, positive, d), orders(lu, general, d),
                      orders(qr, high, d_high), orders(eigh, positive, d),
                      orders(svd, high, d_high)};
  });
  const auto [by_cholesky, by_lu, by_qr, by_eigh, by_svd] = program(p, a, t, along, along_tall);
  CHECK_ORDERS(by_cholesky, cholesky);
  CHECK_ORDERS(by_lu, lu);
  CHECK_ORDERS(by_qr, qr);
  CHECK_ORDERS(by_eigh, eigh);
  CHECK_ORDERS(by_svd, svd);
}

TEST_CASE("linalg: systems and determinants are JAX's", "[reference]") {
  const auto program = jit([](auto general, auto right, auto d) {
    return std::tuple{orders(triangle_of, general, d, right), orders(solve, general, d, right),
                      orders(inv, general, d), orders(det, general, d),
                      orders(log_det, general, d)};
  });
  const auto [by_triangle, by_solve, by_inv, by_det, by_log_det] = program(a, b, along);
  CHECK_ORDERS(by_triangle, triangle);
  CHECK_ORDERS(by_solve, solve);
  CHECK_ORDERS(by_inv, inv);
  CHECK_ORDERS(by_det, det);
  CHECK_ORDERS(by_log_det, log_det);
}

TEST_CASE("linalg: functions of singular values, powers and exponentials are JAX's",
          "[reference]") {
  const auto program = jit([](auto general, auto high, auto y, auto d, auto d_high) {
    const auto found = linalg::lstsq(high, y);
    return std::tuple{orders(pinv, high, d_high),
                      orders(nuclear, high, d_high),
                      orders(condition_of, high, d_high),
                      orders(cubed, general, d),
                      orders(expm, general, d),
                      found.x,
                      found.s,
                      found.rank};
  });
  const auto y = operand<tensor<f64, 4>>(reference::observed);
  const auto [by_pinv, by_nuclear, by_cond, by_power, by_expm, x, s, rank] =
      program(a, t, y, along, along_tall);
  CHECK_ORDERS(by_pinv, pinv);
  CHECK_ORDERS(by_nuclear, nuclear);
  CHECK_ORDERS(by_cond, cond);
  CHECK_ORDERS(by_power, power);
  CHECK_ORDERS(by_expm, expm);
  CHECK(near(x, std::span(reference::least_squares_x), first));
  CHECK(near(s, std::span(reference::least_squares_s), first));
  CHECK(rank.item() == 2);
}

TEST_CASE("linalg: vmap of a gradient is the gradient of each", "[reference]") {
  const auto program = jit([](auto both, auto right) {
    const auto each = vmap(grad(solve), in_axes<0, none>);
    return each(both, right);
  });
  const auto both = jit([](auto x, auto y) { return stack({x, y}); })(a, p);
  const auto out = program(both, b);
  CHECK(near(std::span(out.data(), 9), std::span(reference::solve_gradient), first));
}
