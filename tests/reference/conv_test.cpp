// Convolutions and pools against jax.lax: conv_numbers.hpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/conv.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/pool.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "reference/conv_numbers.hpp"
#include "support/catch.hpp"
#include "unit/ops/traced.hpp"
#include <algorithm>
#include <span>

namespace {

using namespace atled;
using namespace atled::test;
namespace reference = atled::reference;

template <class T>
T operand(std::span<const f64> values) {
  T out;
  std::ranges::copy(values, out.data());
  return out;
}

bool agree(const numbers& actual, std::span<const f64> expected) {
  return actual.size() == expected.size() && std::ranges::equal(actual, expected, [](f64 x, f64 y) {
           return std::abs(x - y) <= 1e-12 * (1 + std::abs(y));
         });
}

/// The sum of the result times i % 5 - 2, i counting its elements.
template <class F>
auto weighed(F f) {
  return [f](const auto&... x) {
    const expr y = f(x...);
    const ir::operand flat = ir::flattened(ir::operand(y, call_site::here()));
    ir::builder& b = y.builder();
    const ir::operand count(b, b.iota(flat.type(), 0));
    const ir::operand rest = ir::operand::combine(op::rem, count, count.like(5));
    return sum(flat * (rest - 2.0));
  };
}

template <class F, class X>
bool is_right(F f, const X& x, std::span<const f64> y, std::span<const f64> dx) {
  return agree(values_of(f, x), y) && agree(gradient_of(weighed(f), x), dx);
}
template <class F, class X, class W>
bool is_right(F f, const X& x, const W& w, std::span<const f64> y, std::span<const f64> dx,
              std::span<const f64> dw) {
  const auto turned = [f](const auto& b, const auto& a) { return f(a, b); };
  return agree(values_of(f, x, w), y) && agree(gradient_of(weighed(f), x, w), dx) &&
         agree(gradient_of(weighed(turned), w, x), dw);
}

#define OPERAND(name, ...) operand<tensor<f64, __VA_ARGS__>>(reference::name)
#define RESULTS(name) reference::name##_y, reference::name##_dx, reference::name##_dw

}  // namespace

TEST_CASE("conv: strides, padding and dilation are those of jax.lax", "[reference]") {
  const auto f = [](auto x, auto w) {
    return conv(x, w, {.strides = {2, 1}, .padding = same, .rhs_dilation = {1, 2}});
  };
  CHECK(is_right(f, OPERAND(same_x, 2, 3, 5, 6), OPERAND(same_w, 4, 3, 3, 2), RESULTS(same)));
  const auto spread = [](auto x, auto w) {
    return conv(x, w, {.padding = {{1, 1}, {2, 2}}, .lhs_dilation = {2, 3}});
  };
  CHECK(is_right(spread, OPERAND(spread_x, 1, 2, 3, 3), OPERAND(spread_w, 2, 2, 2, 3),
                 RESULTS(spread)));
}

TEST_CASE("conv: groups, and one output for each channel", "[reference]") {
  const auto groups = [](auto x, auto w) {
    return conv_general_dilated(
        x, w, {.padding = {{1, 2}, {0, 1}}, .feature_group_count = 2, .layout = channels_last});
  };
  CHECK(is_right(groups, OPERAND(groups_x, 1, 5, 5, 4), OPERAND(groups_w, 3, 3, 2, 6),
                 RESULTS(groups)));
  const auto each = [](auto x, auto w) {
    return conv(x, w, {.strides = {2}, .feature_group_count = 4});
  };
  CHECK(is_right(each, OPERAND(each_x, 1, 4, 8), OPERAND(each_w, 4, 1, 3), RESULTS(each)));
}

TEST_CASE("conv_transpose: sizes and values of jax.lax", "[reference]") {
  const auto same_size = [](auto x, auto w) {
    return conv_transpose(x, w, {.strides = {2, 2}, .padding = same, .layout = channels_last});
  };
  CHECK(is_right(same_size, OPERAND(transposed_same_x, 1, 3, 4, 2),
                 OPERAND(transposed_same_w, 3, 3, 2, 3), RESULTS(transposed_same)));
  const auto whole = [](auto x, auto w) {
    return conv_transpose(x, w, {.strides = {2, 2}, .layout = channels_last});
  };
  CHECK(is_right(whole, OPERAND(transposed_valid_x, 1, 3, 4, 2),
                 OPERAND(transposed_valid_w, 3, 3, 2, 3), RESULTS(transposed_valid)));
}

TEST_CASE("pools: values and gradients of jax.lax", "[reference]") {
  const auto apart = [](auto x) { return max_pool(x, {2, 2}, {.strides = {2, 2}}); };
  CHECK(is_right(apart, OPERAND(max_apart_x, 2, 2, 5, 4), reference::max_apart_y,
                 reference::max_apart_dx));
  const auto over = [](auto x) {
    return max_pool(x, {3, 2}, {.strides = {2, 1}, .padding = same, .layout = channels_last});
  };
  CHECK(is_right(over, OPERAND(max_over_x, 1, 5, 4, 2), reference::max_over_y,
                 reference::max_over_dx));
  const auto mean_over = [](auto x) {
    return avg_pool(x, {2, 3}, {.strides = {2, 1}, .padding = same});
  };
  CHECK(is_right(mean_over, OPERAND(mean_over_x, 1, 2, 5, 4), reference::mean_over_y,
                 reference::mean_over_dx));
}

TEST_CASE("conv: a compiled program and its gradient", "[reference]") {
  constexpr auto f = [](auto x, auto w) {
    const auto y = conv(x, w, {.strides = {2, 1}, .padding = same, .rhs_dilation = {1, 2}});
    return std::tuple{
        y, grad([](auto a, auto b) {
          return sum(square(max_pool(conv(a, b, {.padding = same}), {2, 2}, {.strides = {2, 2}})));
        })(x, w)};
  };
  const auto x = OPERAND(same_x, 2, 3, 5, 6);
  const auto w = OPERAND(same_w, 4, 3, 3, 2);
  const auto [y, dx] = jit(f)(x, w);
  CHECK(agree(numbers(y.begin(), y.end()), reference::same_y));
  CHECK(agree(numbers(dx.begin(), dx.end()), all_values(f, x, w)[1]));
}
