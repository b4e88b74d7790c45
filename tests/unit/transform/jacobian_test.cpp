// unit/transform/jacobian_test.cpp: jacfwd, jacrev, hessian: axes, trees, agreement, sentences.
// SPDX-License-Identifier: MIT
#include "atled/transform/jacobian.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/ops/reshape.hpp"
#include "atled/transform/jvp.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/ops/traced.hpp"

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

TEST_CASE("jacfwd and jacrev: the axes of the output, then those of the argument", "[transform]") {
  const auto f = [](auto x, auto w) { return sin(matmul(w, x)); };
  const vec3 x{0.1, 0.2, 0.3};
  const tensor<f64, 2, 3> w{{1, 2, 3}, {-1, 0, 2}};
  const auto forward = values_of(jacfwd(f), x, w);
  // cos(w x) w, w x = (1.4, 0.5)
  const double a = std::cos(1.4);
  const double b = std::cos(0.5);
  CHECK(are_near(forward, {a, 2 * a, 3 * a, -b, 0, 2 * b}));
  CHECK(are_near(values_of(jacrev(f), x, w), forward));
  CHECK(types_of<vec3, tensor<f64, 2, 3>>(jacrev(f, argnums<1>)).view() == "f64[2,2,3]");
  CHECK(are_near(values_of(jacfwd(f, argnums<1>), x, w), values_of(jacrev(f, argnums<1>), x, w)));
}

TEST_CASE("jacfwd and jacrev: each output by each argument", "[transform]") {
  // (x, y) -> (x y, x^2, y) at (2, 3)
  const auto f = [](auto x, auto y) { return std::tuple(x * y, x * x, y); };
  const std::vector<numbers> rows{{3}, {2}, {4}, {0}, {0}, {1}};
  CHECK(all_values(jacfwd(f, argnums<0, 1>), scalar{2}, scalar{3}) == rows);
  CHECK(all_values(jacrev(f, argnums<0, 1>), scalar{2}, scalar{3}) == rows);
}

TEST_CASE("hessian: of one argument, and of two as a tuple of tuples", "[transform]") {
  const auto f = [](auto x, auto y) { return x * x * y * y * y; };
  CHECK(all_values(hessian(f, argnums<0, 1>), scalar{2}, scalar{3}) ==
        std::vector<numbers>{{54}, {108}, {108}, {72}});
  const auto g = [](auto x) { return sum(where(x > 0.0, x * sqrt(x), 0.0)); };
  CHECK(values_of(hessian(g), vec2{0, 4}) == numbers{0, 0, 0, 0.375});
  const auto length = [](auto x) { return norm(x); };
  CHECK(are_near(values_of(hessian(length), vec2{3, 4}), {0.128, -0.096, -0.096, 0.072}, 1e-12));
}

TEST_CASE("hessian: all nestings agree", "[transform]") {
  const auto f = [](auto x) { return sum(exp(x) * sin(sum(x) * x)); };
  const auto at = [](auto g) { return values_of(g, vec3{0.3, -0.2, 0.5}); };
  const auto expected = at(hessian(f));
  CHECK(are_near(at(jacrev(jacfwd(f))), expected, 1e-11));
  CHECK(are_near(at(jacrev(jacrev(f))), expected, 1e-11));
  CHECK(are_near(at(jacfwd(jacfwd(f))), expected, 1e-11));
}

TEST_CASE("jacobians: of and by trees", "[transform]") {
  const auto f = [](auto model, auto x) {
    const auto y = sum(model.slope * x) + model.offset;
    return std::pair(y * y, x * y);
  };
  const auto g = [f](auto slope, auto offset, auto x) {
    return std::pair(jacfwd(f)(line<tracing>{slope, offset}, x),
                     jacrev(f)(line<tracing>{slope, offset}, x));
  };
  const auto out = all_values(g, vec2{1, 2}, scalar{3}, vec2{10, 1});  // y = 15
  const std::vector<numbers> expected{{300, 30}, {30}, {100, 10, 10, 1}, {10, 1}};
  CHECK(std::vector<numbers>(out.begin(), out.begin() + 4) == expected);
  CHECK(std::vector<numbers>(out.begin() + 4, out.end()) == expected);
}

TEST_CASE("jacobians: called on tensors they run, also by models", "[transform]") {
  constexpr auto f = [](auto model, auto x) { return x * sum(model.slope * x) + model.offset; };
  const line<stacked<2>> rows = jacrev(f)(line<values>{{1, 2}, 3.0}, vec2{10, 1});
  CHECK(same_bits(rows.slope, tensor<f64, 2, 2>{{100, 10}, {10, 1}}));
  CHECK(same_bits(rows.offset, vec2{1, 1}));
  constexpr auto square_of = [](auto model) { return sum(square(model.slope)) * model.offset; };
  const auto [by_slope, by_offset] = hessian(square_of)(line<values>{{1, 2}, 3.0});
  CHECK(same_bits(by_slope.slope, tensor<f64, 2, 2>{{6, 0}, {0, 6}}));
  CHECK(same_bits(by_slope.offset, vec2{2, 4}));
  CHECK(same_bits(by_offset.slope, vec2{2, 4}));
  CHECK(by_offset.offset.item() == 0);
}

TEST_CASE("jacobians: an output that the argument does not change has zeros", "[transform]") {
  const auto f = [](auto x, auto y) { return std::pair(y, sum(x) * 0.5); };
  CHECK(all_values(jacfwd(f), vec2{1, 2}, vec3{1, 2, 3}) ==
        std::vector<numbers>{{0, 0, 0, 0, 0, 0}, {0.5, 0.5}});
  CHECK(all_values(jacrev(f), vec2{1, 2}, vec3{1, 2, 3}) ==
        std::vector<numbers>{{0, 0, 0, 0, 0, 0}, {0.5, 0.5}});
}

TEST_CASE("jacobians: with has_aux the rest of the result passes through", "[transform]") {
  const auto f = [](auto x, auto w) {
    const auto y = x * w;
    return std::pair(y * y, std::tuple(sum(y), w));
  };
  const std::vector<numbers> expected{{2, 0, 0, 64}, {9}, {1, 4}};
  CHECK(all_values(jacfwd(f, has_aux), vec2{1, 2}, vec2{1, 4}) == expected);
  CHECK(all_values(jacrev(f, has_aux), vec2{1, 2}, vec2{1, 4}) == expected);
  constexpr auto cube = [](auto x) { return std::pair(sum(x * x * x), sum(x)); };
  const auto [second, total] = hessian(cube, has_aux)(vec2{1, 2});
  CHECK(same_bits(second, tensor<f64, 2, 2>{{6, 0}, {0, 12}}));
  CHECK(total.item() == 3);
  const auto [gradients, totals] = vmap(jacrev(cube, has_aux))(tensor<f64, 2, 2>{{1, 2}, {0, 1}});
  CHECK(same_bits(gradients, tensor<f64, 2, 2>{{3, 12}, {0, 3}}));
  CHECK(same_bits(totals, vec2{3, 1}));
}

TEST_CASE("jacobians: what has none is refused", "[transform]") {
  CHECK(problem_of<tensor<f32, 3>>([](auto x) {
          return jacfwd([](auto v) { return convert(v, dtype::i32); })(x);
        }) == "jacfwd: output 0 is i32[3]: it must be of a floating type; convert it with astype");
  CHECK(problem_of<tensor<i32, 3>>(
            [](auto x) { return jacrev([](auto v) { return v * 2.0; })(x); }) ==
        "jacrev: argument 0 is i32[3]: it must be of a floating type; choose others with "
        "argnums");
  CHECK(problem_of<tensor<f32, 1, 1, 1, 1, 1>>(
            [](auto x) { return jacrev([](auto v) { return v * 2.0; })(x); }) ==
        "jacrev: output 0 is f32[1,1,1,1,1], an argument f32[1,1,1,1,1]: the derivative "
        "would have more than 8 axes");
}
