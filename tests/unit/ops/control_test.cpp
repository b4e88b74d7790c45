// unit/ops/control_test.cpp: loops and branches: values, derivatives in both modes, second orders.
// SPDX-License-Identifier: MIT
#include "atled/ops/control.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/checkpoint.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"
#include "atled/transform/jvp.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include "unit/ops/traced.hpp"
#include <cmath>
#include <utility>

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec3 = tensor<f64, 3>;

/// The derivative of a function of one scalar, forward.
template <class F>
double slope(F f, double at) {
  const scalar x(at);
  const scalar one(1.0);
  return static_cast<double>(jit(jvp(f))(x, one).second);
}
template <class F>
double value(F f, double at) {
  const scalar x(at);
  return static_cast<double>(jit(f)(x));
}
template <class F>
double gradient(F f, double at) {
  const scalar x(at);
  return static_cast<double>(jit(grad(f))(x));
}

constexpr auto square_below_100 = [](auto x) {  // CF1
  return while_loop([](auto y) { return y < 100.0; }, [](auto y) { return y * y; }, x);
};
constexpr auto square_bounded = [](auto x) {
  return while_loop([](auto y) { return y < 100.0; }, [](auto y) { return y * y; }, x,
                    max_trips<8>);
};
constexpr auto newton = [](auto a) {  // CF2
  const auto step = [&](auto state) {
    const auto [now, before] = state;
    return std::pair(0.5 * (now + a / now), now);
  };
  const auto moves = [](auto state) { return abs(state.first - state.second) > 1e-15; };
  return while_loop(moves, step, std::pair(a, a + 1.0), max_trips<30>).first;
};
constexpr auto decay = [](auto a, auto x, auto c0) {  // CF3
  const auto step = [&](auto c, auto row) {
    const auto next = a * c + row;
    return std::pair(next, next);
  };
  return scan(step, c0, x);
};
constexpr auto last_of_decay = [](auto a, auto x, auto c0) { return decay(a, x, c0).first; };
constexpr auto tenth_power = [](auto r) {  // CF4
  return fori_loop(
      0, 10, [&](auto, auto c) { return c * r; }, 1.0 + 0.0 * r);
};
constexpr auto log_or_square = [](auto x) {  // CF5
  return cond(
      x > 0.0, [](auto y) { return log(y); }, [](auto y) { return square(y); }, x);
};
constexpr auto no_trip = [](auto x) {  // CF6
  const auto never =
      while_loop([](auto y) { return y > 10.0; }, [](auto y) { return y * y; }, x, max_trips<4>);
  return fori_loop(
      5, 5, [](auto, auto c) { return c * c; }, never);
};
constexpr auto outer_value = [](auto w) {  // CF7
  return scan([&](auto c) { return std::pair(w * c, std::tuple<>{}); }, 1.0 + 0.0 * w, length<3>)
      .first;
};
constexpr auto collatz = [](auto x) {  // CF8
  const auto step = [](auto, auto c) {
    return cond(
        c > 2.0, [&] { return c / 2.0; }, [&] { return 3.0 * c; });
  };
  return fori_loop(0, 4, step, x);
};
constexpr auto lazy_log = [](auto x) {  // CF9
  return cond(
      x > 0.0, [&] { return log(x); }, [] { return 0.0; });
};
/// The function itself, where a test compares with the checkpointed one.
constexpr auto as_it_is = [](auto f) { return f; };
constexpr auto again = [](auto f) { return checkpoint(f); };

template <class How>
struct wavy_while {
  template <class X>
  constexpr auto operator()(X x) const {
    const auto next = How{}([](auto y) { return y * y * exp(y * 0.01); });
    return while_loop([](auto y) { return y < 100.0; }, next, x, max_trips<8>);
  }
};
template <class How>
struct wavy_cond {
  template <class X>
  constexpr auto operator()(X x) const {
    const auto step = [](auto, auto c) {
      return cond(c > 2.0, How{}([](auto y) { return log(y); }),
                  How{}([](auto y) { return exp(sin(y)) + 1.0; }), c);
    };
    return fori_loop(0, 4, step, x);
  }
};

/// Its bwd is not linear: it clips.
constexpr auto clipped =
    custom_vjp([](auto x) { return x; }, [](auto x) { return std::pair(x, std::tuple<>{}); },
               [](auto, auto ct) { return std::tuple(minimum(ct, 1.0)); });
constexpr auto with_clips = [](auto x) {
  return fori_loop(
      0, 3, [](auto, auto c) { return clipped(2.0 * c); }, x);
};

}  // namespace

TEST_CASE("while_loop: it runs until its condition is false", "[ops]") {
  CHECK(value(square_below_100, 3) == 6561);
  CHECK(slope(square_below_100, 3) == 17496);
  CHECK(value(square_bounded, 3) == 6561);
  CHECK(slope(square_bounded, 3) == 17496);
  CHECK(gradient(square_bounded, 3) == 17496);
}

TEST_CASE("while_loop: the derivative of Newton's iteration is that of the root", "[ops]") {
  CHECK(near(value(newton, 2), 1.4142135623730951, {1e-15, 0}));
  CHECK(near(slope(newton, 2), 0.35355339059327, {1e-13, 0}));
  CHECK(near(gradient(newton, 2), 0.35355339059327, {1e-13, 0}));
}

TEST_CASE("scan: carries and rows, and the derivatives of both", "[ops]") {
  const scalar a(0.5);
  const scalar c0(1.0);
  const vec3 x{1, 2, 3};
  const auto [last, rows] = jit(decay)(a, x, c0);
  CHECK(static_cast<double>(last) == 4.375);
  CHECK(same_bits(rows, vec3{1.5, 2.75, 4.375}));
  const auto [by_a, by_x, by_c0] = jit(grad(last_of_decay, argnums<0, 1, 2>))(a, x, c0);
  CHECK(static_cast<double>(by_a) == 3.75);
  CHECK(same_bits(by_x, vec3{0.25, 0.5, 1}));
  CHECK(static_cast<double>(by_c0) == 0.125);
  CHECK(static_cast<double>(jit(grad(grad(last_of_decay)))(a, x, c0)) == 5);
}

TEST_CASE("fori_loop: derivatives to the second order, in all orders of modes", "[ops]") {
  CHECK(near(value(tenth_power, 1.1), 2.5937424601));
  CHECK(near(slope(tenth_power, 1.1), 23.57947691));
  CHECK(near(gradient(tenth_power, 1.1), 23.57947691));
  const double second = 192.9229929;
  CHECK(near(gradient([](auto r) { return grad(tenth_power)(r); }, 1.1), second));
  CHECK(near(slope([](auto r) { return grad(tenth_power)(r); }, 1.1), second));
  const auto forward = [](auto r) { return jvp(tenth_power)(r, 1.0 + 0.0 * r).second; };
  CHECK(near(gradient(forward, 1.1), second));
  CHECK(near(slope(forward, 1.1), second));
}

TEST_CASE("cond: only the branch that is taken runs and is differentiated", "[ops]") {
  CHECK(value(log_or_square, -1) == 1);
  CHECK(gradient(log_or_square, -1) == -2);
  CHECK(gradient(log_or_square, 2) == 0.5);
  CHECK(slope(log_or_square, 2) == 0.5);
  CHECK(value(lazy_log, 0) == 0);
  CHECK(gradient(lazy_log, 0) == 0);
}

TEST_CASE("while_loop, fori_loop: without a trip the value stays", "[ops]") {
  CHECK(value(no_trip, 3) == 3);
  CHECK(gradient(no_trip, 3) == 1);
  CHECK(slope(no_trip, 3) == 1);
}

TEST_CASE("scan: a value from outside is differentiated", "[ops]") {
  CHECK(value(outer_value, 2) == 8);
  CHECK(gradient(outer_value, 2) == 12);
  CHECK(slope(outer_value, 2) == 12);
}

TEST_CASE("cond: inside a loop", "[ops]") {
  CHECK(value(collatz, 1) == 2.25);
  CHECK(gradient(collatz, 1) == 2.25);
  CHECK(slope(collatz, 1) == 2.25);
}

TEST_CASE("while_loop, cond: with a checkpointed body the derivative has the same bits", "[ops]") {
  CHECK(gradient(wavy_while<decltype(as_it_is)>{}, 3) ==
        gradient(wavy_while<decltype(again)>{}, 3));
  CHECK(gradient(wavy_cond<decltype(as_it_is)>{}, 1) == gradient(wavy_cond<decltype(again)>{}, 1));
}

TEST_CASE("fori_loop: a bwd of the user's own need not be linear", "[ops]") {
  CHECK(gradient(with_clips, 1) == 2);
}
