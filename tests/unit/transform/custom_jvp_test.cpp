// unit/transform/custom_jvp_test.cpp: a derivative rule of the user's own, in every mode and order.
// SPDX-License-Identifier: MIT
#include "atled/transform/custom_jvp.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/jvp.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {

using scalar = tensor<f64>;
using vec3 = tensor<f64, 3>;

/// x^3 whose rule says so; the wrong factor of `scaled` shows that the rule is used.
constexpr auto cube = custom_jvp([](auto x) { return x * x * x; },
                                 [](auto primals, auto tangents) {
                                   const auto [x] = primals;
                                   const auto [dx] = tangents;
                                   return std::pair(x * x * x, 3.0 * x * x * dx);
                                 });
constexpr auto seven_times =
    custom_jvp([](auto x) { return x * 2.0; },
               [](auto primals, auto tangents) {
                 return std::pair(std::get<0>(primals), 7.0 * std::get<0>(tangents));
               });

/// Its rule calls itself.
struct own_exp {
  constexpr expr operator()(const expr& x) const;
};
struct own_exp_rule {
  constexpr auto operator()(const std::tuple<expr>& primals,
                            const std::tuple<expr>& tangents) const {
    const expr y = own_exp{}(std::get<0>(primals));
    return std::pair(y, y * std::get<0>(tangents));
  }
};
constexpr expr own_exp::operator()(const expr& x) const {
  return custom_jvp([](auto u) { return exp(u); }, own_exp_rule{})(x);
}

constexpr auto with_capture = [](auto x) {
  const auto inner = custom_jvp([x](auto u) { return u * x; },
                                [](auto, auto t) { return std::pair(0, std::get<0>(t)); });
  return inner(x);
};

constexpr auto wrong_tangent = custom_jvp(
    [](auto x) { return x * 2.0; }, [](auto, auto t) { return std::pair(0, sum(std::get<0>(t))); });

}  // namespace

TEST_CASE("custom_jvp: x^3 with the rule 3 x^2 has the derivatives 12, 12, 6 at 2",
          "[transform]") {  // HO6
  const auto point = scalar{2};
  CHECK(values_of([](auto x) { return cube(x); }, point) == numbers{8});
  CHECK(values_of([](auto x) { return grad(cube)(x); }, point) == numbers{12});
  CHECK(values_of([](auto x) { return grad(grad(cube))(x); }, point) == numbers{12});
  CHECK(values_of([](auto x) { return grad(grad(grad(cube)))(x); }, point) == numbers{6});
  CHECK(all_values([](auto x) { return jvp(cube, x, x); }, point) ==
        std::vector<numbers>{{8}, {24}});
}

TEST_CASE("custom_jvp: it runs compiled, on tensors", "[transform]") {
  CHECK(cube(scalar{2}).item() == 8);
  CHECK(grad(grad(cube))(scalar{2}).item() == 12);
}

TEST_CASE("custom_jvp: the value is the function's, the derivative the rule's", "[transform]") {
  CHECK(all_values([](auto x) { return value_and_grad(seven_times)(x); }, scalar{3}) ==
        std::vector<numbers>{{6}, {7}});
}

TEST_CASE("custom_jvp: a rule may call its function, to any order", "[transform]") {
  const auto third = [](auto x) { return grad(grad(grad(own_exp{})))(x); };
  CHECK(values_of(third, scalar{0}) == numbers{1});
}

TEST_CASE("custom_jvp: a rule that is not differentiated is not run", "[transform]") {
  static int runs = 0;
  const auto f = custom_jvp([](auto x) { return std::pair(x * 2.0, x * 3.0); },
                            [](auto, auto tangents) {
                              ++runs;
                              const auto [dx] = tangents;
                              return std::pair(0, std::pair(dx * 2.0, dx * 3.0));
                            });
  CHECK(all_values([&](auto x) { return f(x); }, scalar{1}) == std::vector<numbers>{{2}, {3}});
  CHECK(runs == 0);
  const auto total = [&](auto x) {
    const auto [a, b] = f(x);
    return a * b;
  };
  CHECK(values_of([&](auto x) { return grad(total)(x); }, scalar{1}) == numbers{12});
  CHECK(runs == 1);  // for both results
}

TEST_CASE("custom_jvp: arguments and results are trees", "[transform]") {
  const auto f =
      custom_jvp([](auto pair, auto z) { return std::tuple(pair.first * z, pair.second); },
                 [](auto primals, auto tangents) {
                   const auto& [pair, z] = primals;
                   const auto& [d_pair, d_z] = tangents;
                   const auto d_product = pair.first * d_z + z * d_pair.first;
                   return std::pair(std::tuple(pair.first * z, pair.second),
                                    std::tuple(d_product, 10.0 * d_pair.second));
                 });
  const auto total = [&](auto x, auto y, auto z) {
    const auto [a, b] = f(std::pair(x, y), z);
    return sum(a) + sum(b);
  };
  const auto all = [&](auto x, auto y, auto z) { return grad(total, argnums<0, 1, 2>)(x, y, z); };
  CHECK(all_values(all, vec3{1, 2, 3}, vec3{4, 5, 6}, vec3{7, 8, 9}) ==
        std::vector<numbers>{{7, 8, 9}, {10, 10, 10}, {1, 2, 3}});
}

TEST_CASE("custom_jvp: arguments without a derivative come first in the rule", "[transform]") {
  const auto power = [](auto x, int n) {
    auto out = x;
    for (int i = 1; i < n; ++i) out = out * x;
    return out;
  };
  const auto f = custom_jvp(
      power,
      [power](int n, auto primals, auto tangents) {
        const auto [x] = primals;
        return std::pair(x, n * power(x, n - 1) * std::get<0>(tangents));
      },
      nondiff_argnums<1>);
  CHECK(values_of([&](auto x) { return grad([&](auto u) { return f(u, 4); })(x); }, scalar{2}) ==
        numbers{32});
}

TEST_CASE("custom_jvp: an integer argument has the tangent zero", "[transform]") {
  const auto f = custom_jvp(
      [](auto x, auto k) { return x * convert(k, dtype::f64); },
      [](auto primals, auto tangents) {
        const auto [x, k] = primals;
        return std::pair(x, std::get<0>(tangents) * convert(k + std::get<1>(tangents), dtype::f64));
      });
  CHECK(values_of([&](auto x, auto k) { return grad(f)(x, k); }, scalar{2}, tensor<i32>{5}) ==
        numbers{5});
}

TEST_CASE("custom_jvp: a differentiated value that is no argument is refused", "[transform]") {
  CHECK(sentence_of<scalar>([](auto x) { return grad(with_capture)(x); }) ==
        "custom_jvp: the function uses a differentiated value that is none of its arguments: pass "
        "it as an argument");
}

TEST_CASE("custom_jvp: a tangent of another type is refused", "[transform]") {
  CHECK(sentence_of<vec3>([](auto x) { return jvp(wrong_tangent, x, x); }) ==
        "custom_jvp: tangent leaf 0 is f64[], leaf 0 of the result is f64[3]: their types must be "
        "equal");
}
