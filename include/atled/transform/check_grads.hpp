// atled/transform/check_grads.hpp: check_grads: derivatives against differences, for tests.
// Reads: transform/vjp.hpp, transform/jit.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "atled/transform/jit.hpp"
#include "atled/transform/vjp.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <tuple>
#include <type_traits>

namespace atled {
namespace detail {

/// The elements of a leaf: of a tensor, or the number itself.
template <class Leaf>
auto* elements_of(Leaf& leaf) {
  if constexpr (requires { leaf.data(); }) {
    return leaf.data();
  } else {
    return &leaf;
  }
}
template <class Leaf>
std::int64_t count_of(const Leaf& leaf) {
  if constexpr (requires { leaf.size(); }) {
    return leaf.size();
  } else {
    return 1;
  }
}

/// Calls `fn(element, elements of the other trees at the same place...)` for all floats.
template <class Fn, class Tree, class... Others>
void for_each_float(Fn&& fn, Tree& tree, Others&... others) {
  for_each_leaf(
      [&](auto& leaf, auto&... other) {
        using T = std::remove_cvref_t<decltype(*elements_of(leaf))>;
        if constexpr (std::is_floating_point_v<T> || half_float<T>) {
          for (std::int64_t i = 0; i < count_of(leaf); ++i) {
            fn(elements_of(leaf)[i], elements_of(other)[i]...);
          }
        }
      },
      tree, others...);
}

/// How near derivatives and differences must be, by the coarsest element type.
struct difference_step {
  double step = 1e-5;
  double tolerance = 1e-6;
};
template <class... Trees>
difference_step step_for(const Trees&... trees) {
  difference_step out;
  const auto look = [&](const auto& tree) {
    for_each_float(
        [&](const auto& x) {
          using T = std::remove_cvref_t<decltype(x)>;
          if constexpr (std::is_same_v<T, f32>) {
            out = {std::max(out.step, 1e-2), std::max(out.tolerance, 5e-3)};
          } else if constexpr (half_float<T>) {
            out = {0.125, 0.1};
          }
        },
        tree);
  };
  (look(trees), ...);
  return out;
}

/// Numbers between -1 and 1 in place of the floats of a tree; the same at each call.
template <class Tree>
Tree direction_like(const Tree& tree, std::uint32_t seed) {
  Tree out = tree;
  for_each_float(
      [&](auto& x) {
        seed = seed * 1664525U + 1013904223U;
        using T = std::remove_cvref_t<decltype(x)>;
        x = static_cast<T>(static_cast<f32>(seed >> 8) / 8388608.0F - 1.0F);
      },
      out);
  return out;
}

template <class Tree>
Tree moved_along(const Tree& point, const Tree& direction, double step) {
  Tree out = point;
  for_each_float(
      [&](auto& x, const auto& d) {
        using T = std::remove_cvref_t<decltype(x)>;
        x = static_cast<T>(static_cast<double>(x) + step * static_cast<double>(d));
      },
      out, direction);
  return out;
}

/// The sum of products, and of their magnitudes.
struct inner_product {
  double value = 0;
  double magnitude = 0;
};
template <class Tree, class Other>
inner_product inner_product_of(const Tree& x, const Other& y) {
  inner_product out;
  for_each_float(
      [&](const auto& a, const auto& b) {
        const double term = static_cast<double>(a) * static_cast<double>(b);
        out.value += term;
        out.magnitude += std::abs(term);
      },
      x, y);
  return out;
}

inline std::string grads_sentence(const char* what, int order, double found, double expected) {
  char out[200];
  std::snprintf(out, sizeof out, "check_grads: order %d: %s %.9g against %.9g: they must agree",
                order, what, found, expected);
  return out;
}

/// jvp against a difference, and vjp against jvp.
template <class F, class... Args>
void check_first_order(const F&, int order, const std::tuple<Args...>& point) {
  const auto direction = direction_like(point, 1);
  const auto [value, tangent] = jvp_function<F>{}(point, direction);
  const auto at = [&](double step) {
    return std::apply(value_function<false, F>{}, moved_along(point, direction, step)).first;
  };
  const difference_step by = step_for(point, value);
  const auto high = at(by.step);
  const auto low = at(-by.step);
  for_each_float(
      [&](const auto& t, const auto& h, const auto& l) {
        const double quotient = (static_cast<double>(h) - static_cast<double>(l)) / (2 * by.step);
        const double scale = 1 + std::abs(quotient) + std::abs(static_cast<double>(h));
        const bool agree = std::abs(static_cast<double>(t) - quotient) <= by.tolerance * scale;
        ATLED_REQUIRE(agree, grads_sentence("the tangent of jvp is, and the difference quotient",
                                            order, static_cast<double>(t), quotient));
      },
      tangent, high, low);

  const auto cotangent = direction_like(value, 2);
  const auto pulled = pullback_function<false, false, F>{}(point, cotangent);
  const inner_product forward = inner_product_of(cotangent, tangent);
  const inner_product reverse = inner_product_of(pulled, direction);
  const double scale = 1 + forward.magnitude + reverse.magnitude;
  ATLED_REQUIRE(std::abs(forward.value - reverse.value) <= by.tolerance * scale,
                grads_sentence("the product of vjp is, and that of jvp", order, reverse.value,
                               forward.value));
}

template <int Order, int Now, class F, class... Args>
void check_order(const F& f, const Args&... args) {
  const std::tuple<Args...> point(args...);
  check_first_order(f, Now, point);
  if constexpr (Now < Order) {
    const auto value = value_function<false, F>{}(args...).first;
    check_order<Order, Now + 1>(tangent_function<false, F>{}, point, direction_like(point, 3));
    check_order<Order, Now + 1>(pullback_function<false, false, F>{}, point,
                                direction_like(value, 4));
  }
}

}  // namespace detail

/// Checks jvp against difference quotients, and vjp against jvp, along some directions.
///
///   check_grads<2>(f, x, w);     derivatives of order 1 and 2
///
/// The function is smooth near its arguments. Integers stay as they are.
/// Cost: three programs, and for each further order twice those of the order before.
/// Throws: atled::error with the first pair of numbers that differ.
template <int Order = 1, class F, class... Args>
  requires std::is_empty_v<F>
void check_grads(const F& f, const Args&... args) {
  static_assert(Order >= 1, "atled::check_grads: the order is 1 or more");
  detail::check_order<Order, 1>(f, args...);
}

}  // namespace atled
