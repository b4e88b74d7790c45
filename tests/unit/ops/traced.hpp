// unit/ops/traced.hpp: what the tests of ops share: a function traced, run node by node, and
// differentiated. Reads: support/interpreter.hpp, passes/gradient.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/passes/gradient.hpp"
#include "atled/trace/trace.hpp"

#include "support/interpreter.hpp"
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace atled::test {

/// The types of the outputs, `f32[3] i32[]`, or the first error without its line.
template <class... Args, class F>
constexpr text types_of(F) {
  auto* b = new ir::builder();
  ir::trace<F, Args...>(*b);
  text out;
  if (const auto problem = b->problem.view(); !problem.empty()) {
    out << problem.substr(problem.find(": ") + 2);
  } else {
    for (int i = 0; i < b->g.num_outputs; ++i) {
      if (i > 0) out << ' ';
      out << b->type(b->g.outputs[i]);
    }
  }
  delete b;
  return out;
}

/// The first error without its line, at run time: a builder in a constant expression costs clang a
/// second.
template <class... Args, class F>
std::string sentence_of(F) {
  const auto b = oracle::make_builder();
  ir::trace<F, Args...>(*b);
  const std::string problem(b->problem.view());
  return problem.empty() ? problem : problem.substr(problem.find(": ") + 2);
}

/// The number of nodes of one kind in the graph of a function.
template <op Code, class... Args, class F>
int count_of(F) {
  const auto b = oracle::make_builder();
  ir::trace<F, Args...>(*b);
  int out = 0;
  for (int i = 0; i < b->g.num_nodes; ++i) out += b->g[i].code == Code ? 1 : 0;
  return out;
}

template <class T>
oracle::array array_of(const T& x) {
  oracle::array out(T::type);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto value = x.data()[i];
    if constexpr (half_float<std::remove_const_t<decltype(value)>>) {
      out.reals[i] = static_cast<double>(static_cast<float>(value));
    } else if (out.is_real()) {
      out.reals[i] = static_cast<double>(value);
    } else {
      out.integers[i] = static_cast<std::int64_t>(value);
    }
  }
  return out;
}

/// The elements of each output of `f`.
template <class F, class... T>
std::vector<std::vector<double>> all_values(F f, const T&... x) {
  const auto b = oracle::make_builder();
  std::tuple<traced_t<T>...> arguments{ir::make_parameters<T>(*b)...};
  ir::set_outputs(*b, std::apply([&](auto&... argument) { return f(argument...); }, arguments));
  if (!b->problem.empty()) throw std::runtime_error(std::string(b->problem.view()));
  std::vector<std::vector<double>> out;
  for (const oracle::array& result : oracle::interpret(b->g, {array_of(x)...})) {
    out.emplace_back();
    for (std::size_t i = 0; i < result.size(); ++i) out.back().push_back(result[i]);
  }
  return out;
}
/// The elements of the only output.
template <class F, class... T>
std::vector<double> values_of(F f, const T&... x) {
  return all_values(f, x...).at(0);
}

/// The gradient of the sum of `f` by its first argument, as a function of expressions.
template <class F>
auto gradient_function(F f) {
  return [f](const expr& x, const auto&... rest) {
    ir::builder& b = x.builder();
    const expr inner(b, b.variable(x.id()));
    const expr y = f(inner, rest...);
    auto inputs = std::make_unique<passes::ids>();
    auto outputs = std::make_unique<passes::ids>();
    auto ones = std::make_unique<passes::ids>();
    auto result = std::make_unique<passes::ids>();
    inputs->push(inner.id());
    outputs->push(y.id());
    ones->push(b.splat(1, y.type()));
    passes::gradient(b, *outputs, *ones, *inputs, *result);
    const int id = (*result)[0];
    return expr(b, id == ir::no_node ? passes::zeros_like(b, x.id()) : id);
  };
}

/// The gradient of the sum of `f` by its first argument.
template <class F, class... T>
std::vector<double> gradient_of(F f, const T&... x) {
  return values_of(gradient_function(f), x...);
}
/// The gradient of the sum of that: for a function of each element, the second derivative.
template <class F, class... T>
std::vector<double> second_of(F f, const T&... x) {
  return values_of(gradient_function(gradient_function(f)), x...);
}

/// Equal but for rounding; infinities and NaN must be the same.
inline bool are_near(const std::vector<double>& actual, const std::vector<double>& expected,
                     double relative = 1e-12) {
  if (actual.size() != expected.size()) return false;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double a = actual[i];
    const double e = expected[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    if (!(std::abs(a - e) <= relative * std::abs(e))) return false;
  }
  return true;
}

/// The central difference of the sum of `f` by each element of its first argument.
template <class F, class T, class... Rest>
std::vector<double> difference_of(F f, const T& x, const Rest&... rest) {
  const double step = 1e-5;
  const auto total = [&](const T& at) {
    double sum = 0;
    for (const double value : values_of(f, at, rest...)) sum += value;
    return sum;
  };
  std::vector<double> out;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    T high = x;
    T low = x;
    high.data()[i] += step;
    low.data()[i] -= step;
    out.push_back((total(high) - total(low)) / (2 * step));
  }
  return out;
}

using numbers = std::vector<double>;
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace atled::test
