// unit/transform/vmap_test.cpp: vmap: axes, trees, nesting with other transformations, sentences.
// SPDX-License-Identifier: MIT
#include "atled/transform/vmap.hpp"

#include "atled/ops/dynamic_slice.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/index.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/vjp.hpp"

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

constexpr auto product = [](auto x, auto y) { return x * y; };
constexpr auto squared_error = [](auto w, auto x, auto y) { return square(sum(w * x) - y); };

/// The first error of a trace, of a function of these arguments.
template <class... Args, class F>
std::string problem_of(F f) {
  const auto b = oracle::make_builder();
  std::tuple<traced_t<Args>...> arguments{ir::make_parameters<Args>(*b)...};
  std::apply([&](auto&... argument) { return f(argument...); }, arguments);
  return std::string(b->problem.view());
}
}  // namespace

TEST_CASE("vmap: row i of the result is the function of row i", "[transform]") {
  CHECK(values_of(vmap(product), vec3{1, 2, 3}, vec3{10, 100, 1000}) == numbers{10, 200, 3000});
  const auto f = [](auto x) { return std::pair(sum(x), x + 1.0); };
  CHECK(all_values(vmap(f), tensor<f64, 2, 3>{{1, 2, 3}, {4, 5, 6}}) ==
        std::vector<numbers>{{6, 15}, {2, 3, 4, 5, 6, 7}});
}

TEST_CASE("vmap: in_axes says along which axis, and none shares", "[transform]") {
  const tensor<f64, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto f = [](auto v, auto w) { return sum(v * w); };
  CHECK(values_of(vmap(f, in_axes<0, none>), x, vec3{1, 10, 100}) == numbers{321, 654});
  CHECK(values_of(vmap(f, in_axes<1, none>), x, vec2{1, 10}) == numbers{41, 52, 63});
  CHECK(values_of(vmap(f, in_axes<-1, none>), x, vec2{1, 10}) == numbers{41, 52, 63});
  CHECK(values_of(vmap(f, in_axes<1>), x, x) == numbers{17, 29, 45});  // one for both
}

TEST_CASE("vmap: out_axes says which axis of the result counts the lanes", "[transform]") {
  const tensor<f64, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  const auto twice = [](auto v) { return v * 2.0; };
  CHECK(values_of(vmap(twice, out_axes<1>), x) == numbers{2, 8, 4, 10, 6, 12});
  CHECK(values_of(vmap(twice, in_axes<1>, out_axes<-1>), x) == numbers{2, 4, 6, 8, 10, 12});
  const auto f = [](auto v, auto w) { return std::tuple(v * 2.0, w + w, v * w); };
  CHECK(all_values(vmap(f, in_axes<0, none>, out_axes<1, none, 0>), x, vec3{1, 2, 3}) ==
        std::vector<numbers>{{2, 8, 4, 10, 6, 12}, {2, 4, 6}, {1, 4, 9, 4, 10, 18}});
}

TEST_CASE("vmap: a tree takes one axis for all its leaves, or one for each member", "[transform]") {
  const auto f = [](auto model, auto x) { return sum(model.slope * x) + model.offset; };
  const auto g = [f](auto slope, auto offset, auto x) {
    line<tracing> model{slope, offset};
    return std::pair(vmap(f, in_axes<0, none>)(model, x),
                     vmap(f, in_axes<each<0, none>, none>)(line<tracing>{slope, sum(offset)}, x));
  };
  CHECK(all_values(g, tensor<f64, 3, 2>{{1, 0}, {0, 1}, {1, 1}}, vec3{1, 2, 3}, vec2{10, 100}) ==
        std::vector<numbers>{{11, 102, 113}, {16, 106, 116}});
}

TEST_CASE("vmap: what no lane changes is repeated, also a plain number", "[transform]") {
  const auto f = [](auto, auto w) { return std::tuple(w * 2.0, 7.0); };
  CHECK(all_values(vmap(f, in_axes<0, none>), vec3{1, 2, 3}, vec2{1, 2}) ==
        std::vector<numbers>{{2, 4, 2, 4, 2, 4}, {7, 7, 7}});
}

TEST_CASE("vmap: vmap in vmap maps two axes", "[transform]") {
  const auto outer = vmap(vmap(product, in_axes<none, 0>), in_axes<0, none>);
  CHECK(values_of(outer, vec2{1, 2}, vec3{3, 4, 5}) == numbers{3, 4, 5, 6, 8, 10});
}

TEST_CASE("vmap: gradients for each example, and of their sum", "[transform]") {
  const vec2 w{1, 2};
  const tensor<f64, 3, 2> x{{1, 0}, {0, 1}, {1, 1}};
  const vec3 y{0, 0, 1};
  const auto each_gradient = vmap(grad(squared_error), in_axes<none, 0, 0>);
  CHECK(values_of(each_gradient, w, x, y) == numbers{2, 0, 0, 4, 4, 4});
  const auto total = [](auto v, auto a, auto b) {
    return sum(vmap(squared_error, in_axes<none, 0, 0>)(v, a, b));
  };
  CHECK(values_of(grad(total), w, x, y) == numbers{6, 8});
}

TEST_CASE("vmap: it commutes with jvp and vjp", "[transform]") {
  const auto f = [](auto x) { return sin(x) * x; };
  const auto inside = [f](auto x, auto dx) {
    return vmap([f](auto v, auto dv) { return jvp(f, v, dv); })(x, dx);
  };
  const auto outside = [f](auto x, auto dx) { return jvp(vmap(f), x, dx); };
  const vec3 x{1, 2, 3};
  CHECK(all_values(inside, x, vec3{1, 0, 10}) == all_values(outside, x, vec3{1, 0, 10}));
  const auto pulled_inside = [f](auto v, auto ct) {
    return vmap([f](auto u, auto c) { return std::get<0>(vjp(f, u).second(c)); })(v, ct);
  };
  const auto pulled_outside = [f](auto v, auto ct) {
    return std::get<0>(vjp(vmap(f), v).second(ct));
  };
  CHECK(values_of(pulled_inside, x, vec3{1, 0, 10}) ==
        values_of(pulled_outside, x, vec3{1, 0, 10}));
}

TEST_CASE("vmap: singular points stay safe in each lane", "[transform]") {
  const auto f = [](auto x) { return where(x > 0.0, log(x), 0.0); };
  CHECK(values_of(vmap(grad(f)), vec3{-1, 0, 2}) == numbers{0, 0, 0.5});
  CHECK(values_of(vmap(grad([](auto x) { return pow(x, 2.0); })), vec3{-1, 0, 3}) ==
        numbers{-2, 0, 6});
  const auto after = [](auto x) { return sum(vmap([](auto v) { return pow(v, 2.0); })(x)); };
  CHECK(values_of(grad(after), vec3{-1, 0, 3}) == numbers{-2, 0, 6});
}

TEST_CASE("vmap: a value at a place, either or both of them mapped", "[transform]") {
  const auto at = [](auto x, auto i) { return dynamic_index_in_dim(x, i); };
  const vec3 x{10, 20, 30};
  const tensor<i32, 2> i{2, 0};
  CHECK(values_of(vmap(at, in_axes<none, 0>), x, i) == numbers{30, 10});
  const tensor<f64, 2, 3> rows{{10, 20, 30}, {40, 50, 60}};
  CHECK(values_of(vmap(at), rows, i) == numbers{30, 40});
  CHECK(values_of(vmap(at, in_axes<0, none>), rows, tensor<i32>{1}) == numbers{20, 50});
  CHECK(values_of(vmap(grad(at), in_axes<none, 0>), x, i) == numbers{0, 0, 1, 1, 0, 0});
  const auto taken = [](auto v, auto k) { return take(v, k, 0); };
  CHECK(values_of(vmap(taken), rows, i) == numbers{30, 40});
}

TEST_CASE("vmap: a batch of one and a batch of none", "[transform]") {
  const auto f = [](auto x, auto w) { return sum(x * w) + max(x); };
  CHECK(values_of(vmap(f, in_axes<0, none>), tensor<f64, 1, 2>{{1, 2}}, vec2{1, 10}) ==
        numbers{23});
  CHECK(values_of(vmap(f, in_axes<0, none>), tensor<f64, 0, 2>{}, vec2{1, 10}).empty());
  CHECK(types_of<tensor<f32, 0, 2>, tensor<f32, 2>>(vmap(f, in_axes<0, none>)).view() == "f32[0]");
  CHECK(values_of(vmap(grad(f), in_axes<0, none>), tensor<f64, 0, 2>{}, vec2{1, 10}).empty());
}

TEST_CASE("vmap: a function that is a transformation already is mapped in the same way",
          "[transform]") {
  CHECK(values_of(vmap(jit(product)), vec2{1, 2}, vec2{3, 4}) == numbers{3, 8});
  CHECK(values_of(jit(vmap(jit(vmap(product)))), tensor<f64, 1, 2>{{1, 2}},
                  tensor<f64, 1, 2>{{3, 4}}) == numbers{3, 8});
}

TEST_CASE("vmap: called on tensors it runs", "[transform]") {
  const tensor<f64, 2, 3> both =
      vmap(vmap(product, in_axes<none, 0>), in_axes<0, none>)(vec2{1, 2}, vec3{3, 4, 5});
  CHECK(same_bits(both, tensor<f64, 2, 3>{{3, 4, 5}, {6, 8, 10}}));
  constexpr auto loss = [](auto model, auto x, auto y) {
    return square(sum(model.slope * x) + model.offset - y);
  };
  const line<stacked<3>> gradients = vmap(grad(loss), in_axes<none, 0, 0>)(
      line<values>{{1, 2}, 0.0}, tensor<f64, 3, 2>{{1, 0}, {0, 1}, {1, 1}}, vec3{0, 0, 1});
  CHECK(same_bits(gradients.slope, tensor<f64, 3, 2>{{2, 0}, {0, 4}, {4, 4}}));
  CHECK(same_bits(gradients.offset, vec3{2, 4, 4}));
  // and a stack of models is an argument like any other
  const vec3 values_at = vmap(loss, in_axes<0, none, none>)(gradients, vec2{1, 1}, scalar{1});
  CHECK(same_bits(values_at, vec3{9, 49, 121}));
}

TEST_CASE("vmap: products, gathers and windows in lanes run as kernels", "[transform]") {
  constexpr auto f = [](auto x, auto w, auto i) {
    const auto row = matmul(x, w);  // f64[2,2]
    return matmul(dynamic_slice(row, {i, 0}, {1, 2}), transpose(w));
  };
  tensor<f64, 4, 2, 3> x;
  for (std::int64_t k = 0; k < x.size(); ++k) x.data()[k] = static_cast<double>(k % 7) - 3.0;
  const tensor<f64, 3, 2> w{{1, 2}, {3, -1}, {0, 2}};
  const tensor<i32, 4> i{0, 1, 1, 5};
  const auto mapped = vmap(f, in_axes<0, none, 0>)(x, w, i);
  const auto flat = values_of(vmap(f, in_axes<0, none, 0>), x, w, i);
  CHECK(std::equal(flat.begin(), flat.end(), mapped.begin()));
}

TEST_CASE("vmap: mapped sizes that differ are refused with their places", "[transform]") {
  CHECK(problem_of<tensor<f32, 8>, tensor<f32, 4>>([](auto x, auto y) {
          return vmap(product)(x, y);
        }) == "vmap: argument 0 axis 0 is 8, argument 1 axis 0 is 4: mapped sizes must agree");
  CHECK(problem_of<line<stacked<3>>, tensor<f32, 4>>([](auto m, auto y) {
          return vmap([](auto a, auto b) { return a.offset * b; }, in_axes<each<1, 0>, 0>)(m, y);
        }) ==
        "vmap: argument 0 leaf slope axis 1 is 2, argument 0 leaf offset axis 0 is 3: mapped sizes "
        "must agree");
}

TEST_CASE("vmap: an axis that is not there is refused", "[transform]") {
  CHECK(problem_of<tensor<f32, 8, 2>>(
            [](auto x) { return vmap([](auto v) { return v; }, in_axes<2>)(x); }) ==
        "vmap: argument 0 is f32[8,2], to be mapped along axis 2: the axis must be from -2 "
        "to 1");
  CHECK(problem_of<tensor<f32>>([](auto x) { return vmap([](auto v) { return v; })(x); }) ==
        "vmap: argument 0 is f32[], to be mapped along axis 0: a scalar has no axes; use none");
  CHECK(problem_of<tensor<f32, 8, 2>>(
            [](auto x) { return vmap([](auto v) { return v; }, out_axes<2>)(x); }) ==
        "vmap: output 0 is f32[8,2] in all lanes, to be counted by axis 2: the axis must be "
        "from -2 to 1");
  CHECK(problem_of<tensor<f32, 8, 2>>([](auto x) {
          return vmap([](auto v, auto y) { return v * y; }, in_axes<0, 0>)(x, 2.0F);
        }) == "vmap: argument 1 is a number, to be mapped along axis 0: it has no axes; use none");
}

TEST_CASE("vmap: options that do not fit the call are refused", "[transform]") {
  CHECK(problem_of<tensor<f32, 8>>([](auto x) {
          return vmap(product, in_axes<none, none>)(x, x);
        }) == "vmap: no argument is mapped: in_axes must give an axis to one of them");
  CHECK(problem_of<tensor<f32, 8>>([](auto x) { return vmap(product, in_axes<0, 0, 0>)(x, x); }) ==
        "vmap: in_axes has 3 entries, the call 2 arguments: one for each, or one for all");
  CHECK(problem_of<tensor<f32, 8>>([](auto x) { return vmap(product, out_axes<0, 0>)(x, x); }) ==
        "vmap: out_axes has 2 entries, the result 0 members: one for each, or one for all");
  CHECK(problem_of<tensor<f32, 8>>([](auto x) { return vmap(product, out_axes<none>)(x, x); }) ==
        "vmap: output 0 differs between lanes: out_axes must give it an axis, not none");
}

TEST_CASE("vmap: one mistake inside the function is one sentence", "[transform]") {
  const std::string problem = problem_of<tensor<f32, 8, 3>>([](auto x) {
    return vmap([](auto v) { return matmul(v, v * 2.0); })(reshape(x, {8, 3, 1}));
  });
  CHECK(problem.find("matmul: lhs f32[3,1] and rhs f32[3,1]") != std::string::npos);
}
