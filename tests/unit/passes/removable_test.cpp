// unit/passes/removable_test.cpp: quotients that are 0/0 at 0, written by hand: values and
// derivatives at 0, near it and far from it.
// SPDX-License-Identifier: MIT
#include "atled/passes/removable.hpp"

#include "atled/passes/gradient.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"
#include <cmath>

using namespace atled;
using namespace atled::test;

namespace {
using numbers = std::vector<double>;

/// The value of f(x)/x and its first two derivatives, simplified.
numbers quotient(op code, double x) {
  const auto b = graph_of({f64_of({})}, [code](ir::builder& into, const std::vector<int>& in) {
    const int v = into.variable(in[0]);
    std::vector<int> out{into.div(into.unary(code, v), v)};
    for (int order = 0; order < 2; ++order) {
      passes::ids outputs{};
      passes::ids seeds{};
      passes::ids inputs{};
      passes::ids result{};
      outputs.push(out.back());
      seeds.push(into.constant(1, dtype::f64));
      inputs.push(v);
      passes::gradient(into, outputs, seeds, inputs, result);
      out.push_back(result[0]);
    }
    return out;
  });
  numbers out;
  const auto results =
      oracle::interpret(simplified_copy(b->g)->g, {oracle::make_array(f64_of({}), {x})});
  for (const oracle::array& result : results) out.push_back(result[0]);
  return out;
}

bool agree(const numbers& actual, const numbers& expected, double relative) {
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!(std::abs(actual[i] - expected[i]) <= relative * std::abs(expected[i]))) return false;
  }
  return actual.size() == expected.size();
}
}  // namespace

TEST_CASE("removable: value and derivatives at 0 are the limits", "[passes]") {
  CHECK(agree(quotient(op::sin, 0), {1, 0, -1.0 / 3}, 1e-15));
  CHECK(agree(quotient(op::tanh, 0), {1, 0, -2.0 / 3}, 1e-15));
  CHECK(agree(quotient(op::expm1, 0), {1, 0.5, 1.0 / 3}, 1e-15));
  CHECK(agree(quotient(op::log1p, 0), {1, -0.5, 2.0 / 3}, 1e-15));
}

TEST_CASE("removable: the series and the quotient agree where they meet", "[passes]") {
  for (const op code : {op::sin, op::tanh, op::expm1, op::log1p}) {
    const double edge = passes::detail::series_of(code).radius;
    for (const double sign : {-1.0, 1.0}) {
      CAPTURE(info(code).name, sign);
      const double inside = sign * std::nextafter(edge, 0.0);
      CHECK(agree(quotient(code, inside), quotient(code, sign * edge), 1e-11));
    }
  }
}

TEST_CASE("removable: far from 0 nothing changes", "[passes]") {
  const double x = 1.5;
  const double value = std::sin(x) / x;
  const double slope = (std::cos(x) - value) / x;
  CHECK(agree(quotient(op::sin, x), {value, slope, (-std::sin(x) - 2 * slope) / x}, 1e-14));
}
