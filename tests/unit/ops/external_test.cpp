// unit/ops/external_test.cpp: host functions as nodes: values, types, several results, derivatives.
// SPDX-License-Identifier: MIT
#include "atled/ops/external.hpp"

#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <span>
#include <stdexcept>
#include <string>

using namespace atled;

namespace {

using vec3 = tensor<f64, 3>;
using view3 = tensor_view<const f64, 3>;
int num_calls = 0;

vec3 doubled(const view3& x) {
  ++num_calls;
  return {2 * x(0), 2 * x(1), 2 * x(2)};
}
std::pair<tensor<i32>, tensor<f32, 2>> parts(const view3& x, f64 scale) {
  return {tensor<i32>(static_cast<i32>(x(0) * scale)),
          tensor<f32, 2>{static_cast<f32>(x(1)), static_cast<f32>(x(2))}};
}
struct shifted {
  f64 by;
  vec3 operator()(const vec3& x) const { return {x(0) + by, x(1) + by, x(2) + by}; }
};
void cut_up(tensor_view<f64, 3> low, tensor_view<f64> total, const view3& x) {
  for (int i = 0; i < 3; ++i) low(i) = x(i) - 1;
  *total.data() = x(0) + x(1) + x(2);
}

vec3 plus(const view3& x, f64 c) {
  num_calls += 100;
  return {x(0) + c, x(1) + c, x(2) + c};
}
void plus_in_lanes(std::int64_t lanes, std::span<f64> out, std::span<const f64> x,
                   std::span<const f64> c) {
  ++num_calls;
  for (std::size_t i = 0; i < static_cast<std::size_t>(lanes) * 3; ++i) {
    out[i] = x[i % x.size()] + c[c.size() == 1 ? 0 : i / 3];
  }
}

/// Its derivative is the user's: 2 for each element.
constexpr auto twice = custom_vjp([](auto x) { return external_call<doubled>(x); },
                                  [](auto x) { return std::pair(external_call<doubled>(x), 0); },
                                  [](int, auto ct) { return external_call<doubled>(ct); });

}  // namespace

TEST_CASE("external_call: a function of the host runs as a step of the program", "[ops]") {
  const auto f = jit([](auto x) { return external_call<doubled>(x + 1.0) * 10.0; });
  CHECK(array_equal(f(vec3{1, 2, 3}), vec3{40, 60, 80}));
  const auto lambda = jit([](auto x) {
    return external_call([](const view3& u) { return tensor<f64>(u(0) * u(1)); }, x);
  });
  CHECK(lambda(vec3{2, 3, 4}).item() == 6);
  const auto object = jit([](auto x) { return external_call<shifted{5}>(x); });
  CHECK(array_equal(object(vec3{1, 2, 3}), vec3{6, 7, 8}));
  CHECK(array_equal(external_call<doubled>(vec3{1, 2, 3}), vec3{2, 4, 6}));  // outside a trace
}

TEST_CASE("external_call: several results of any types, returned or written", "[ops]") {
  const auto f = jit([](auto x) { return external_call<parts>(x, 10); });
  const auto [a, b] = f(vec3{1.5, 2, 3});
  CHECK(a.item() == 15);
  CHECK(array_equal(b, tensor<f32, 2>{2, 3}));
  const auto g = jit([](auto x) {
    const auto [low, total] = external_call<cut_up>(x);
    return low * total;
  });
  CHECK(array_equal(g(vec3{1, 2, 3}), vec3{0, 6, 12}));
  const auto [low, total] = external_call<cut_up>(vec3{1, 2, 3});
  CHECK((low(2) == 2 && total.item() == 6));
}

TEST_CASE("external_call: equal calls are one, an unused one is none", "[ops]") {
  const auto f = jit([](auto x) {
    const auto unused = external_call<doubled>(x * 3.0);
    static_cast<void>(unused);
    return external_call<doubled>(x) + external_call<doubled>(x);
  });
  num_calls = 0;
  CHECK(array_equal(f(vec3{1, 2, 3}), vec3{4, 8, 12}));
  CHECK(num_calls == 1);
}

TEST_CASE("external_call: a view of constants or of part of a tensor is laid out for it", "[ops]") {
  const auto f = jit([](auto x) {
    const auto column = reshape(slice_in_dim(transpose(x), 1, 2), {3});
    return external_call<doubled>(column) + external_call<doubled>(full_like(column, 1.0));
  });
  CHECK(array_equal(f(tensor<f64, 3, 2>{{1, 2}, {3, 4}, {5, 6}}), vec3{6, 10, 14}));
}

TEST_CASE("external_call: its derivative is that of a custom_vjp around it", "[ops]") {
  const auto f = [](auto x) { return sum(square(twice(x))); };
  num_calls = 0;
  CHECK(array_equal(grad(f)(vec3{1, 2, 3}), vec3{8, 16, 24}));
  CHECK(num_calls == 2);  // forward, which fwd shares, and backward
  CHECK(array_equal(jit(f)(vec3{1, 2, 3}), tensor<f64>(56)));
  const auto kept = [](auto x) {
    return sum(square(x * stop_gradient(external_call<doubled>(x))));
  };
  CHECK(array_equal(grad(kept)(vec3{1, 0, 0}), vec3{8, 0, 0}));
}

TEST_CASE("external_call: inside a checkpoint it runs again for the derivative", "[ops]") {
  const auto f = [](auto x) { return sum(checkpoint([](auto u) { return square(twice(u)); })(x)); };
  num_calls = 0;
  CHECK(array_equal(grad(f)(vec3{1, 2, 3}), vec3{8, 16, 24}));
  CHECK(num_calls == 2);  // the value is not used, so once again and backward
}

TEST_CASE("external_call: a function for all lanes runs once under vmap", "[ops]") {
  const auto f = [](auto x, auto c) { return external_call<plus, plus_in_lanes>(x, c); };
  const tensor<f64, 2, 3> x{{1, 2, 3}, {4, 5, 6}};
  num_calls = 0;
  CHECK(array_equal(vmap(f, in_axes<0, none>)(x, 1.5),
                    tensor<f64, 2, 3>{{2.5, 3.5, 4.5}, {5.5, 6.5, 7.5}}));
  CHECK(array_equal(vmap(f, in_axes<none, 0>)(vec3{1, 2, 3}, tensor<f64, 2>{1, 2}),
                    tensor<f64, 2, 3>{{2, 3, 4}, {3, 4, 5}}));
  CHECK(array_equal(vmap(vmap(f, in_axes<none, 0>), in_axes<0, none>)(x, tensor<f64, 2>{1, 2}),
                    tensor<f64, 2, 2, 3>{{{2, 3, 4}, {3, 4, 5}}, {{5, 6, 7}, {6, 7, 8}}}));
  CHECK(num_calls == 3);
  CHECK(array_equal(jit(f)(vec3{1, 2, 3}, 1.0), vec3{2, 3, 4}));  // one lane: the other function
  CHECK(num_calls == 103);
}

TEST_CASE("external_call: what the host throws arrives", "[ops]") {
  const auto f = jit([](auto x) {
    return external_call(
        [](const view3&) -> vec3 { throw std::runtime_error("it does not converge"); }, x);
  });
  CHECK_THROWS_WITH(f(vec3{1, 2, 3}), "it does not converge");
}
