// reference/ops_test.cpp: functions and small programs, values and gradients, against JAX.
// Reads: reference/op_numbers.hpp, which make_ops.py writes. One program takes a row of numbers for
// each function, so that few programs are built.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"

#include "reference/op_numbers.hpp"
#include "support/catch.hpp"
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

using namespace atled;

namespace {

template <class F>
struct named {
  std::string_view name;
  F f;
};
template <class F>
named(const char*, F) -> named<F>;

constexpr auto kepler = [](auto mean_anomaly, auto eccentricity) {
  auto e = mean_anomaly;
  for (int i = 0; i < 3; ++i) {
    e = e - (e - eccentricity * sin(e) - mean_anomaly) / (1 - eccentricity * cos(e));
  }
  return e;
};

constexpr std::tuple unary_functions{
    named{"exp", [](auto x) { return exp(x); }},
    named{"expm1", [](auto x) { return expm1(x); }},
    named{"log", [](auto x) { return log(x); }},
    named{"log1p", [](auto x) { return log1p(x); }},
    named{"log2", [](auto x) { return log2(x); }},
    named{"log10", [](auto x) { return log10(x); }},
    named{"exp2", [](auto x) { return exp2(x); }},
    named{"sqrt", [](auto x) { return sqrt(x); }},
    named{"rsqrt", [](auto x) { return rsqrt(x); }},
    named{"cbrt", [](auto x) { return cbrt(x); }},
    named{"reciprocal", [](auto x) { return reciprocal(x); }},
    named{"square", [](auto x) { return square(x); }},
    named{"abs", [](auto x) { return abs(x); }},
    named{"sign", [](auto x) { return sign(x); }},
    named{"floor", [](auto x) { return floor(x); }},
    named{"ceil", [](auto x) { return ceil(x); }},
    named{"round", [](auto x) { return round(x); }},
    named{"trunc", [](auto x) { return trunc(x); }},
    named{"sin", [](auto x) { return sin(x); }},
    named{"cos", [](auto x) { return cos(x); }},
    named{"tan", [](auto x) { return tan(x); }},
    named{"asin", [](auto x) { return asin(x); }},
    named{"acos", [](auto x) { return acos(x); }},
    named{"atan", [](auto x) { return atan(x); }},
    named{"sinh", [](auto x) { return sinh(x); }},
    named{"cosh", [](auto x) { return cosh(x); }},
    named{"tanh", [](auto x) { return tanh(x); }},
    named{"asinh", [](auto x) { return asinh(x); }},
    named{"acosh", [](auto x) { return acosh(x); }},
    named{"atanh", [](auto x) { return atanh(x); }},
    named{"sinc", [](auto x) { return sinc(x); }},
    named{"deg2rad", [](auto x) { return deg2rad(x); }},
    named{"rad2deg", [](auto x) { return rad2deg(x); }},
    named{"erf", [](auto x) { return erf(x); }},
    named{"erfc", [](auto x) { return erfc(x); }},
    named{"erf_inv", [](auto x) { return erf_inv(x); }},
    named{"lgamma", [](auto x) { return lgamma(x); }},
    named{"digamma", [](auto x) { return digamma(x); }},
    named{"trigamma", [](auto x) { return polygamma(1, x); }},
    named{"sigmoid", [](auto x) { return sigmoid(x); }},
    named{"softplus", [](auto x) { return softplus(x); }},
    named{"log_sigmoid", [](auto x) { return log_sigmoid(x); }},
    named{"logit", [](auto x) { return logit(x); }},
    named{"relu", [](auto x) { return relu(x); }},
    named{"relu6", [](auto x) { return relu6(x); }},
    named{"leaky_relu", [](auto x) { return leaky_relu(x); }},
    named{"elu", [](auto x) { return elu(x); }},
    named{"selu", [](auto x) { return selu(x); }},
    named{"celu", [](auto x) { return celu(x, 0.5); }},
    named{"silu", [](auto x) { return silu(x); }},
    named{"mish", [](auto x) { return mish(x); }},
    named{"softsign", [](auto x) { return softsign(x); }},
    named{"hard_tanh", [](auto x) { return hard_tanh(x); }},
    named{"hard_sigmoid", [](auto x) { return hard_sigmoid(x); }},
    named{"hard_silu", [](auto x) { return hard_silu(x); }},
    named{"gelu", [](auto x) { return gelu(x); }},
    named{"gelu_exact", [](auto x) { return gelu(x, false); }},
    named{"power_3", [](auto x) { return power(x, 3); }},
    named{"power_minus_2", [](auto x) { return power(x, -2); }},
    named{"power_half", [](auto x) { return power(x, 0.5); }},
    named{"power_2_5", [](auto x) { return power(x, 2.5); }},
    named{"nan_to_num", [](auto x) { return nan_to_num(x); }},
};

constexpr std::tuple binary_functions{
    named{"add", [](auto x, auto y) { return x + y; }},
    named{"subtract", [](auto x, auto y) { return x - y; }},
    named{"multiply", [](auto x, auto y) { return x * y; }},
    named{"divide", [](auto x, auto y) { return x / y; }},
    named{"power", [](auto x, auto y) { return power(x, y); }},
    named{"atan2", [](auto x, auto y) { return atan2(x, y); }},
    named{"hypot", [](auto x, auto y) { return hypot(x, y); }},
    named{"logaddexp", [](auto x, auto y) { return logaddexp(x, y); }},
    named{"logaddexp2", [](auto x, auto y) { return logaddexp2(x, y); }},
    named{"xlogy", [](auto x, auto y) { return xlogy(x, y); }},
    named{"xlog1py", [](auto x, auto y) { return xlog1py(x, y); }},
    named{"maximum", [](auto x, auto y) { return maximum(x, y); }},
    named{"minimum", [](auto x, auto y) { return minimum(x, y); }},
    named{"remainder", [](auto x, auto y) { return remainder(x, y); }},
    named{"fmod", [](auto x, auto y) { return fmod(x, y); }},
    named{"copysign", [](auto x, auto y) { return copysign(x, y); }},
    named{"betaln", [](auto x, auto y) { return betaln(x, y); }},
    named{"floor_divide", [](auto x, auto y) { return floor_divide(x, y); }},
    named{"where", [](auto x, auto y) { return where(x > y, x * y, y - x); }},
    named{"clip", [](auto x, auto y) { return clip(x, -1, y); }},
};

constexpr auto places = [](auto x, std::initializer_list<double> at) {  // i32[size of at]
  expr parts[6]{};
  std::size_t count = 0;
  for (const double place : at) parts[count++] = full(x, {1}, place, dtype::i32);
  return concatenate(std::span<const expr>(parts, count));
};

constexpr std::tuple composed_functions{
    named{"mean of squares", [](auto x, auto y) { return mean(square(x - y)); }},
    named{"log of a sum of exponentials",
          [](auto x, auto y) { return sum(log(sum(exp(x * 3), 1)) * y(range(2))); }},
    named{"softmax", [](auto x, auto y) { return sum(softmax(x * 2) * y); }},
    named{"softmax of columns", [](auto x, auto y) { return sum(softmax(x, 0) * y); }},
    named{"log_softmax", [](auto x, auto y) { return sum(log_softmax(x * y)(range(), 1)); }},
    named{"layer norm",
          [](auto x, auto y) {
            const auto d = x - mean(x, 1, keepdims);
            return sum(d / sqrt(var(x, 1, keepdims) + 1e-5) * y);
          }},
    named{"rms norm",
          [](auto x, auto y) {
            return sum(x * rsqrt(mean(x * x, 1, keepdims) + 1e-6) * power(y, 2));
          }},
    named{"norm of a difference", [](auto x, auto y) { return norm(x - y); }},
    named{"norms of rows", [](auto x, auto y) { return sum(norm(x, 1) * y(range(2))); }},
    named{"product of all", [](auto x, auto y) { return prod(x) * prod(y); }},
    named{"cumulative sums", [](auto x, auto y) { return sum(cumsum(x, 1) * cumsum(y)); }},
    named{"cumulative products", [](auto x, auto y) { return sum(cumprod(x, 1) * y); }},
    named{"a matrix and a vector", [](auto x, auto y) { return sum(tanh(matmul(x, y))); }},
    named{"a quadratic form",
          [](auto x, auto y) { return dot(matmul(y, matmul(transpose(x), x)), y); }},
    named{"outer product", [](auto x, auto y) { return sum(sin(outer(x(0), y))); }},
    named{"einsum", [](auto x, auto y) { return einsum("ij,kj,k->", x, x * y, y(range(2))); }},
    named{"two layers",
          [](auto x, auto y) { return sum(silu(matmul(gelu(x * y), transpose(x)))); }},
    named{"largest of each row", [](auto x, auto y) { return sum(max(x * y, axis<1>)); }},
    named{"smallest of each column", [](auto x, auto y) { return sum(min(x, axis<0>) * y); }},
    named{"variance", [](auto x, auto y) { return var(x + y, {}, {}, 1); }},
    named{"standard deviation", [](auto x, auto y) { return sum(std_(x, 0) * y); }},
    named{"weighted average", [](auto x, auto y) { return sum(average(x, exp(y), 1)); }},
    named{"differences", [](auto x, auto y) { return sum(power(diff(x * y), 2)); }},
    named{"roll and flip", [](auto x, auto y) { return sum(roll(x, 1, 1) * flip(x, 0) * y); }},
    named{"pad with its edge",
          [](auto x, auto y) {
            return sum(square(pad(x, {1, 0}, {0, 2}, pad_mode::edge))) + y(0);
          }},
    named{
        "pad by reflection",
        [](auto x, auto y) {
          return sum(power(pad(x * y, {0, 2}, {0, 1}, pad_mode::reflect)(range(), range(1, 4)), 3));
        }},
    named{"take",
          [](auto x, auto y) {
            return sum(x(range(), places(x, {2, 0, 2})) * y);
          }},
    named{"index pairs",
          [](auto x, auto y) {
            return sum(x(places(x, {0, 1, 1}), places(x, {2, 0, 2})) * exp(y));
          }},
    named{"set a window",
          [](auto x, auto y) {
            return sum(square(at(x, 0, range(1, to_end)).set(y(range(2)) * y(1))));
          }},
    named{"add at indices",
          [](auto x, auto y) {
            return sum(square(at(x(0), places(x, {1, 1, 2})).add(y * y)));
          }},
    named{"segments",
          [](auto x, auto y) {
            return sum(power(segment_sum(ravel(x), places(x, {0, 1, 0, 2, 2, 2}), 3), 2) * y);
          }},
    named{"triangle", [](auto x, auto y) { return sum(matmul(tril(outer(y, y)), transpose(x))); }},
    named{"trace and diagonal",
          [](auto x, auto y) {
            return trace(x) * prod(diagonal(x)) + sum(matmul(diag(y), transpose(x)));
          }},
    named{"kron", [](auto x, auto y) { return sum(sin(kron(x, y(newaxis)))); }},
    named{"cross", [](auto x, auto y) { return sum(square(cross(x, y))); }},
    named{"binary cross-entropy",
          [](auto x, auto y) { return mean(softplus(x) - x * sigmoid(y)); }},
    named{"cross-entropy of labels",
          [](auto x, auto y) {
            const auto labels = reshape(places(x, {2, 0}), {2, 1});
            return mean(logsumexp(x * y, 1) - squeeze(take_along_axis(x * y, labels, 1), 1));
          }},
    named{"Huber",
          [](auto x, auto y) {
            const auto far = abs(x - y);
            return sum(where(far < 1, 0.5 * square(x - y), far - 0.5));
          }},
    named{"a normal density",
          [](auto x, auto y) { return sum(-0.5 * square((x - y) / exp(y)) - y); }},
    named{"Student's t",
          [](auto x, auto y) {
            const auto z = square(y);
            return sum(lgamma((z + 1) / 2) - lgamma(z / 2)) + sum(log1p(x * x));
          }},
    named{"Black and Scholes",
          [](auto x, auto y) {
            const auto z = square(y);
            return sum(exp(x) * 0.5 * erfc(-(x + 0.5 * z) / (z + 0.1)));
          }},
    named{"Kepler, three steps", [](auto x, auto y) { return sum(kepler(x, 0.3 * sigmoid(y))); }},
    named{"a meshgrid",
          [](auto x, auto y) {
            const auto [u, v] = meshgrid(x(0), y);
            return sum(hypot(u, v));
          }},
    named{"where is safe", [](auto x, auto y) { return sum(where(x > 0, log(x) * y, y * x)); }},
};

// --- programs that take many functions at once
// -----------------------------------------------------

template <const auto& Functions, std::size_t I>
struct total_of {
  constexpr auto operator()(auto... x) const { return sum(std::get<I>(Functions).f(x...)); }
};

/// Of functions First ... First + Count - 1, each on its row: values and slopes, a row each.
template <std::size_t First, std::size_t Count>
struct unary_rows {
  constexpr auto operator()(auto x) const { return rows(x, std::make_index_sequence<Count>{}); }
  template <std::size_t... I>
  constexpr auto rows(auto x, std::index_sequence<I...>) const {
    const expr values[] = {std::get<First + I>(unary_functions).f(x(I))...};
    const expr slopes[] = {grad(total_of<unary_functions, First + I>{})(x(I))...};
    return std::pair(stack(values), stack(slopes));
  }
};
template <std::size_t First, std::size_t Count>
struct binary_rows {
  constexpr auto operator()(auto x, auto y) const {
    return rows(x, y, std::make_index_sequence<Count>{});
  }
  template <std::size_t... I>
  constexpr auto rows(auto x, auto y, std::index_sequence<I...>) const {
    const expr values[] = {std::get<First + I>(binary_functions).f(x(I), y(I))...};
    const expr lefts[] = {grad(total_of<binary_functions, First + I>{})(x(I), y(I))...};
    const expr rights[] = {
        grad(total_of<binary_functions, First + I>{}, argnums<1>)(x(I), y(I))...};
    return std::tuple(stack(values), stack(lefts), stack(rights));
  }
};
template <std::size_t First, std::size_t Count>
struct composed_rows {
  constexpr auto operator()(auto x, auto y) const {
    return rows(x, y, std::make_index_sequence<Count>{});
  }
  template <std::size_t... I>
  constexpr auto rows(auto x, auto y, std::index_sequence<I...>) const {
    return std::tuple(one<First + I>(x, y)...);
  }
  template <std::size_t I>
  constexpr auto one(auto x, auto y) const {
    const auto [value, slopes] =
        value_and_grad(total_of<composed_functions, I>{}, argnums<0, 1>)(x, y);
    return std::tuple(value, std::get<0>(slopes), std::get<1>(slopes));
  }
};

template <class T>
constexpr double relative_error = sizeof(T) == 8 ? 1e-12 : 2e-6;

/// One place of the table; what is small beside the largest number of its row may be off by as much
/// as that number.
template <class T>
void check_near(T actual, f64 expected, f64 scale) {
  const f64 off = std::abs(static_cast<f64>(actual) - expected);
  const f64 allowed = relative_error<T> * std::max(std::abs(expected), scale);
  INFO("got " << actual << ", expected " << expected);
  CHECK(off <= allowed);
}

template <class T, std::size_t First, std::size_t Count>
void check_unary() {
  constexpr std::int64_t rows = Count;
  tensor<T, rows, 8> x;
  for (std::size_t i = 0; i < Count; ++i) {
    for (std::size_t k = 0; k < 8; ++k) {
      x(static_cast<int>(i), static_cast<int>(k)) =
          static_cast<T>(reference::unary_inputs[First + i][k]);
    }
  }
  const auto [values, slopes] = jit(unary_rows<First, Count>{})(x);
  for (std::size_t i = 0; i < Count; ++i) {
    INFO(reference::unary_names[First + i]);
    for (std::size_t k = 0; k < 8; ++k) {
      INFO("at " << reference::unary_inputs[First + i][k]);
      const auto at = i * 8 + k;
      check_near(values.data()[at], reference::unary_values[First + i][k], 0);
      check_near(slopes.data()[at], reference::unary_slopes[First + i][k], 0);
    }
  }
}

template <class T, std::size_t First, std::size_t Count>
void check_binary() {
  constexpr std::int64_t rows = Count;
  tensor<T, rows, 6> x;
  tensor<T, rows, 6> y;
  for (std::size_t i = 0; i < 6 * Count; ++i) {
    x.data()[i] = static_cast<T>(reference::binary_left[First + i / 6][i % 6]);
    y.data()[i] = static_cast<T>(reference::binary_right[First + i / 6][i % 6]);
  }
  const auto [values, lefts, rights] = jit(binary_rows<First, Count>{})(x, y);
  for (std::size_t i = 0; i < 6 * Count; ++i) {
    const std::size_t row = First + i / 6;
    INFO(reference::binary_names[row] << " at " << x.data()[i] << ", " << y.data()[i]);
    check_near(values.data()[i], reference::binary_values[row][i % 6], 0);
    check_near(lefts.data()[i], reference::binary_slopes_left[row][i % 6], 0);
    check_near(rights.data()[i], reference::binary_slopes_right[row][i % 6], 0);
  }
}

template <std::size_t First, std::size_t Count>
void check_composed() {
  const tensor<f64, 2, 3> x{std::span<const f64>(reference::composed_x)};
  const tensor<f64, 3> y{std::span<const f64>(reference::composed_y)};
  const auto results = jit(composed_rows<First, Count>{})(x, y);
  const auto check = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto one = [](std::size_t row, const auto& result) {
      INFO(reference::composed_names[row]);
      const auto& [value, by_x, by_y] = result;
      const f64 scale = 1;
      check_near(value.item(), reference::composed_values[row], scale);
      for (std::size_t i = 0; i < 6; ++i) {
        check_near(by_x.data()[i], reference::composed_slopes_x[row][i], scale);
      }
      for (std::size_t i = 0; i < 3; ++i) {
        check_near(by_y.data()[i], reference::composed_slopes_y[row][i], scale);
      }
    };
    (one(First + I, std::get<I>(results)), ...);
  };
  check(std::make_index_sequence<Count>{});
}

template <const auto& Functions, std::size_t Size>
bool are_named(const char* const (&names)[Size]) {
  static_assert(std::tuple_size_v<std::remove_cvref_t<decltype(Functions)>> == Size);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return ((std::get<I>(Functions).name == names[I]) && ...);
  }
  (std::make_index_sequence<Size>{});
}

}  // namespace

TEST_CASE("ops: the functions here are those of the table", "[reference]") {
  CHECK(are_named<unary_functions>(reference::unary_names));
  CHECK(are_named<binary_functions>(reference::binary_names));
  CHECK(are_named<composed_functions>(reference::composed_names));
}

TEMPLATE_TEST_CASE("ops: functions of one operand agree with JAX", "[reference]", f64, f32) {
  check_unary<TestType, 0, 16>();
  check_unary<TestType, 16, 16>();
  check_unary<TestType, 32, 16>();
  check_unary<TestType, 48, 14>();
}

TEMPLATE_TEST_CASE("ops: functions of two operands agree with JAX", "[reference]", f64, f32) {
  check_binary<TestType, 0, 10>();
  check_binary<TestType, 10, 10>();
}

TEST_CASE("ops: small programs agree with JAX", "[reference]") {
  check_composed<0, 11>();
  check_composed<11, 11>();
  check_composed<22, 11>();
  check_composed<33, 11>();
}
