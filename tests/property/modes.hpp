// property/modes.hpp: one function in every mode: value, forward, reverse, both orders of nesting,
// in lanes, in loops, checkpointed; each graph simplified as `jit` would have it, then run node by
// node. Reads: unit/ops/traced.hpp. Used by the *_points_test.cpp beside it.
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

/// `f` of a row: of the only one of a loop, or of the last of three. The rows before it give
/// results that nobody reads, so their cotangent is 0.
template <int Trips, class F>
struct of_rows {
  F f{};
  expr operator()(const expr& x) const {
    const auto body = [this](const expr& carry, const expr& row) {
      return std::pair(carry, f(row));
    };
    if constexpr (Trips == 1) {
      return scan(body, 0.0, stack({x})).second(0);
    } else {
      return scan(body, 0.0, stack({x, x, x})).second(2);
    }
  }
};
/// `f` of what the body of a loop captures; it is computed in each trip, and the last is the carry.
template <int Trips, class F>
struct of_captured {
  F f{};
  expr operator()(const expr& x) const {
    const auto body = [&](const auto& carry) {
      const expr& trip = carry.first;  // the argument depends on it, so nothing leaves the loop
      return std::pair(std::pair(trip + 1.0, f(where(trip >= 0, x, 0))), std::tuple());
    };
    const expr zero = zeros(x, {}, dtype::f64);
    return scan(body, std::pair(zero, zero), length<Trips>).first.second;
  }
};
/// `f` of a carry in the last trip; those before it compute it as well, and do not take it.
template <int Trips, class F>
struct of_carry {
  F f{};
  expr operator()(const expr& x) const {
    const auto body = [this](const auto& carry) {
      const expr& trip = carry.first;
      return std::pair(
          std::pair(trip + 1.0, where(trip >= Trips - 1, f(carry.second), carry.second)),
          std::tuple());
    };
    return scan(body, std::pair(0.0, x), length<Trips>).first.second;
  }
};
/// `f` computed again where a derivative reads its inner values.
template <class F>
struct checkpointed {
  F f{};
  expr operator()(const expr& x) const { return checkpoint(f)(x); }
};

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

/// Values, slopes and second derivatives of `f` inside of a loop or a checkpoint, in lanes.
template <class Inside>
void check_inside(const char* where, Inside f, const oracle::array& x, const expectation& expected,
                  double relative) {
  INFO(where);
  const auto in_lanes = [&](auto mode, const numbers& wanted) {
    const auto lanes = [&](expr at) { return vmap(mode)(at); };
    check_agree(traced_values(lanes, x), wanted, relative);
  };
  in_lanes(f, expected.values);
  in_lanes(forward(f), expected.slopes);
  in_lanes(reverse(f), expected.slopes);
  if (expected.seconds.empty()) return;
  in_lanes(forward(forward(f)), expected.seconds);
  in_lanes(forward(reverse(f)), expected.seconds);
  in_lanes(reverse(forward(f)), expected.seconds);
  in_lanes(reverse(reverse(f)), expected.seconds);
}

inline void check_unary_points(const char* id, unary f, const oracle::array& x,
                               const expectation& expected, double relative) {
  INFO(id);
  const auto in_lanes = [&](auto mode, const numbers& wanted) {
    const auto lanes = [&](expr at) { return vmap(mode)(at); };
    check_agree(traced_values(lanes, x), wanted, relative);
  };
  check_inside("checkpoint", checkpointed<unary>{f}, x, expected, relative);
  check_inside("one row", of_rows<1, unary>{f}, x, expected, relative);
  check_inside("three rows", of_rows<3, unary>{f}, x, expected, relative);
  check_inside("captured, one trip", of_captured<1, unary>{f}, x, expected, relative);
  check_inside("captured, three trips", of_captured<3, unary>{f}, x, expected, relative);
  check_inside("carry, one trip", of_carry<1, unary>{f}, x, expected, relative);
  check_inside("carry, three trips", of_carry<3, unary>{f}, x, expected, relative);
  check_inside("three rows, checkpointed", of_rows<3, checkpointed<unary>>{{f}}, x, expected,
               relative);
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
template <class F>
struct forward_over_reverse {
  F f;
  expr operator()(expr x, expr e) const { return jvp(grad(f))(x, e).second; }
};
template <class F>
struct slope_along {
  F f;
  expr operator()(expr x, expr e) const { return sum(grad(f)(x) * e); }
};
template <class F>
struct reverse_over_reverse {
  F f;
  expr operator()(expr x, expr e) const { return grad(slope_along<F>{f})(x, e); }
};
template <class F>
struct tangent_along {
  F f;
  expr operator()(expr x, expr e) const { return jvp(f)(x, e).second; }
};
template <class F>
struct reverse_over_forward {
  F f;
  expr operator()(expr x, expr e) const { return grad(tangent_along<F>{f})(x, e); }
};
template <class F>
struct forward_over_forward {  // the Hessian along e twice: its diagonal only
  F f;
  expr operator()(expr x, expr e) const {
    const auto slope = [&](const expr& at) { return jvp(f)(at, e).second; };
    return jvp(slope)(x, e).second;
  }
};

/// Value, gradient and Hessian of `f`, with the basis `e` along lanes.
template <class F>
void check_gradient_of(const char* where, F f, const oracle::array& x, const oracle::array& e,
                       const numbers& value, const numbers& gradient, const numbers& hessian,
                       double relative) {
  INFO(where);
  check_agree(traced_values(f, x), value, relative);
  check_agree(traced_values(reverse(f), x), gradient, relative);
  const auto check_along = [&](auto mode, const numbers& wanted) {
    const auto lanes = [&](expr at, expr basis) { return vmap(mode, in_axes<none, 0>)(at, basis); };
    check_agree(traced_values(lanes, x, e), wanted, relative);
  };
  check_along(tangent_along<F>{f}, gradient);
  if (hessian.empty()) return;
  numbers diagonal;
  for (std::size_t i = 0; i < x.size(); ++i) diagonal.push_back(hessian[i * x.size() + i]);
  check_along(forward_over_forward<F>{f}, diagonal);
  check_along(forward_over_reverse<F>{f}, hessian);
  check_along(reverse_over_reverse<F>{f}, hessian);
  check_along(reverse_over_forward<F>{f}, hessian);
}

inline void check_unary_gradient(const char* id, unary f, const oracle::array& x,
                                 const numbers& value, const numbers& gradient,
                                 const numbers& hessian, double relative) {
  INFO(id);
  shape basis_dims = shape::of({static_cast<std::int64_t>(x.size())});
  for (int i = 0; i < x.type.rank(); ++i) basis_dims.push(x.type.dims[i]);
  oracle::array basis(tensor_type{dtype::f64, basis_dims});
  for (std::size_t i = 0; i < x.size(); ++i) basis.reals[i * x.size() + i] = 1;
  const auto check_as = [&](const char* where, auto mode) {
    check_gradient_of(where, mode, x, basis, value, gradient, hessian, relative);
  };
  check_as("alone", f);
  check_as("checkpoint", checkpointed<unary>{f});
  check_as("one row", of_rows<1, unary>{f});
  check_as("three rows", of_rows<3, unary>{f});
  check_as("captured, one trip", of_captured<1, unary>{f});
  check_as("captured, three trips", of_captured<3, unary>{f});
  check_as("three rows, checkpointed", of_rows<3, checkpointed<unary>>{{f}});
  // Two lanes, of which the second is moved by nothing.
  numbers twice = gradient;
  twice.insert(twice.end(), gradient.begin(), gradient.end());
  const auto in_two_lanes = [&](expr at) { return vmap(reverse(f))(stack({at, at})); };
  check_agree(traced_values(in_two_lanes, x), twice, relative);
}

/// Checks a function of one tensor with a scalar result: value, gradient by both modes, and where
/// it is given the Hessian by three nestings, all in lanes as well.
template <class F, std::int64_t... D>
void check_gradient(const char* id, F f, const tensor<f64, D...>& x, const numbers& value,
                    const numbers& gradient, const numbers& hessian = {}, double relative = 1e-12) {
  check_unary_gradient(id, unary(f), array_of(x), value, gradient, hessian, relative);
}

}  // namespace atled::test
