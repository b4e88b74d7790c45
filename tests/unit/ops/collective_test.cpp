// unit/ops/collective_test.cpp: collectives of the lanes of a vmap: values, adjoints, sentences.
// SPDX-License-Identifier: MIT
#include "atled/ops/collective.hpp"

#include "atled/ops/creation.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/vjp.hpp"
#include "atled/transform/vmap.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using mat22 = tensor<f64, 2, 2>;

constexpr auto lane = axis<"lane">;
constexpr auto named = axis_name<"lane">;

/// The first error of a trace, without its line.
template <class... Args, class F>
std::string problem_of(F f) {
  return sentence_of<Args...>(f);
}

/// <ct, J dx> and <J^T ct, dx> of `f` inside lanes, all of them together.
template <class F, class T, class Ct>
void check_adjoint(F f, const T& x, const T& dx, const Ct& ct) {
  const auto products = [f](auto all, auto d_all, auto d_out) {
    const auto along = vmap([f](auto v, auto dv, auto c) { return sum(c * jvp(f, v, dv).second); },
                            named)(all, d_all, d_out);
    const auto back =
        vmap([f](auto v, auto dv, auto c) { return sum(std::get<0>(vjp(f, v).second(c)) * dv); },
             named)(all, d_all, d_out);
    return std::pair(sum(along), sum(back));
  };
  const auto out = all_values(products, x, dx, ct);
  CHECK(are_near(out[0], out[1]));
}
}  // namespace

TEST_CASE("psum, pmean, pmax, pmin: all lanes as one value", "[ops]") {
  const vec3 x{1, 2, 6};
  const auto f = [](auto v) {
    return std::tuple(psum(v, lane), pmean(v, lane), pmax(v, lane), pmin(v, lane));
  };
  CHECK(all_values(vmap(f, named), x) ==
        std::vector<numbers>{{9, 9, 9}, {3, 3, 3}, {6, 6, 6}, {1, 1, 1}});
  CHECK(all_values(vmap(f, named, out_axes<none>), x) ==
        std::vector<numbers>{{9}, {3}, {6}, {1}});  // they share them
  CHECK(values_of(vmap([](auto v) { return v - pmean(v, lane); }, named), vec3{1, 2, 3}) ==
        numbers{-1, 0, 1});
}

TEST_CASE("psum: of a value that lanes share, as many times that value", "[ops]") {
  const auto f = [](auto, auto w) { return psum(w, lane) + pmax(w, lane); };
  CHECK(values_of(vmap(f, in_axes<0, none>, out_axes<none>, named), vec3{1, 2, 3}, scalar{5}) ==
        numbers{20});
}

TEST_CASE("psum: a tree is summed leaf by leaf, booleans are counted, integers have a mean",
          "[ops]") {
  const auto f = [](auto v) { return psum(std::pair(v, v > 1.5), lane); };
  CHECK(all_values(vmap(f, named, out_axes<none>), vec3{1, 2, 3}) ==
        std::vector<numbers>{{6}, {2}});
  CHECK(values_of(vmap([](auto v) { return pmean(v, lane); }, named, out_axes<none>),
                  tensor<i32, 2>{1, 2}) == numbers{1.5});
}

TEST_CASE("axis_index and axis_size: the number of a lane, and of all", "[ops]") {
  const auto f = [](auto v) { return v * axis_size(v, lane) + axis_index(v, lane); };
  CHECK(values_of(vmap(f, named), vec3{1, 1, 1}) == numbers{3, 4, 5});
}

TEST_CASE("all_gather, psum_scatter, all_to_all: lanes become places, and places lanes", "[ops]") {
  const tensor<f64, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto gathered = [](auto v) { return all_gather(v, lane); };
  CHECK(values_of(vmap(gathered, named, out_axes<none>), x) == numbers{1, 2, 3, 4, 5, 6});
  CHECK(values_of(vmap([](auto v) { return all_gather(v, lane, -1); }, named, out_axes<none>), x) ==
        numbers{1, 4, 2, 5, 3, 6});
  const auto tiled = [](auto v) { return all_gather(v, lane, 0, true); };
  CHECK(types_of<tensor<f32, 2, 3>>(vmap(tiled, named)).view() == "f32[2,6]");
  const mat22 y{{1, 2}, {3, 4}};
  CHECK(values_of(vmap([](auto v) { return psum_scatter(v, lane); }, named), y) == numbers{4, 6});
  CHECK(values_of(vmap([](auto v) { return all_to_all(v, lane); }, named), y) ==
        numbers{1, 3, 2, 4});
  const auto scattered = [](auto v) { return psum_scatter(v, lane, 0, true); };
  CHECK(values_of(vmap(scattered, named), tensor<f64, 2, 4>{{1, 2, 3, 4}, {10, 20, 30, 40}}) ==
        numbers{11, 22, 33, 44});
}

TEST_CASE("ppermute: a lane that receives nothing has zeros", "[ops]") {
  const vec3 x{1, 2, 3};
  CHECK(values_of(vmap(
                      [](auto v) {
                        return ppermute(v, lane, {{0, 1}, {2, 0}});
                      },
                      named),
                  x) == numbers{3, 1, 0});
  CHECK(values_of(vmap([](auto v) { return pshift(v, lane); }, named), x) == numbers{3, 1, 2});
  CHECK(values_of(vmap([](auto v) { return pshift(v, lane, -1); }, named), x) == numbers{2, 3, 1});
}

TEST_CASE("ppermute: many lanes in no order", "[ops]") {
  tensor<f64, 130> x;
  for (int i = 0; i < 130; ++i) x(i) = i;
  const auto shuffled = [](auto v) { return pshift(pshift(v, lane, 7), lane, 20); };
  const auto out = values_of(vmap(shuffled, named), x);
  for (int i = 0; i < 130; ++i) CHECK(out[static_cast<std::size_t>((i + 27) % 130)] == i);
  const auto exchanged = [](auto v) {
    return ppermute(v, lane, {{0, 129}, {129, 0}, {64, 65}, {65, 64}});
  };
  const auto pairs = values_of(vmap(exchanged, named), x);
  CHECK(pairs[0] == 129);
  CHECK(pairs[129] == 0);
  CHECK(pairs[64] == 65);
  CHECK(pairs[1] == 0);
}

TEST_CASE("collectives: each is the adjoint of its adjoint, inside lanes", "[ops]") {
  const tensor<f64, 3, 3, 2> x{
      {{1, 2}, {3, 4}, {5, 6}}, {{0, 1}, {0, 2}, {7, 8}}, {{2, 2}, {-3, 3}, {9, 1}}};
  const tensor<f64, 3, 3, 2> dx{
      {{3, 1}, {4, 1}, {5, 9}}, {{2, 6}, {5, 3}, {5, 8}}, {{9, 7}, {9, 3}, {2, 3}}};
  const auto& same = dx;
  check_adjoint([](auto v) { return psum(v, lane); }, x, dx, same);
  check_adjoint([](auto v) { return sin(v) * pmean(v * v, lane); }, x, dx, same);
  check_adjoint([](auto v) { return pmax(v, lane) * v; }, x, dx, same);
  check_adjoint([](auto v) { return pmin(v, lane) + psum(v, lane) * v; }, x, dx, same);
  check_adjoint([](auto v) { return sum(all_gather(v, lane, 1) * 2.0, 1); }, x, dx, same);
  check_adjoint([](auto v) { return sum(all_gather(v, lane), 0) * v; }, x, dx, same);
  check_adjoint([](auto v) { return v * psum_scatter(v, lane); }, x, dx, same);
  check_adjoint([](auto v) { return all_to_all(v * v, lane); }, x, dx, same);
  check_adjoint([](auto v) { return ppermute(v, lane, {{0, 2}, {1, 0}}); }, x, dx, same);
  check_adjoint([](auto v) { return psum(ones_like(v), lane) * v; }, x, dx, same);
  check_adjoint([](auto v) { return psum(psum(v, lane) * 2.0, lane) * v; }, x, dx, same);
  check_adjoint([](auto v) { return sum(all_gather(psum(v, lane), lane), 0) * v; }, x, dx, same);
}

// The value of a lane's L is shared by all; w is shared, d and x differ.

TEST_CASE("grad: of a sum over lanes by a value that they share", "[ops]") {
  const auto f = [](auto w, auto d) { return psum((w * w + 1.0) * d, lane); };
  const auto both = vmap(value_and_grad(f), in_axes<none, 0>, named);
  CHECK(all_values(both, scalar{1}, vec2{0, 1}) == std::vector<numbers>{{2, 2}, {2, 2}});
  const auto g = [](auto w, auto d) { return pmean(w * d, lane); };
  CHECK(all_values(vmap(value_and_grad(g), in_axes<none, 0>, named), scalar{2}, vec2{1, 5}) ==
        std::vector<numbers>{{6, 6}, {3, 3}});
}

TEST_CASE("grad: through gathered, scattered and permuted lanes", "[ops]") {
  const auto weights = [](auto x) { return axis_index(x, lane) + 1.0; };
  const auto f = [weights](auto x) {
    const auto y = all_gather(x, lane);
    return psum(weights(x) * sum(y * (arange(x, 2, dtype::f64) + 1.0)), lane);
  };
  CHECK(values_of(vmap(grad(f), named), vec2{7, 8}) == numbers{3, 6});
  const auto g = [](auto x, auto c) { return psum(c * psum_scatter(x, lane), lane); };
  CHECK(all_values(vmap(value_and_grad(g), named), mat22{{1, 2}, {3, 4}}, vec2{10, 1}) ==
        std::vector<numbers>{{46, 46}, {10, 1, 10, 1}});
  const auto h = [weights](auto x) { return psum(weights(x) * pshift(x, lane), lane); };
  CHECK(values_of(vmap(grad(h), named), vec2{7, 8}) == numbers{2, 1});
  const auto k = [](auto x, auto c) { return psum(sum(c * all_to_all(x, lane)), lane); };
  CHECK(values_of(vmap(grad(k), named), mat22{{1, 2}, {3, 4}}, mat22{{10, 20}, {30, 40}}) ==
        numbers{10, 30, 20, 40});
}

TEST_CASE("grad: equal largest lanes share the gradient", "[ops]") {
  const auto f = [](auto x) { return pmax(x, lane); };
  CHECK(values_of(vmap(grad(f), named), vec2{2, 2}) == numbers{0.5, 0.5});
  CHECK(values_of(vmap(grad(f), named), vec2{2, 3}) == numbers{0, 1});
}

TEST_CASE("grad: a safe logarithm of a sum of exponentials over lanes", "[ops]") {
  const auto f = [](auto x) {
    const auto most = pmax(x, lane);
    return log(psum(exp(x - stop_gradient(most)), lane)) + stop_gradient(most);
  };
  const auto out = all_values(vmap(value_and_grad(f), named), vec2{1000, 1000});
  CHECK(are_near(out[0], {1000.6931471805599, 1000.6931471805599}));
  CHECK(are_near(out[1], {0.5, 0.5}));
}

TEST_CASE("grad: an axis with a name does not change the gradient of each example", "[ops]") {
  const auto f = [](auto w, auto x) { return sum(w * x); };
  const tensor<f64, 3, 2> x{{1, 2}, {3, 4}, {5, 6}};
  CHECK(values_of(vmap(grad(f), in_axes<none, 0>, named), vec2{1, 1}, x) ==
        numbers{1, 2, 3, 4, 5, 6});
  // the mean over lanes of the examples' gradients is that of the mean
  const auto mean_gradient = [f](auto w, auto v) { return pmean(grad(f)(w, v), lane); };
  const auto of_mean = [f](auto w, auto v) { return pmean(f(w, v), lane); };
  const auto first = vmap(mean_gradient, in_axes<none, 0>, out_axes<none>, named);
  const auto second = vmap(grad(of_mean), in_axes<none, 0>, out_axes<none>, named);
  CHECK(values_of(first, vec2{1, 1}, x) == numbers{3, 4});
  CHECK(values_of(second, vec2{1, 1}, x) == numbers{3, 4});
}

TEST_CASE("grad: outside of the lanes it is that of the whole function", "[ops]") {
  const auto f = [](auto x) {
    return sum(vmap([](auto v) { return v * v * pmean(v, lane); }, named)(x));
  };
  // L = sum(x^2) mean(x), dL/dx = 2 x mean(x) + sum(x^2) / 3
  CHECK(are_near(values_of(grad(f), vec3{1, 2, 3}), {4 + 14.0 / 3, 8 + 14.0 / 3, 12 + 14.0 / 3}));
}

TEST_CASE("collectives: names nest, and the inner one hides the outer of the same name", "[ops]") {
  const tensor<f64, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto f = [](auto v) {
    return std::tuple(psum(v, axis<"row">), psum(v, axis<"column">),
                      psum(psum(v, axis<"row">), axis<"column">));
  };
  const auto both = vmap(vmap(f, axis_name<"column">, out_axes<0, none, none>), axis_name<"row">,
                         out_axes<none, 0, none>);
  CHECK(all_values(both, x) == std::vector<numbers>{{5, 7, 9}, {6, 15}, {21}});
  const auto g = [](auto v) { return psum(v, lane); };
  CHECK(values_of(vmap(vmap(g, named), named), x) == numbers{6, 6, 6, 15, 15, 15});
  const auto gathered = [](auto v) { return all_gather(v, axis<"row">, 0); };
  CHECK(values_of(vmap(vmap(gathered), axis_name<"row">), x) ==
        numbers{1, 4, 2, 5, 3, 6, 1, 4, 2, 5, 3, 6});
}

TEST_CASE("pmap: vmap by another name", "[ops]") {
  CHECK(values_of(pmap([](auto v) { return v - pmean(v, axis<"ranks">); }, axis_name<"ranks">),
                  vec3{1, 2, 3}) == numbers{-1, 0, 1});
}

TEST_CASE("collectives: an axis that nobody names is refused", "[ops]") {
  CHECK(problem_of<vec3>([](auto x) { return psum(x, axis<"batch">); }) ==
        "psum: axis batch: no vmap around this call names it by axis_name");
  CHECK(problem_of<tensor<f64, 2, 3>>(
            vmap(vmap([](auto v) { return pmean(v, axis<"batch">); }, named), axis_name<"row">)) ==
        "pmean: axis batch: no vmap around this call names it by axis_name; named are row, lane");
  CHECK(problem_of<vec3>([](auto x) {
          return vmap([](auto v) { return v; }, named)(x) + psum(x, lane);
        }) == "psum: axis lane: no vmap around this call names it by axis_name");
}

TEST_CASE("collectives: arguments that do not fit the lanes are refused", "[ops]") {
  CHECK(problem_of<tensor<f64, 2, 3>>(vmap([](auto v) { return psum_scatter(v, lane); }, named)) ==
        "psum_scatter: f64[3]: axis 0 must have one place for each lane of lane, 2");
  CHECK(problem_of<tensor<f64, 2, 3>>(
            vmap([](auto v) { return psum_scatter(v, lane, 0, true); }, named)) ==
        "psum_scatter: f64[3]: axis 0 must be divisible by the 2 lanes of lane");
  CHECK(problem_of<vec2>(vmap(
            [](auto v) {
              return ppermute(v, lane, {{0, 1}, {1, 1}});
            },
            named)) == "ppermute: lane 1 to lane 1 of 2: each lane may send once and receive once");
  CHECK(problem_of<vec2>(vmap([](auto v) { return all_gather(v, lane, 1); }, named)) ==
        "all_gather: f64[2] along axis 1: the axis must be from -1 to 0");
}
