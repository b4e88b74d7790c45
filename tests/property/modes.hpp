// property/modes.hpp: one function in every mode: value, forward, reverse, both orders of nesting,
// in lanes; each graph simplified as `jit` would have it, then run node by node.
// Reads: unit/ops/traced.hpp. Used by the *_points_test.cpp beside it.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/atled.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <string>
#include <vector>

namespace atled::test {

/// A place of an expectation that says nothing.
inline constexpr double anything = 1.2345e-67;

/// The only output of a traced graph, as its compiled form computes it.
inline numbers simplified_values(const ir::builder& traced, const std::vector<oracle::array>& x) {
  if (!traced.problem.empty()) throw std::runtime_error(std::string(traced.problem.view()));
  const auto simple = oracle::make_builder();
  passes::simplify(traced.g, *simple);
  const auto live = oracle::make_builder();
  passes::copy_live(simple->g, *live);
  const oracle::array out = oracle::interpret(live->g, x).at(0);
  numbers result;
  for (std::size_t i = 0; i < out.size(); ++i) result.push_back(out[i]);
  return result;
}

/// The elements of the only output of `f`, as its compiled form computes them.
template <class F, class... T>
numbers compiled_values(F f, const T&... x) {
  const auto traced = oracle::make_builder();
  std::tuple<traced_t<T>...> arguments{ir::make_parameters<T>(*traced)...};
  ir::set_outputs(*traced,
                  std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  return simplified_values(*traced, {array_of(x)...});
}

/// The same of a function of expressions, whatever the types of its arguments.
template <class F>
numbers traced_values(F f, const oracle::array& x) {
  const auto traced = oracle::make_builder();
  ir::set_outputs(*traced, f(expr(*traced, traced->parameter(x.type))));
  return simplified_values(*traced, {x});
}
template <class F>
numbers traced_values(F f, const oracle::array& x, const oracle::array& y) {
  const auto traced = oracle::make_builder();
  const expr first(*traced, traced->parameter(x.type));
  const expr second(*traced, traced->parameter(y.type));
  ir::set_outputs(*traced, f(first, second));
  return simplified_values(*traced, {x, y});
}

/// A function of one expression, behind a pointer: its modes are compiled once for all functions.
struct unary {
  expr (*call)(expr) = nullptr;
  unary() = default;  // clang wants it where a mode of it could be made of nothing
  template <class F>
  explicit unary(F) : call([](expr x) -> expr { return F{}(x); }) {}
  expr operator()(const expr& x) const { return call(x); }
};

/// Near, or 0 but for what rounding leaves of the largest number beside it.
inline bool agree(const numbers& actual, numbers expected, double relative = 1e-12) {
  if (actual.size() != expected.size()) return false;
  double largest = 0;
  for (const double e : expected)
    largest = std::isfinite(e) ? std::max(largest, std::abs(e)) : largest;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const bool is_rounding = expected[i] == 0 && std::abs(actual[i]) <= 1e-16 * largest;
    if (expected[i] == anything || is_rounding) expected[i] = actual[i];
  }
  return are_near(actual, expected, relative);
}

template <class F>
struct forward_of {  // of a function of a scalar: its derivative
  F f{};
  constexpr auto operator()(auto x) const { return jvp(f)(x, ones_like(x)).second; }
};
template <class F>
forward_of<F> forward(F f) {
  return {f};
}

template <class F>
struct reverse_of {
  F f{};
  constexpr auto operator()(auto x) const { return grad(f)(x); }
};
template <class F>
reverse_of<F> reverse(F f) {
  return {f};
}

/// What a function of a scalar must give at points, in order: values, slopes, second derivatives.
struct expectation {
  numbers values, slopes, seconds;
};

/// A result with its expectation.
inline void check_agree(const numbers& actual, const numbers& wanted, double relative) {
  INFO("got " << Catch::Detail::stringify(actual) << ", expected "
              << Catch::Detail::stringify(wanted));
  CHECK(agree(actual, wanted, relative));
}

inline void check_unary_points(const char* id, unary f, const oracle::array& x,
                               const expectation& expected, double relative) {
  INFO(id);
  const auto in_lanes = [&](auto mode, const numbers& wanted) {
    const auto lanes = [&](expr at) { return vmap(mode)(at); };
    check_agree(traced_values(lanes, x), wanted, relative);
  };
  in_lanes(f, expected.values);
  in_lanes(forward(f), expected.slopes);
  in_lanes(reverse(f), expected.slopes);
  in_lanes(reverse(checkpoint(f)), expected.slopes);  // its inner values computed again
  if (expected.seconds.empty()) return;
  in_lanes(reverse(checkpoint(reverse(f))), expected.seconds);
  in_lanes(forward(forward(f)), expected.seconds);
  in_lanes(forward(reverse(f)), expected.seconds);
  in_lanes(reverse(forward(f)), expected.seconds);
  in_lanes(reverse(reverse(f)), expected.seconds);
  // One lane alone, and all points as elements of one tensor.
  for (std::size_t i = 0; i < x.size(); ++i) {
    oracle::array one(tensor_type{dtype::f64, {}});
    one.reals[0] = x.reals[i];
    check_agree(traced_values(reverse(f), one), {expected.slopes[i]}, relative);
    check_agree(traced_values(reverse(reverse(f)), one), {expected.seconds[i]}, relative);
  }
  const auto total = [f](expr all) { return sum(vmap(f)(all)); };
  check_agree(traced_values(grad(total), x), expected.slopes, relative);
}

/// Checks `f` at the points in every mode; `relative` is the error allowed.
template <class F, std::int64_t N>
void check_points(const char* id, F f, const tensor<f64, N>& x, const expectation& expected,
                  double relative = 1e-12) {
  check_unary_points(id, unary(f), array_of(x), expected, relative);
}

// Rows of the Hessian of a function of a vector, by each nesting, along `e`.
struct forward_over_reverse {
  unary f;
  expr operator()(expr x, expr e) const { return jvp(grad(f))(x, e).second; }
};
struct slope_along {
  unary f;
  expr operator()(expr x, expr e) const { return sum(grad(f)(x) * e); }
};
struct reverse_over_reverse {
  unary f;
  expr operator()(expr x, expr e) const { return grad(slope_along{f})(x, e); }
};
struct tangent_along {
  unary f;
  expr operator()(expr x, expr e) const { return jvp(f)(x, e).second; }
};
struct reverse_over_forward {
  unary f;
  expr operator()(expr x, expr e) const { return grad(tangent_along{f})(x, e); }
};

inline void check_unary_gradient(const char* id, unary f, const oracle::array& x,
                                 const numbers& value, const numbers& gradient,
                                 const numbers& hessian, double relative) {
  INFO(id);
  shape basis_dims = shape::of({static_cast<std::int64_t>(x.size())});
  for (int i = 0; i < x.type.rank(); ++i) basis_dims.push(x.type.dims[i]);
  oracle::array basis(tensor_type{dtype::f64, basis_dims});
  for (std::size_t i = 0; i < x.size(); ++i) basis.reals[i * x.size() + i] = 1;
  check_agree(traced_values(f, x), value, relative);
  check_agree(traced_values(reverse(f), x), gradient, relative);
  const auto check_along = [&](auto mode, const numbers& wanted) {
    const auto lanes = [&](expr at, expr e) { return vmap(mode, in_axes<none, 0>)(at, e); };
    check_agree(traced_values(lanes, x, basis), wanted, relative);
  };
  check_along(tangent_along{f}, gradient);
  // Two lanes, of which the second is moved by nothing.
  numbers twice = gradient;
  twice.insert(twice.end(), gradient.begin(), gradient.end());
  const auto in_two_lanes = [&](expr at) { return vmap(reverse(f))(stack({at, at})); };
  check_agree(traced_values(in_two_lanes, x), twice, relative);
  if (hessian.empty()) return;
  check_along(forward_over_reverse{f}, hessian);
  check_along(reverse_over_reverse{f}, hessian);
  check_along(reverse_over_forward{f}, hessian);
}

/// Checks a function of one tensor with a scalar result: value, gradient by both modes, and where
/// it is given the Hessian by three nestings, all in lanes as well.
template <class F, std::int64_t... D>
void check_gradient(const char* id, F f, const tensor<f64, D...>& x, const numbers& value,
                    const numbers& gradient, const numbers& hessian = {}, double relative = 1e-12) {
  check_unary_gradient(id, unary(f), array_of(x), value, gradient, hessian, relative);
}

}  // namespace atled::test
