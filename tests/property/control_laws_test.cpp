// property/control_laws_test.cpp: a loop or branch gives what the same written out gives: value,
// both modes, second derivatives in two nestings, in lanes that differ in trips and branches.
// Reads: property/modes.hpp. What is written out is tested by the laws of the other ops.
// SPDX-License-Identifier: MIT
#include "property/modes.hpp"

using namespace atled;
using namespace atled::test;

namespace {

using lanes = tensor<f64, 2, 3>;

/// f(x), its derivatives, and those of <c, f(x)>, f64[5,3].
template <class F>
struct all_modes {
  constexpr auto operator()(auto x, auto v, auto c) const {
    const F f{};
    const auto g = [&](auto u) { return sum(f(u) * c); };
    const auto slope = [&](auto u) { return grad(g)(u); };
    const auto [value, tangent] = jvp(f, x, v);
    const auto [d_x, forward_over_reverse] = jvp(slope, x, v);
    const auto reverse_over_reverse = grad([&](auto u) { return sum(slope(u) * v); })(x);
    return stack({value, tangent, d_x, forward_over_reverse, reverse_over_reverse});
  }
};
template <class F>
struct in_lanes {
  constexpr auto operator()(auto x, auto v, auto c) const { return vmap(all_modes<F>{})(x, v, c); }
};

/// The loop or branch is compiled, what is written out is run node by node.
template <class F, class Written>
void check_law(const char* name, F, Written) {
  INFO(name);
  const lanes x{{0.3, -0.4, 0.7}, {1.2, 0.5, -0.9}};
  const lanes v{{1, -0.5, 0.25}, {0.5, 2, -1}};
  const lanes c{{0.5, 1, -2}, {-1, 0.75, 0.5}};
  const auto many = jit(in_lanes<F>{})(x, v, c);
  const numbers actual(many.begin(), many.end());
  CHECK(are_near(actual, compiled_values(in_lanes<Written>{}, x, v, c), 1e-11));
  const auto still = jit(in_lanes<F>{})(x, lanes{}, c);
  for (int i = 0; i < 3; ++i) {  // a direction of 0 gives exactly 0
    for (const int mode : {1, 3, 4}) CHECK(still(1, mode, i) == 0);
  }
}

constexpr auto step = [](auto c, auto x) { return sin(c) * x + 0.5 * c * c; };

}  // namespace

TEST_CASE("laws: a scan is the loop written out", "[property]") {
  check_law(
      "scan, its rows too",
      [](auto x) {
        const auto body = [](auto c, auto u) {
          const auto next = step(c, u);
          return std::pair(next, next * u);
        };
        const auto [last, rows] = scan(body, x(0), x);
        return rows + last * x;
      },
      [](auto x) {
        auto c = x(0);
        expr rows[3];
        for (int i = 0; i < 3; ++i) {
          c = step(c, x(i));
          rows[i] = c * x(i);
        }
        return stack({rows[0], rows[1], rows[2]}) + c * x;
      });
  check_law(
      "a loop in a loop, from the end, with a captured value",
      [](auto x) {
        const auto inner = [&](auto, auto c) { return step(c, x(1)); };
        const auto outer = [&](auto c, auto u) {
          const auto next = fori_loop(0, 2, inner, c * u);
          return std::pair(next, next);
        };
        return scan(outer, x(2), x, reversed).second;
      },
      [](auto x) {
        auto c = x(2);
        expr rows[3];
        for (int i = 2; i >= 0; --i) {
          c = step(step(c * x(i), x(1)), x(1));
          rows[i] = c;
        }
        return stack({rows[0], rows[1], rows[2]});
      });
}

TEST_CASE("laws: a loop that ends by itself is the steps that it takes", "[property]") {
  check_law(
      "while_loop, lanes end on their own",
      [](auto x) {
        const auto goes_on = [](auto c) { return sum(c * c) < 9.0; };
        const auto body = [&](auto c) { return 1.5 * c + 0.1 * x * c; };
        return while_loop(goes_on, body, x, max_trips<8>);
      },
      [](auto x) {
        auto c = x;
        for (int i = 0; i < 8; ++i) c = where(sum(c * c) < 9.0, 1.5 * c + 0.1 * x * c, c);
        return c;
      });
}

TEST_CASE("laws: a branch is what a where chooses", "[property]") {
  check_law(
      "cond, lanes take branches of their own",
      [](auto x) {
        return cond(
            x(0) > 1.0, [](auto u) { return exp(u) * u(1); }, [](auto u) { return sin(u * u); }, x);
      },
      [](auto x) { return where(x(0) > 1.0, exp(x) * x(1), sin(x * x)); });
  check_law(
      "cond in scan, in a checkpoint",
      [](auto x) {
        const auto body = [](auto c, auto u) {
          const auto next = cond(
              c > 0.5, [](auto a, auto b) { return a * a * b; },
              [](auto a, auto b) { return 2.0 * a + sin(b); }, c, u);
          return std::pair(next, next);
        };
        return checkpoint([&](auto y) { return scan(body, y(1), y).second; })(x);
      },
      [](auto x) {
        auto c = x(1);
        expr rows[3];
        for (int i = 0; i < 3; ++i) {
          c = where(c > 0.5, c * c * x(i), 2.0 * c + sin(x(i)));
          rows[i] = c;
        }
        return stack({rows[0], rows[1], rows[2]});
      });
}
