// unit/ops/scan_test.cpp: scan, map, associative_scan: trees, options, nesting, memory.
// SPDX-License-Identifier: MIT
#include "atled/ops/scan.hpp"

#include "atled/ops/associative_scan.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/ops/traced.hpp"
#include <cmath>
#include <utility>

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;

/// A gated recurrent unit of 3 inputs and 4 states.
template <class K>
struct gru {
  typename K::template leaf<f64, 3, 12> input;
  typename K::template leaf<f64, 4, 12> state;
  typename K::template leaf<f64, 12> bias;
  ATLED_TREE(gru, input, state, bias)

  constexpr auto operator()(auto h, auto x) const {
    const auto a = matmul(x, input) + bias;
    const auto c = matmul(h, state);
    const auto gate = [](auto v, int i) { return slice(v, 4 * i, 4 * i + 4); };
    const auto update = logistic(gate(a, 0) + gate(c, 0));
    const auto reset = logistic(gate(a, 1) + gate(c, 1));
    const auto candidate = tanh(gate(a, 2) + reset * gate(c, 2));
    return (1.0 - update) * h + update * candidate;
  }

 private:
  static constexpr auto slice(auto v, int begin, int end) {
    return expr(v.builder(), v.builder().slice(v.id(), shape::of({begin}), shape::of({end - begin}),
                                               shape::of({1})));
  }
};
constexpr auto gru_loss = [](auto cell, auto h0, auto xs) {
  const auto step = [&](auto h, auto x) {
    const auto next = cell(h, x);
    return std::pair(next, next);
  };
  const auto [last, hs] = scan(step, h0, xs);
  return sum(square(hs)) + sum(last);
};

constexpr auto fibonacci = [](auto a, auto b) {
  const auto step = [](auto pair) {
    const auto next = pair.first + pair.second;
    return std::pair(std::pair(pair.second, next), next);
  };
  return scan(step, std::pair(a, b), length<10>);
};

/// sum over rows of the product over columns of x + c, as a loop in a loop.
constexpr auto nested = [](auto x, auto c) {
  const auto row = [&](auto total, auto r) {
    const auto element = [&](auto product, auto e) {
      return std::pair(product * (e + c), std::tuple<>{});
    };
    return std::pair(total + scan(element, 1.0, r).first, std::tuple<>{});
  };
  return scan(row, 0.0, x).first;
};

template <bool IsReverse, std::int64_t Unroll>
struct affine {
  template <class C, class X>
  constexpr auto operator()(C c0, X xs) const {
    const auto step = [](auto c, auto x) { return std::pair(0.5 * c + x, c * x); };
    if constexpr (IsReverse) {
      return scan(step, c0, xs, reversed, unroll<Unroll>);
    } else {
      return scan(step, c0, xs, unroll<Unroll>);
    }
  }
};
}  // namespace

TEST_CASE("scan: a recurrent cell is differentiated by all its weights", "[ops]") {
  gru<values> cell{};
  const auto fill = [](auto& x, double phase) {
    for (std::size_t i = 0; i < x.span().size(); ++i) {
      x.data()[i] = 0.7 * std::sin(phase + 1.3 * static_cast<double>(i));
    }
  };
  fill(cell.input, 0.1);
  fill(cell.state, 0.5);
  fill(cell.bias, 0.9);
  tensor<f64, 4> h0{};
  fill(h0, 2);
  tensor<f64, 6, 3> xs{};
  fill(xs, 3);
  constexpr auto loss = jit(gru_loss);
  const auto [by_cell, by_h0, by_xs] = jit(grad(gru_loss, argnums<0, 1, 2>))(cell, h0, xs);
  const auto slope_at = [&](double& x) {
    const double kept = x;
    constexpr double step = 1e-6;
    x = kept + step;
    const auto high = static_cast<double>(loss(cell, h0, xs));
    x = kept - step;
    const auto low = static_cast<double>(loss(cell, h0, xs));
    x = kept;
    return (high - low) / (2 * step);
  };
  for (std::size_t i = 0; i < 36; i += 7) {
    CHECK(near(by_cell.input.data()[i], slope_at(cell.input.data()[i])));
  }
  for (std::size_t i = 0; i < 48; i += 7) {
    CHECK(near(by_cell.state.data()[i], slope_at(cell.state.data()[i])));
  }
  for (std::size_t i = 0; i < 12; i += 3) {
    CHECK(near(by_cell.bias.data()[i], slope_at(cell.bias.data()[i])));
  }
  for (std::size_t i = 0; i < 4; ++i) CHECK(near(by_h0.data()[i], slope_at(h0.data()[i])));
  for (std::size_t i = 0; i < 18; i += 5) CHECK(near(by_xs.data()[i], slope_at(xs.data()[i])));
}

TEST_CASE("scan: carries are trees that change places", "[ops]") {
  const auto [last, all] = jit(fibonacci)(scalar(0.0), scalar(1.0));
  CHECK(static_cast<double>(last.first) == 55);
  CHECK(static_cast<double>(last.second) == 89);
  CHECK(same_bits(all, tensor<f64, 10>{1, 2, 3, 5, 8, 13, 21, 34, 55, 89}));
}

TEST_CASE("scan: a loop in a loop, and its derivatives", "[ops]") {
  const tensor<f64, 2, 3> x{1, 2, 3, 4, 5, 6};
  const scalar c(0.5);
  // 1.5 * 2.5 * 3.5 + 4.5 * 5.5 * 6.5
  CHECK(static_cast<double>(jit(nested)(x, c)) == 13.125 + 160.875);
  const auto [by_x, by_c] = jit(grad(nested, argnums<0, 1>))(x, c);
  CHECK(near(by_x, tensor<f64, 2, 3>{8.75, 5.25, 3.75, 35.75, 29.25, 24.75}));
  CHECK(near(by_c, scalar(8.75 + 5.25 + 3.75 + 35.75 + 29.25 + 24.75)));
  // twice by c: twice the sum over pairs of factors of the third
  CHECK(near(jit(grad(grad(nested, argnums<1>), argnums<1>))(x, c),
             scalar(2 * (1.5 + 2.5 + 3.5 + 4.5 + 5.5 + 6.5))));
}

TEST_CASE("scan: written out in part, in both directions, it gives the same", "[ops]") {
  const scalar c0(1.0);
  const tensor<f64, 7> xs{1, 2, 3, 4, 5, 6, 7};
  const auto forward = jit(affine<false, 1>{})(c0, xs);
  CHECK(same_bits(forward.second, tensor<f64, 7>{1, 3, 8.25, 17.5, 30.9375, 48.5625, 70.328125}));
  const auto in_threes = jit(affine<false, 3>{})(c0, xs);
  CHECK(same_bits(in_threes.first, forward.first));
  CHECK(same_bits(in_threes.second, forward.second));
  const auto backward = jit(affine<true, 1>{})(c0, xs);
  const auto in_twos = jit(affine<true, 2>{})(c0, xs);
  const auto at_once = jit(affine<true, 7>{})(c0, xs);
  CHECK(backward.second(6) == 7);
  CHECK(same_bits(in_twos.second, backward.second));
  CHECK(same_bits(at_once.second, backward.second));
  CHECK(same_bits(at_once.first, backward.first));
}

TEST_CASE("map: a function of each row", "[ops]") {
  constexpr auto f = [](auto x) { return map([](auto row) { return sum(row) * row; }, x); };
  CHECK(same_bits(jit(f)(tensor<f64, 2, 2>{1, 2, 3, 4}), tensor<f64, 2, 2>{3, 6, 21, 28}));
}

TEST_CASE("associative_scan: sums, from both ends, and of maps composed", "[ops]") {
  constexpr auto sums = [](auto x) {
    const auto add = [](auto a, auto b) { return a + b; };
    return std::pair(associative_scan(add, x), associative_scan(add, x, reversed));
  };
  const auto [up, down] = jit(sums)(tensor<f64, 5>{1, 2, 3, 4, 5});
  CHECK(same_bits(up, tensor<f64, 5>{1, 3, 6, 10, 15}));
  CHECK(same_bits(down, tensor<f64, 5>{15, 14, 12, 9, 5}));
  constexpr auto recurrence = [](auto a, auto x) {  // c = a c + x, from 0
    const auto compose = [](auto f, auto g) {
      return std::pair(f.first * g.first, g.first * f.second + g.second);
    };
    return associative_scan(compose, std::pair(a, x)).second;
  };
  const tensor<f64, 6> a{0.5, 0.5, 0.5, 0.5, 0.5, 0.5};
  CHECK(same_bits(jit(recurrence)(a, tensor<f64, 6>{1, 2, 3, 4, 5, 6}),
                  tensor<f64, 6>{1, 2.5, 4.25, 6.125, 8.0625, 10.03125}));
}
