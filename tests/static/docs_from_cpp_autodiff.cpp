// static/docs_from_cpp_autodiff.cpp: each line that docs/from_cpp_autodiff.md shows as ours stands
// here and compiles. `cmake/check_docs.cmake` finds it by its characters, blanks aside: change both
// files together.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include <array>
#include <span>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

using scalar = tensor<f64>;
using vector = tensor<f64, 3>;
using examples = tensor<f64, 100, 3>;

/// Does the function, on arguments of these types, become a graph without a mistake?
template <class... Args, class F>
constexpr bool is_traced(F) {
  ir::builder traced{};
  ir::trace<F, Args...>(traced);
  return traced.problem.empty();
}

// ---- the function -------------------------------------------------------------------------------
constexpr auto f = [](auto x) { return sum(x * log(x)); };  // f64[3] -> f64[]
constexpr auto residuals = [](auto x) { return sin(x) - x(range(), newaxis) * x; };  // -> f64[3,3]
constexpr auto price = [](auto x, auto y) { return x * exp(y); };  // f64[], f64[] -> f64[]
constexpr auto error = [](auto w, auto x) { return square(sum(w * x) - 1.0); };

// ---- derivatives --------------------------------------------------------------------------------
static_assert(is_traced<vector, vector>([](auto x, auto v) {
  return std::tuple(grad(f)(x), value_and_grad(f)(x), hessian(f)(x), jacfwd(residuals)(x),
                    jacrev(residuals)(x), jvp(f, x, v), jvp(grad(f), x, v).second);
}));
static_assert(is_traced<scalar, scalar>([](auto x, auto y) {
  return std::tuple(grad(price, argnums<1>)(x, y), hessian(price, argnums<0, 1>)(x, y));
}));
static_assert(is_traced<vector, tensor<f64, 3, 3>>([](auto x, auto weights) {
  const auto [y, pullback] = vjp(residuals, x);
  const auto [d_x] = pullback(weights);
  return std::pair(y, d_x);
}));
static_assert(is_traced<vector, tensor<f64, 8, 3>>([](auto x, auto directions) {
  return vmap([](auto at, auto v) { return jvp(f, at, v).second; }, in_axes<none, 0>)(x,
                                                                                      directions);
}));
static_assert(is_traced<vector, examples>([](auto w, auto x) {
  return std::pair(vmap(grad(error), in_axes<none, 0>)(w, x),
                   vmap(hessian(error), in_axes<none, 0>)(w, x));
}));

// ---- values that decide, loops, indices ---------------------------------------------------------
constexpr auto is_far = [](auto y) { return abs(square(y) - 2.0) > 1e-12; };
constexpr auto closer = [](auto y) { return 0.5 * (y + 2.0 / y); };
static_assert(is_traced<scalar, vector, tensor<i32, 5>>([](auto x, auto table, auto i) {
  return std::tuple(where(x > 0.0, log(x), 0.0),
                    cond(
                        x > 0.0, [](auto t) { return log(t); }, [](auto t) { return t; }, x),
                    while_loop(is_far, closer, x, max_trips<64>), table(i), stop_gradient(x));
}));
constexpr auto euler = [](auto y) { return y + 0.01 * sin(y); };
constexpr auto trip = [](auto y) { return std::pair(checkpoint(euler)(y), std::tuple()); };
static_assert(is_traced<scalar>([](auto y) {
  return std::pair(scan(trip, y, length<1000>).first,
                   fori_loop(
                       0, 1000, [](auto, auto state) { return euler(state); }, y));
}));

// ---- functions of the host, with a derivative of ours -------------------------------------------
tensor<f64, 3> table_lookup(const tensor_view<const f64, 3>& x) {
  return tensor<f64, 3>(x);
}
tensor<f64, 3> table_slope(const tensor_view<const f64, 3>& x) {
  return tensor<f64, 3>(x);
}
constexpr auto lookup =
    custom_vjp([](auto x) { return external_call<table_lookup>(x); },
               [](auto x) { return std::pair(external_call<table_lookup>(x), x); },
               [](auto x, auto ct) { return ct * external_call<table_slope>(x); });
static_assert(is_traced<vector>([](auto x) {
  return grad([](auto t) { return sum(lookup(t)); })(x);
}));

// An equation g(y, x) = 0 solved outside: dy/dx = -(dg/dx) / (dg/dy), whatever the solver did.
double root_of(double x) {
  return x;
}
tensor<f64> solved(const tensor<f64>& x) {
  return tensor<f64>(root_of(x));
}
constexpr auto equation = [](auto y, auto x) { return y * y * y + y - x; };
constexpr auto root = custom_jvp([](auto x) { return external_call<solved>(x); },
                                 [](auto primals, auto tangents) {
                                   const auto [x] = primals;
                                   const auto [dx] = tangents;
                                   const auto y = external_call<solved>(x);
                                   const auto [by_y, by_x] = grad(equation, argnums<0, 1>)(y, x);
                                   return std::pair(y, -by_x / by_y * dx);
                                 });
static_assert(is_traced<scalar>([](auto x) { return grad(root)(x); }));

// ---- from a program with arrays of its own ------------------------------------------------------
[[maybe_unused]] double calls(const double* values, std::array<double, 3>& slopes) {
  const tensor_view<const f64, 3> x(values);     // the caller's memory, not a copy
  constexpr auto both = jit(value_and_grad(f));  // compiled here, with this program
  const auto [value, slope] = both(x);
  for (int i = 0; i < 3; ++i) slopes[static_cast<std::size_t>(i)] = slope(i);
  return value;
}

}  // namespace
