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

/// The elements of the only output of `f`, as its compiled form computes them.
template <class F, class... T>
numbers compiled_values(F f, const T&... x) {
  const auto traced = oracle::make_builder();
  std::tuple<traced_t<T>...> arguments{ir::make_parameters<T>(*traced)...};
  ir::set_outputs(*traced,
                  std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  if (!traced->problem.empty()) throw std::runtime_error(std::string(traced->problem.view()));
  const auto simple = oracle::make_builder();
  passes::simplify(traced->g, *simple);
  const auto live = oracle::make_builder();
  passes::copy_live(simple->g, *live);
  const oracle::array out = oracle::interpret(live->g, {array_of(x)...}).at(0);
  numbers result;
  for (std::size_t i = 0; i < out.size(); ++i) result.push_back(out[i]);
  return result;
}

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
  constexpr auto operator()(auto x) const { return jvp(F{})(x, ones_like(x)).second; }
};
template <class F>
struct reverse_of {
  constexpr auto operator()(auto x) const { return grad(F{})(x); }
};

template <class F>
struct checkpointed {  // its inner values computed again
  constexpr auto operator()(auto x) const { return checkpoint(F{})(x); }
};
/// What a function of a scalar must give at points, in order: values, slopes, second derivatives.
struct expectation {
  numbers values, slopes, seconds;
};

/// Checks `f` at the points in every mode; `relative` is the error allowed.
template <class F, std::int64_t N>
void check_points(const char* id, F, const tensor<f64, N>& x, const expectation& expected,
                  double relative = 1e-12) {
  INFO(id);
  using forward = forward_of<F>;
  using reverse = reverse_of<F>;
  const auto in_lanes = [&](auto f, const numbers& wanted) {
    const numbers actual = compiled_values([f](auto at) { return vmap(f)(at); }, x);
    INFO("got " << Catch::Detail::stringify(actual) << ", expected "
                << Catch::Detail::stringify(wanted));
    CHECK(agree(actual, wanted, relative));
  };
  in_lanes(F{}, expected.values);
  in_lanes(forward{}, expected.slopes);
  in_lanes(reverse{}, expected.slopes);
  in_lanes(reverse_of<checkpointed<F>>{}, expected.slopes);
  if (expected.seconds.empty()) return;
  in_lanes(reverse_of<checkpointed<reverse>>{}, expected.seconds);
  in_lanes(forward_of<forward>{}, expected.seconds);
  in_lanes(forward_of<reverse>{}, expected.seconds);
  in_lanes(reverse_of<forward>{}, expected.seconds);
  in_lanes(reverse_of<reverse>{}, expected.seconds);
  // One lane alone, and all points as elements of one tensor.
  for (std::int64_t i = 0; i < N; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const tensor<f64> one(x.data()[i]);
    CHECK(agree(compiled_values(reverse{}, one), {expected.slopes[k]}, relative));
    CHECK(agree(compiled_values(reverse_of<reverse>{}, one), {expected.seconds[k]}, relative));
  }
  const auto total = [](auto all) { return sum(vmap(F{})(all)); };
  CHECK(agree(compiled_values(grad(total), x), expected.slopes, relative));
}

// Rows of the Hessian of a function of a vector, by each nesting, along `e`.
template <class F>
struct forward_over_reverse {
  constexpr auto operator()(auto x, auto e) const { return jvp(grad(F{}))(x, e).second; }
};
template <class F>
struct slope_along {
  constexpr auto operator()(auto x, auto e) const { return sum(grad(F{})(x) * e); }
};
template <class F>
struct reverse_over_reverse {
  constexpr auto operator()(auto x, auto e) const { return grad(slope_along<F>{})(x, e); }
};
template <class F>
struct tangent_along {
  constexpr auto operator()(auto x, auto e) const { return jvp(F{})(x, e).second; }
};
template <class F>
struct reverse_over_forward {
  constexpr auto operator()(auto x, auto e) const { return grad(tangent_along<F>{})(x, e); }
};

/// Checks a function of one tensor with a scalar result: value, gradient by both modes, and where
/// it is given the Hessian by three nestings, all in lanes as well.
template <class F, std::int64_t... D>
void check_gradient(const char* id, F, const tensor<f64, D...>& x, const numbers& value,
                    const numbers& gradient, const numbers& hessian = {}, double relative = 1e-12) {
  INFO(id);
  constexpr std::int64_t size = (D * ... * 1);
  tensor<f64, size, D...> basis;
  for (std::int64_t i = 0; i < size; ++i) basis.data()[i * size + i] = 1;
  const auto is = [&](auto f, const numbers& wanted, const auto&... at) {
    const numbers actual = compiled_values(f, at...);
    INFO("got " << Catch::Detail::stringify(actual) << ", expected "
                << Catch::Detail::stringify(wanted));
    CHECK(agree(actual, wanted, relative));
  };
  is(F{}, value, x);
  is(reverse_of<F>{}, gradient, x);
  const auto along = [](auto f) {
    return [f](auto at, auto e) { return vmap(f, in_axes<none, 0>)(at, e); };
  };
  is(along(tangent_along<F>{}), gradient, x, basis);
  // Two lanes, of which the second is moved by nothing.
  numbers twice = gradient;
  twice.insert(twice.end(), gradient.begin(), gradient.end());
  is([](auto at) { return vmap(reverse_of<F>{})(stack({at, at})); }, twice, x);
  if (hessian.empty()) return;
  is(along(forward_over_reverse<F>{}), hessian, x, basis);
  is(along(reverse_over_reverse<F>{}), hessian, x, basis);
  is(along(reverse_over_forward<F>{}), hessian, x, basis);
}

}  // namespace atled::test
