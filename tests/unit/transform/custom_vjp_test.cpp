// unit/transform/custom_vjp_test.cpp: a rule of the user's own for reverse mode.
// SPDX-License-Identifier: MIT
#include "atled/transform/custom_vjp.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/vjp.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {

using scalar = tensor<f64>;
using vec3 = tensor<f64, 3>;

/// The identity, whose cotangent is cut to [-1, 1].
constexpr auto limited =
    custom_vjp([](auto x) { return x; }, [](auto x) { return std::pair(x, std::tuple()); },
               [](auto, auto ct) { return std::tuple(minimum(maximum(ct, -1.0), 1.0)); });

/// sin(x) y, with a factor of ten in the derivative by y that shows the rule.
constexpr auto product =
    custom_vjp([](auto x, auto y) { return sin(x) * y; },
               [](auto x, auto y) { return std::pair(sin(x) * y, std::tuple(x, sin(x), y)); },
               [](auto residuals, auto ct) {
                 const auto [x, sine, y] = residuals;
                 return std::tuple(cos(x) * ct * y, 10.0 * sine * ct);
               });

constexpr auto wrong_cotangent =
    custom_vjp([](auto x) { return sum(x); }, [](auto x) { return std::pair(sum(x), 0); },
               [](auto, auto ct) { return ct; });

constexpr auto wrong_value =
    custom_vjp([](auto x) { return sum(x); }, [](auto x) { return std::pair(x, 0); },
               [](auto, auto ct) { return ct; });

}  // namespace

TEST_CASE("custom_vjp: bwd is used, and need not be linear", "[transform]") {
  const auto f = [](auto x) { return sum(square(limited(x)) * 3.0); };
  CHECK(values_of([=](auto x) { return grad(f)(x); }, vec3{0.125, 5, -3}) == numbers{0.75, 1, -1});
  CHECK(grad(f)(vec3{0.125, 5, -3})(1) == 1);  // compiled
}

TEST_CASE("custom_vjp: fwd hands its residuals to bwd", "[transform]") {
  const auto g = [](auto x, auto y) { return grad(product, argnums<0, 1>)(x, y); };
  CHECK(all_values(g, scalar{0}, scalar{3}) == std::vector<numbers>{{3}, {0}});
}

TEST_CASE("custom_vjp: the second derivative differentiates fwd and bwd", "[transform]") {
  // d/dx (cos(x) y) = -sin(x) y, d/dy = cos(x)
  const auto first = [](auto x, auto y) { return grad(product)(x, y); };
  const auto g = [=](auto x, auto y) { return grad(first, argnums<0, 1>)(x, y); };
  CHECK(all_values(g, scalar{0}, scalar{3}) == std::vector<numbers>{{-0.0}, {1}});
}

TEST_CASE("custom_vjp: cotangents of several results arrive together", "[transform]") {
  const auto f =
      custom_vjp([](auto x) { return std::tuple(x * 1.0, x * 2.0, x * 4.0); },
                 [](auto x) { return std::pair(std::tuple(x * 1.0, x * 2.0, x * 4.0), 5.0); },
                 [](double five, auto ct) {
                   const auto [a, b, c] = ct;
                   return maximum(a, b) * five + c;
                 });
  const auto total = [&](auto x) {
    const auto [a, b, c] = f(x);
    return a * 2.0 + b * 7.0;
  };
  CHECK(values_of([&](auto x) { return grad(total)(x); }, scalar{1}) == numbers{35});
}

TEST_CASE("custom_vjp: trees, a zero for any argument, integers that are not read", "[transform]") {
  const auto f = [](auto pair, auto k) {
    return pair.first * pair.second * convert(k, dtype::f64);
  };
  const auto rule = custom_vjp(
      f, [f](auto pair, auto k) { return std::pair(f(pair, k), std::pair(pair, k)); },
      [](auto residuals, auto ct) {
        const auto [pair, k] = residuals;
        const auto scale = ct * convert(k, dtype::f64);
        return std::tuple(std::pair(scale * pair.second, 0), k);
      });
  const auto total = [&](auto x, auto y, auto k) { return rule(std::pair(x, y), k); };
  const auto g = [&](auto x, auto y, auto k) { return grad(total, argnums<0, 1>)(x, y, k); };
  CHECK(all_values(g, scalar{2}, scalar{3}, tensor<i32>{4}) == std::vector<numbers>{{12}, {0}});
}

TEST_CASE("custom_vjp: arguments without a derivative come first in bwd", "[transform]") {
  const auto f =
      custom_vjp([](double scale, auto x) { return x * scale; },
                 [](double scale, auto x) { return std::pair(x * scale, 0); },
                 [](double scale, int, auto ct) { return ct * (scale + 1); }, nondiff_argnums<0>);
  const auto g = [&](auto x) { return grad([&](auto u) { return f(2.0, u); })(x); };
  CHECK(values_of(g, scalar{1}) == numbers{3});
}

TEST_CASE("custom_vjp: what f and fwd compute alike is computed once", "[transform]") {
  constexpr auto f = [](auto x, auto y) { return value_and_grad(product)(x, y); };
  using program = decltype(jit(f))::program<scalar, scalar>;
  const std::string text = program::text();
  CHECK(text.find("sin") == text.rfind("sin"));
  CHECK(text.find("= custom") == std::string::npos);
}

TEST_CASE("custom_vjp: forward mode is refused", "[transform]") {
  constexpr auto why =
      "custom_vjp: its rule is for reverse mode: forward mode (jvp, linearize, a jvp inside grad) "
      "needs custom_jvp";
  const auto b = oracle::make_builder();
  const expr x(*b, b->parameter({dtype::f64, {}}));
  const auto [value, tangent] = jvp(limited, x, x);
  b->g.outputs[b->g.num_outputs++] = value.id();
  passes::refuse_forward_mode(*b);
  CHECK(b->problem.empty());
  b->g.outputs[b->g.num_outputs++] = tangent.id();
  passes::refuse_forward_mode(*b);
  CHECK(std::string(b->problem.view()).find(why) != std::string::npos);

  const auto twice = [](auto u) {
    return grad([](auto v) { return jvp(limited, v, v).second; })(u);
  };
  CHECK(sentence_of<scalar>(twice) == std::string(why).substr(12));  // it has no line to stand on
}

TEST_CASE("custom_vjp: a cotangent of another type is refused", "[transform]") {
  CHECK(sentence_of<vec3>([](auto x) { return grad(wrong_cotangent)(x); }) ==
        "custom_vjp: bwd: the cotangent leaf 0 is f64[], leaf 0 of the arguments is f64[3]: their "
        "types must be equal");
}

TEST_CASE("custom_vjp: fwd must give the function's value", "[transform]") {
  CHECK(sentence_of<vec3>([](auto x) { return grad(wrong_value)(x); }) ==
        "custom_vjp: fwd: the value leaf 0 is f64[3], leaf 0 of the result is f64[]: their types "
        "must be equal");
}
