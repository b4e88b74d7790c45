// unit/transform/grad_test.cpp: grad and value_and_grad: options, trees, nesting, sentences.
// SPDX-License-Identifier: MIT
#include "atled/transform/grad.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <array>

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;

template <class K>
struct line {
  typename K::template leaf<f64, 2> slope;
  typename K::template leaf<f64> offset;
  ATLED_TREE(line, slope, offset)
  constexpr auto operator()(auto x) const { return sum(slope * x) + offset; }
};

template <class K>
struct counted {
  typename K::template leaf<f64> weight;
  typename K::template leaf<i32> steps;
  ATLED_TREE(counted, weight, steps)
};

/// The first error of a trace, of a function of these arguments.
template <class... Args, class F>
std::string problem_of(F f) {
  const auto b = oracle::make_builder();
  std::tuple<traced_t<Args>...> arguments{ir::make_parameters<Args>(*b)...};
  std::apply([&](auto&... argument) { return f(argument...); }, arguments);
  return std::string(b->problem.view());
}
}  // namespace

TEST_CASE("grad: the gradient has the structure of the argument", "[transform]") {
  constexpr auto loss = [](auto model, auto x) { return square(model(x) - 1.0); };
  const auto b = oracle::make_builder();
  auto model = ir::make_parameters<line<values>>(*b);
  auto x = ir::make_parameters<vec2>(*b);
  const line<tracing> gradient = grad(loss)(model, x);
  ir::set_outputs(*b, gradient);
  const auto out =
      oracle::interpret(b->g, {array_of(vec2{1, 2}), array_of(scalar{3}), array_of(vec2{10, 100})});
  // d = 1 * 10 + 2 * 100 + 3 - 1 = 212, gradient 2 d x and 2 d
  CHECK(out[0].reals == numbers{4240, 42400});
  CHECK(out[1].reals == numbers{424});
}

TEST_CASE("grad: argnums names what to differentiate by", "[transform]") {
  const auto f = [](auto x, auto y, auto z) { return x * y * y * z; };
  CHECK(values_of(grad(f), scalar{2}, scalar{3}, scalar{5}) == numbers{45});
  CHECK(values_of(grad(f, argnums<1>), scalar{2}, scalar{3}, scalar{5}) == numbers{60});
  const auto both = all_values(grad(f, argnums<2, 0>), scalar{2}, scalar{3}, scalar{5});
  CHECK(both == std::vector<numbers>{{18}, {45}});
}

TEST_CASE("value_and_grad: value, gradient, and what else the function knows", "[transform]") {
  const auto f = [](auto x) { return std::pair(x * x, x + 1.0); };
  CHECK(all_values(value_and_grad(f, has_aux), scalar{3}) ==
        std::vector<numbers>{{9}, {4}, {6}});  // ((value, aux), gradient)
  CHECK(all_values(grad(f, has_aux), scalar{3}) == std::vector<numbers>{{6}, {4}});
  const auto g = [](auto x, auto y) { return x * y; };
  CHECK(all_values(value_and_grad(g, argnums<0, 1>), scalar{3}, scalar{4}) ==
        std::vector<numbers>{{12}, {4}, {3}});
}

TEST_CASE("grad: arguments may be tuples, pairs and arrays", "[transform]") {
  const auto f = [](auto x) { return std::get<0>(x) * std::get<1>(x).first * std::get<2>(x)[1]; };
  const auto g = [f](auto a, auto b, auto c) {
    return grad(f)(std::tuple(a, std::pair(b, c), std::array{a, c}));
  };
  CHECK(all_values(g, scalar{2}, scalar{3}, scalar{5}) ==
        std::vector<numbers>{{15}, {10}, {0}, {0}, {6}});
}

TEST_CASE("grad: an argument that does not matter has gradient zero, also of a plain number",
          "[transform]") {
  CHECK(values_of(grad([](auto, auto y) { return sum(y); }), vec3{1, 2, 3}, vec2{1, 2}) ==
        numbers{0, 0, 0});
  CHECK(values_of(grad([](auto) { return 3.0; }), vec2{1, 2}) == numbers{0, 0});
}

TEST_CASE("grad: inner and outer variables do not mix", "[transform]") {
  // d/dx [x * d/dy (x + y) at y = 1] at x = 1 is 1
  const auto f = [](auto x) { return x * grad([x](auto y) { return x + y; })(x * 0.0 + 1.0); };
  CHECK(values_of(grad(f), scalar{1}) == numbers{1});
  // the same where the inner point is the outer variable itself
  const auto g = [](auto x) { return x * grad([x](auto y) { return x * y; })(x); };
  CHECK(values_of(grad(g), scalar{3}) == numbers{6});  // x * x
  const auto h = [](auto x) { return grad([x](auto y) { return x * y * y; })(x); };
  CHECK(values_of(grad(h), scalar{3}) == numbers{12});  // 2 x^2
}

TEST_CASE("grad: it nests to any order", "[transform]") {
  const auto e = [](auto x) { return exp(2.0 * x); };
  CHECK(values_of(grad(grad(grad(grad(e)))), scalar{0}) == numbers{16});
  const auto f = [](auto x) { return sin(x * x); };
  CHECK(are_near(values_of(grad(grad(f)), scalar{1}), {-2.285279327495307}));
  const auto t = [](auto x) { return tanh(x); };
  CHECK(values_of(grad(t), scalar{0}) == numbers{1});
  CHECK(values_of(grad(grad(t)), scalar{0}) == numbers{0});
  CHECK(values_of(grad(grad(grad(t))), scalar{0}) == numbers{-2});
}

TEST_CASE("grad: a value that is used twice, and one that is read on the way, count once",
          "[transform]") {
  const auto tied = [](auto w) { return w * (w * 1.0); };
  CHECK(values_of(grad(tied), scalar{3}) == numbers{6});
  const auto watched = [](auto x) {
    const auto middle = x * x;
    return std::pair(middle * x, middle);
  };
  CHECK(all_values(grad(watched, has_aux), scalar{2}) == std::vector<numbers>{{12}, {4}});
}

TEST_CASE("grad: a gradient has the element type of its argument", "[transform]") {
  const auto f = [](auto x) { return sum(convert(convert(x, dtype::bf16), dtype::f32)); };
  CHECK(types_of<tensor<f32, 3>>(grad(f)).view() == "f32[3]");
  CHECK(values_of(grad(f), tensor<f32, 3>{1, 2, 3}) == numbers{1, 1, 1});
}

TEST_CASE("grad: a value that is no floating scalar is refused with its line", "[transform]") {
  const auto f = [](auto x) { return x * 2.0; };
  const int line = __LINE__ - 1;
  CHECK(problem_of<tensor<f32, 8>>([=](auto x) { return grad(f)(x); }) ==
        "grad_test.cpp:" + std::to_string(line) +
            ": grad: output 0 is f32[8]: it must be a scalar; use vjp, or sum it");
  const auto g = [](auto x) { return convert(sum(x), dtype::i32); };
  CHECK(problem_of<tensor<f32, 8>>([=](auto x) { return value_and_grad(g)(x); }) ==
        "grad_test.cpp:" + std::to_string(line + 5) +
            ": value_and_grad: output 0 is i32[]: it must be of a floating type; convert it with "
            "astype");
}

TEST_CASE("grad: an integer to differentiate by is refused with its place", "[transform]") {
  const auto f = [](auto, auto n) { return sum(n * 1.0); };
  CHECK(problem_of<tensor<f32>, tensor<i32, 3>>(
            [=](auto x, auto n) { return grad(f, argnums<1>)(x, n); }) ==
        "grad: argument 1 is i32[3]: it must be of a floating type; choose others with argnums");
  const auto g = [](auto model) { return model.weight * 2.0; };
  CHECK(problem_of<counted<values>>([=](auto model) { return grad(g)(model); }) ==
        "grad: argument 0 leaf steps is i32[]: it must be of a floating type; choose others with "
        "argnums");
}

TEST_CASE("grad: called on tensors it runs", "[transform]") {
  constexpr auto f = [](auto x) { return sum(x * x * x); };
  const vec3 x{1, 2, -3};
  const vec3 gradient = grad(f)(x);
  CHECK(gradient(0) == 3);
  CHECK(gradient(1) == 12);
  CHECK(gradient(2) == 27);
  const auto [value, again] = value_and_grad(f)(x);
  CHECK(static_cast<double>(value) == -18);
  CHECK(again(2) == 27);
}
