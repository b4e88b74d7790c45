// unit/passes/stable_test.cpp: values that would overflow or lose their digits as they are written.
// SPDX-License-Identifier: MIT
#include "atled/passes/stable.hpp"

#include "support/catch.hpp"
#include "unit/passes/graphs.hpp"
#include <cmath>

using namespace atled;
using namespace atled::test;

namespace {
using ids_t = std::vector<int>;
constexpr double inf = std::numeric_limits<double>::infinity();

/// The values of a function of one f64 vector, simplified.
template <class Fn>
std::vector<double> simplified_values(const std::vector<double>& x, Fn fn) {
  const tensor_type type = f64_of({static_cast<std::int64_t>(x.size())});
  const auto b =
      graph_of({type}, [&](ir::builder& into, const ids_t& in) { return ids_t{fn(into, in[0])}; });
  return oracle::interpret(simplified_copy(b->g)->g, {oracle::make_array(type, x)})[0].reals;
}

bool is_near(double actual, double expected, double relative = 1e-13) {
  return actual == expected || std::abs(actual - expected) <= relative * std::abs(expected);
}
}  // namespace

TEST_CASE("stable: log(1 + exp x) neither overflows nor loses its tail", "[passes]") {
  const auto y = simplified_values({1000, -40, 0, -inf, inf}, [](ir::builder& b, int x) {
    return b.unary(op::log, b.add(b.splat(1, b.type(x)), b.unary(op::exp, x)));
  });
  CHECK(y[0] == 1000);
  CHECK(is_near(y[1], 4.248354255291589e-18));
  CHECK(is_near(y[2], std::log(2.0)));
  CHECK(y[3] == 0);
  CHECK(y[4] == inf);
  const auto z = simplified_values(
      {1000}, [](ir::builder& b, int x) { return b.unary(op::log1p, b.unary(op::exp, x)); });
  CHECK(z[0] == 1000);
}

TEST_CASE("stable: the logarithm of the logistic function is linear where it is 0", "[passes]") {
  const auto y = simplified_values({-1000, 1000}, [](ir::builder& b, int x) {
    return b.unary(op::log, b.unary(op::logistic, x));
  });
  CHECK(y == std::vector<double>{-1000, 0});
  const auto z = simplified_values({-1000, 1000}, [](ir::builder& b, int x) {
    const int one = b.splat(1, b.type(x));
    return b.unary(op::log, b.div(one, b.add(one, b.unary(op::exp, b.neg(x)))));
  });
  CHECK(z == std::vector<double>{-1000, 0});
}

TEST_CASE("stable: log(sum(exp x)) is logsumexp", "[passes]") {
  const auto by_hand = [](ir::builder& b, int x) {
    return b.unary(op::log, b.reduce(op::reduce_sum, b.unary(op::exp, x), 1));
  };
  CHECK(is_near(simplified_values({1000, 1000}, by_hand)[0], 1000.6931471805599));
  CHECK(simplified_values({-inf, -inf}, by_hand)[0] == -inf);
}

TEST_CASE("stable: the logarithm of a softmax by hand does not underflow", "[passes]") {
  const auto y = simplified_values({-1000, 1000}, [](ir::builder& b, int x) {
    const int e = b.unary(op::exp, x);
    const int sum = b.broadcast(b.reduce(op::reduce_sum, e, 1), b.type(x).dims, 0);
    return b.unary(op::log, b.div(e, sum));
  });
  CHECK(y == std::vector<double>{-2000, 0});
}

TEST_CASE("stable: the logarithm of an exponential is its argument", "[passes]") {
  CHECK(simplified_values({1000, -1000}, [](ir::builder& b, int x) {
          return b.unary(op::log, b.unary(op::exp, x));
        }) == std::vector<double>{1000, -1000});
}

TEST_CASE("stable: the square root of a square is the absolute value", "[passes]") {
  CHECK(simplified_values({-1e200, 3, 0}, [](ir::builder& b, int x) {
          return b.unary(op::sqrt, b.mul(x, x));
        }) == std::vector<double>{1e200, 3, 0});
}

TEST_CASE("stable: 1 - tanh(x)^2 has all its digits in the tail", "[passes]") {
  const auto y = simplified_values({10, -10, 0}, [](ir::builder& b, int x) {
    const int t = b.unary(op::tanh, x);
    return b.sub(b.splat(1, b.type(x)), b.mul(t, t));
  });
  CHECK(is_near(y[0], 8.24461445576739e-9));
  CHECK(is_near(y[1], 8.24461445576739e-9));
  CHECK(y[2] == 1);
}

TEST_CASE("stable: x log(x) is 0 at 0", "[passes]") {
  CHECK(simplified_values({0, 1}, [](ir::builder& b, int x) {
          return b.mul(x, b.unary(op::log, x));
        }) == std::vector<double>{0, 0});
  CHECK(simplified_values({0, 1}, [](ir::builder& b, int x) {
          return b.mul(b.neg(x), b.unary(op::log, x));
        }) == std::vector<double>{0, 0});
}
