// unit/passes/jvp_test.cpp: the conventions of derivatives at singular points, kinks and ties, the
// same forward and in reverse, and to second order.
// SPDX-License-Identifier: MIT
#include "atled/passes/jvp.hpp"

#include "atled/ops/cumulative.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/softmax.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using vec4 = tensor<f64, 4>;
using vec5 = tensor<f64, 5>;
constexpr double inf = test::infinity;

/// The tangent of `f` along `direction` of its first argument.
template <class F, class T, class... Rest>
numbers forward_of(F f, const T& x, const T& direction, const Rest&... rest) {
  const auto tangent = [f](const expr& at, const expr& dx, const auto&... others) {
    ir::builder& b = at.builder();
    const expr inner(b, b.variable(at.id()));
    const expr y = f(inner, others...);
    const auto inputs = std::make_unique<passes::ids>();
    const auto tangents = std::make_unique<passes::ids>();
    const auto outputs = std::make_unique<passes::ids>();
    const auto result = std::make_unique<passes::ids>();
    inputs->push(inner.id());
    tangents->push(dx.id());
    outputs->push(y.id());
    passes::jvp(b, *outputs, *inputs, *tangents, *result);
    const int id = (*result)[0];
    return expr(b, id == ir::no_node ? passes::zeros_like(b, y.id()) : id);
  };
  return values_of(tangent, x, direction, rest...);
}

template <class T>
T ones_of() {
  T out;
  for (auto& x : out.span()) x = 1;
  return out;
}

/// The derivative of a function of each element: forward and in reverse they must agree.
template <class F, class T>
numbers slope_of(F f, const T& x) {
  const numbers reverse = gradient_of(f, x);
  const numbers forward = forward_of(f, x, ones_of<T>());
  REQUIRE(are_near(forward, reverse, 1e-14));
  return reverse;
}
template <class F, class T>
numbers curvature_of(F f, const T& x) {
  const numbers reverse = second_of(f, x);
  const numbers forward = forward_of(gradient_function(f), x, ones_of<T>());
  REQUIRE(are_near(forward, reverse, 1e-14));
  return reverse;
}
}  // namespace

// --- strong zero ---------------------------------------------------------------------------------

TEST_CASE("jvp: a branch that is not taken gives exactly 0, whatever its derivative is",
          "[passes]") {
  const auto f = [](auto x) { return where(x > 0, log(x), 0.0); };
  CHECK(slope_of(f, vec3{-1, 0, 2}) == numbers{0, 0, 0.5});
  CHECK(curvature_of(f, vec3{-1, 0, 2}) == numbers{0, 0, -0.25});

  const auto g = [](auto x) { return where(x < 1, x, sqrt(x)); };
  CHECK(slope_of(g, vec2{0, 4}) == numbers{1, 0.25});
  CHECK(curvature_of(g, vec2{0, 4}) == numbers{0, -0.03125});

  const auto h = [](auto x) { return where(x > 0, 1.0 / x, 0.0); };
  CHECK(slope_of(h, vec2{0, 2}) == numbers{0, -0.25});
  CHECK(curvature_of(h, vec2{0, 2}) == numbers{0, 0.25});

  const auto nested = [](auto x) { return where(x > 0, where(x > 1, sqrt(x - 1.0), 0.0), 0.0); };
  CHECK(slope_of(nested, vec3{0, 1, 5}) == numbers{0, 0, 0.25});

  const auto r = [](auto x) { return where(x > 0, rsqrt(x), 0.0); };
  CHECK(slope_of(r, vec2{0, 4}) == numbers{0, -0.0625});
  const auto p = [](auto x) { return where(x > 0, pow(x, 0.5), 0.0); };
  CHECK(slope_of(p, vec2{0, 4}) == numbers{0, 0.25});
  CHECK(curvature_of(p, vec2{0, 4}) == numbers{0, -0.03125});
  const auto l = [](auto x) { return where(x > -1, log1p(x), 0.0); };
  CHECK(slope_of(l, vec2{-1, 1}) == numbers{0, 0.5});
}

TEST_CASE("jvp: a maximum that does not take a singular operand gives exactly 0", "[passes]") {
  CHECK(slope_of([](auto x) { return max(sqrt(x), 1e-6); }, vec2{0, 4}) == numbers{0, 0.25});
  CHECK(slope_of([](auto x) { return log(max(x, 1e-12)); }, vec2{0, 2}) == numbers{0, 0.5});
}

TEST_CASE("jvp: a weight that is exactly 0 makes an infinite derivative 0", "[passes]") {
  const vec2 m{1, 0};
  const vec2 x{4, 0};
  const auto f = [](auto v, auto weight) { return sum(weight * sqrt(v)); };
  CHECK(values_of(f, x, m) == numbers{2});
  CHECK(gradient_of(f, x, m) == numbers{0.25, 0});
  CHECK(forward_of(f, x, vec2{1, 1}, m) == numbers{0.25});
  CHECK(forward_of([](auto v) { return sqrt(v); }, vec2{0, 4}, vec2{0, 1}) == numbers{0, 0.25});
}

TEST_CASE("jvp: values that an infinite factor hides are 0 where the product is", "[passes]") {
  const auto f = [](auto x) { return sum(where(x > 0, x * sqrt(x), 0.0)); };
  CHECK(values_of(f, vec2{0, 4}) == numbers{8});
  CHECK(gradient_of(f, vec2{0, 4}) == numbers{0, 3});
  CHECK(second_of(f, vec2{0, 4}) == numbers{0, 0.375});
  const auto entropy = [](auto p) { return where(p > 0, -p * log(p), 0.0); };
  CHECK(slope_of(entropy, vec2{0, 1}) == numbers{0, -1});
  const auto far = [](auto x) { return where(x < 100, x * exp(x), 0.0); };
  CHECK(slope_of(far, vec2{1000, 0}) == numbers{0, 1});
}

TEST_CASE("jvp: a quotient by 0 that is not taken gives 0 by both operands", "[passes]") {
  const vec2 n{1, 2};
  const vec2 d{0, 4};
  const auto f = [](auto x, auto y) { return sum(where(y > 0, x / y, 0.0)); };
  CHECK(values_of(f, n, d) == numbers{0.5});
  CHECK(gradient_of(f, n, d) == numbers{0, 0.25});
  CHECK(gradient_of([f](auto y, auto x) { return f(x, y); }, d, n) == numbers{0, -0.125});
}

TEST_CASE("jvp: what is stopped is a constant", "[passes]") {
  const auto f = [](auto x) { return x * stop_gradient(x); };
  CHECK(values_of(f, scalar{3}) == numbers{9});
  CHECK(slope_of(f, scalar{3}) == numbers{3});
  CHECK(curvature_of(f, scalar{3}) == numbers{0});
}

// --- lengths -------------------------------------------------------------------------------------

TEST_CASE("jvp: the square root of a sum of squares has gradient 0 at 0", "[passes]") {
  const auto f = [](auto x) { return sqrt(sum(x * x)); };
  CHECK(are_near(gradient_of(f, vec2{3, 4}), {0.6, 0.8}));
  CHECK(gradient_of(f, vec2{0, 0}) == numbers{0, 0});
  CHECK(forward_of(f, vec2{0, 0}, vec2{1, 1}) == numbers{0});
}

TEST_CASE("jvp: the square root of a square is abs", "[passes]") {
  const vec3 x{-3, 0, 3};
  for (const numbers& slope : {slope_of([](auto v) { return sqrt(v * v); }, x),
                               slope_of([](auto v) { return sqrt(square(v)); }, x),
                               slope_of([](auto v) { return abs(v); }, x)}) {
    CHECK(slope == numbers{-1, 0, 1});
  }
  CHECK(curvature_of([](auto v) { return sqrt(v * v); }, x) == numbers{0, 0, 0});
}

// --- powers --------------------------------------------------------------------------------------

namespace {
/// x to the power y as one op, whatever ops/ would make of it.
constexpr auto raw_pow = [](const expr& x, const expr& y) {
  return expr(x.builder(), x.builder().binary(op::pow, x.id(), y.id()));
};
constexpr auto constant_pow = [](double exponent) {
  return [exponent](const expr& x) {
    ir::builder& b = x.builder();
    return expr(b, b.binary(op::pow, x.id(), b.splat(exponent, x.type())));
  };
};
}  // namespace

TEST_CASE("jvp: a constant exponent is of its class", "[passes]") {
  CHECK(slope_of(constant_pow(2), scalar{0}) == numbers{0});
  CHECK(curvature_of(constant_pow(2), scalar{0}) == numbers{2});
  CHECK(values_of(gradient_function(gradient_function(gradient_function(constant_pow(3)))),
                  scalar{0}) == numbers{6});
  CHECK(slope_of(constant_pow(1), scalar{0}) == numbers{1});
  CHECK(values_of(constant_pow(0), scalar{0}) == numbers{1});
  CHECK(slope_of(constant_pow(0), scalar{0}) == numbers{0});
  CHECK(slope_of(constant_pow(0.5), scalar{0}) == numbers{inf});
  CHECK(slope_of(constant_pow(1.5), scalar{0}) == numbers{0});
  CHECK(curvature_of(constant_pow(1.5), scalar{0}) == numbers{inf});
  CHECK(slope_of(constant_pow(-1), scalar{0}) == numbers{-inf});
  CHECK(slope_of(constant_pow(2), scalar{-3}) == numbers{-6});
  CHECK(slope_of(constant_pow(3), scalar{-3}) == numbers{27});
  CHECK(slope_of(constant_pow(-1), scalar{-2}) == numbers{-0.25});
  CHECK(std::isnan(slope_of(constant_pow(1.0 / 3), scalar{-8})[0]));
}

TEST_CASE("jvp: an exponent in a tensor is of the same class", "[passes]") {
  const vec5 exponents{0, 1, 2, 3, -1};
  const auto f = [](auto x, auto y) { return raw_pow(x, y); };
  CHECK(gradient_of(f, vec5{0, 0, 0, 0, 0}, exponents) == numbers{0, 1, 0, 0, -inf});
  CHECK(second_of(f, vec5{0, 0, 0, 0, -2}, exponents) == numbers{0, 0, 2, 0, -0.25});
  CHECK(gradient_of(f, vec5{-3, -3, -3, -3, -2}, exponents) == numbers{0, 1, -6, 27, -0.25});
}

TEST_CASE("jvp: by the exponent a power of 0 is flat", "[passes]") {
  const auto f = [](auto y, auto x) { return raw_pow(x, y); };
  CHECK(gradient_of(f, scalar{2}, scalar{0}) == numbers{0});
  CHECK(are_near(gradient_of(f, scalar{3}, scalar{2}), {5.545177444479562}));
  CHECK(are_near(second_of(f, scalar{3}, scalar{2}), {3.843624111345611}));
  const auto mixed = [](auto y, auto x) {
    return gradient_function([](auto v, auto e) { return raw_pow(v, e); })(x, y);
  };
  CHECK(are_near(values_of(mixed, scalar{3}, scalar{2}), {12}));
  CHECK(are_near(gradient_of(mixed, scalar{3}, scalar{2}), {12.317766166719344}));
}

// --- products ------------------------------------------------------------------------------------

TEST_CASE("jvp: a product with factors that are 0 is differentiated without division", "[passes]") {
  const auto f = [](auto x) { return prod(x); };
  CHECK(gradient_of(f, vec3{0, 2, 3}) == numbers{6, 0, 0});
  CHECK(gradient_of(f, vec3{-1, 2, -3}) == numbers{-6, 3, -2});
  CHECK(gradient_of(f, vec3{0, 0, 3}) == numbers{0, 0, 0});
  CHECK(forward_of(f, vec3{0, 2, 3}, vec3{1, 1, 1}) == numbers{6});
  // Hessian of x0 x1 x2 at [0, 0, 3], a row a direction
  const auto g = gradient_function(f);
  CHECK(forward_of(g, vec3{0, 0, 3}, vec3{1, 0, 0}) == numbers{0, 3, 0});
  CHECK(forward_of(g, vec3{0, 0, 3}, vec3{0, 1, 0}) == numbers{3, 0, 0});
  CHECK(forward_of(g, vec3{0, 0, 3}, vec3{0, 0, 1}) == numbers{0, 0, 0});
  const auto rows = [](auto x) { return sum(prod(x, 1)); };
  CHECK(gradient_of(rows, tensor<f64, 2, 2>{0, 2, 3, 0}) == numbers{2, 0, 0, 3});
}

TEST_CASE("jvp: a running product with factors that are 0 is right too", "[passes]") {
  const auto f = [](auto x) { return sum(cumprod(x)); };
  CHECK(gradient_of(f, vec3{0, 2, 3}) == numbers{9, 0, 0});
  CHECK(gradient_of(f, vec3{2, 3, 0}) == numbers{4, 2, 6});
}

// --- saturation ----------------------------------------------------------------------------------

TEST_CASE("jvp: the derivative of tanh has all its digits in the tail", "[passes]") {
  const auto f = [](auto x) { return tanh(x); };
  const vec5 x{10, -10, 0, 300, -800};
  const numbers slope = slope_of(f, x);
  CHECK(are_near({slope[0], slope[1]}, {8.24461445576739e-9, 8.24461445576739e-9}, 1e-13));
  CHECK(slope[2] == 1);
  CHECK(are_near({slope[3]}, {4 * std::exp(-600.0)}, 1e-12));
  CHECK(slope[4] == 0);
  CHECK(curvature_of(f, vec3{0, 800, -800}) == numbers{0, 0, 0});
  const auto third = gradient_function(gradient_function(gradient_function(f)));
  CHECK(values_of(third, scalar{0}) == numbers{-2});
}

TEST_CASE("jvp: the logistic function saturates to exactly 0 on both sides", "[passes]") {
  const auto f = [](auto x) { return sigmoid(x); };
  const numbers slope = slope_of(f, vec4{800, -800, -40, 40});
  CHECK(slope[0] == 0);
  CHECK(slope[1] == 0);
  CHECK(are_near({slope[2], slope[3]}, {4.248354255291589e-18, 4.248354255291589e-18}, 1e-13));
}

TEST_CASE("jvp: log(1 + exp x) by hand is differentiated in its safe form", "[passes]") {
  const auto f = [](auto x) { return log(1.0 + exp(x)); };
  const numbers slope = slope_of(f, vec3{1000, -40, 0});
  CHECK(slope[0] == 1);
  CHECK(are_near({slope[1]}, {4.248354255291589e-18}, 1e-13));
  CHECK(slope[2] == 0.5);
  CHECK(curvature_of(f, vec2{1000, 0}) == numbers{0, 0.25});
}

TEST_CASE("jvp: log(sum(exp x)) by hand is differentiated as logsumexp", "[passes]") {
  const auto f = [](auto x) { return log(sum(exp(x))); };
  CHECK(are_near(gradient_of(f, vec2{1000, 1000}), {0.5, 0.5}));
  CHECK(are_near(forward_of(gradient_function(f), vec2{0, 0}, vec2{1, 0}), {0.25, -0.25}));
  const auto by_hand = [](auto x, auto weights) {
    return sum(weights * log(exp(x) / sum(exp(x))));
  };
  CHECK(are_near(gradient_of(by_hand, vec2{-1000, 1000}, vec2{1, 0}), {1, -1}));
  const auto library = [](auto x, auto weights) { return sum(weights * log(softmax(x))); };
  CHECK(are_near(gradient_of(library, vec2{-1000, 1000}, vec2{1, 0}), {1, -1}));
}

TEST_CASE("jvp: logsumexp of rows that are -inf has gradient 0 there", "[passes]") {
  const auto raw = [](auto x) {
    ir::builder& b = x.builder();
    return expr(b, b.reduce(op::reduce_logsumexp, x.id(), 1));
  };
  CHECK(values_of(raw, vec2{1000, 1000}) == numbers{1000.6931471805599});
  CHECK(are_near(gradient_of(raw, vec2{1000, 1000}), {0.5, 0.5}));
  CHECK(gradient_of(raw, vec2{-inf, 0}) == numbers{0, 1});
  CHECK(gradient_of(raw, vec2{-inf, -inf}) == numbers{0, 0});
  CHECK(are_near(forward_of(gradient_function(raw), vec2{0, 0}, vec2{1, 0}), {0.25, -0.25}));
}

// --- ties and kinks ------------------------------------------------------------------------------

TEST_CASE("jvp: equal operands of a maximum share evenly", "[passes]") {
  CHECK(slope_of([](auto x) { return max(x, x); }, scalar{3.14}) == numbers{1});
  CHECK(slope_of([](auto x) { return max(x, 0.0) + min(x, 0.0); }, scalar{0}) == numbers{1});
  CHECK(slope_of([](auto x) { return max(x, 0.0); }, vec3{-1, 0, 1}) == numbers{0, 0.5, 1});
  CHECK(slope_of([](auto x) { return where(x > 0, x, 0.0); }, scalar{0}) == numbers{0});
  CHECK(slope_of([](auto x) { return max(x, -x); }, vec3{-1, 0, 1}) == numbers{-1, 0, 1});
  CHECK(slope_of([](auto x) { return abs(x); }, vec3{-1, 0, 1}) == numbers{-1, 0, 1});
  CHECK(slope_of([](auto x) { return clip(x, 0, 1); }, vec5{-1, 0, 0.5, 1, 2}) ==
        numbers{0, 1, 1, 1, 0});
  CHECK(slope_of([](auto x) { return min(max(x, 0.0), 1.0); }, vec5{-1, 0, 0.5, 1, 2}) ==
        numbers{0, 0.5, 1, 0.5, 0});
}

TEST_CASE("jvp: equal elements of a reduction share evenly", "[passes]") {
  const auto most = [](auto x) { return reduce_max(x); };
  CHECK(gradient_of(most, vec4{1, 3, 3, 2}) == numbers{0, 0.5, 0.5, 0});
  CHECK(forward_of(most, vec4{1, 3, 3, 2}, vec4{0, 1, 3, 0}) == numbers{2});
  CHECK(gradient_of(most, vec3{4, 4, 4}) == numbers{1.0 / 3, 1.0 / 3, 1.0 / 3});
  CHECK(gradient_of([](auto x) { return reduce_min(x); }, vec3{2, 2, 5}) == numbers{0.5, 0.5, 0});
}

TEST_CASE("jvp: steps are flat, also between them", "[passes]") {
  for (const auto& slope : {slope_of([](auto x) { return floor(x); }, vec3{0, 0.5, 1}),
                            slope_of([](auto x) { return round(x); }, vec3{0, 0.5, 1}),
                            slope_of([](auto x) { return sign(x); }, vec3{0, 0.5, 1})}) {
    CHECK(slope == numbers{0, 0, 0});
  }
}

TEST_CASE("jvp: the angle at the origin has derivative 0", "[passes]") {
  const auto f = [](auto x) { return atan2(x, x * 0.0); };
  CHECK(slope_of(f, scalar{0}) == numbers{0});
}

TEST_CASE("jvp: an output that does not depend on the inputs has a symbolic zero", "[passes]") {
  const auto b = oracle::make_builder();
  const int x = b->parameter({dtype::f64, {}});
  const int v = b->variable(x);
  const int whole = b->convert(v, dtype::i32);
  passes::ids inputs{};
  passes::ids tangents{};
  passes::ids outputs{};
  passes::ids result{};
  inputs.push(v);
  tangents.push(x);
  outputs.push(x);
  outputs.push(whole);
  outputs.push(v);
  outputs.push(b->convert(whole, dtype::f64));
  const int before = b->g.num_nodes;
  passes::jvp(*b, outputs, inputs, tangents, result);
  CHECK(result[0] == ir::no_node);
  CHECK(result[1] == ir::no_node);
  CHECK(result[2] == x);
  CHECK(result[3] == ir::no_node);
  CHECK(b->g.num_nodes == before);
}
