// property/singular_points_test.cpp: derivatives where functions are singular, saturated, tied or
// masked, in every mode. Reads: property/modes.hpp. Each TEST_CASE is one kind.
// SPDX-License-Identifier: MIT
#include "property/modes.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec1 = tensor<f64, 1>;
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using vec4 = tensor<f64, 4>;
using vec5 = tensor<f64, 5>;
constexpr double inf = infinity;
constexpr double no_number = not_a_number;
}  // namespace

TEST_CASE("where: a branch that is not taken, a weight or a tangent of 0 adds exactly 0",
          "[property]") {
  check_points("WH1", [](auto x) { return where(x > 0, log(x), 0); }, vec3{-1, 0, 2},
               {{0, 0, std::log(2.0)}, {0, 0, 0.5}, {0, 0, -0.25}});
  check_points("WH2", [](auto x) { return where(x < 1, x, sqrt(x)); }, vec2{0, 4},
               {{0, 2}, {1, 0.25}, {0, -0.03125}});
  check_points("WH3", [](auto x) { return where(x > 0, 1 / x, 0); }, vec2{0, 2},
               {{0, 0.5}, {0, -0.25}, {0, 0.25}});
  check_points("WH4", [](auto x) { return where(x > 0, where(x > 1, sqrt(x - 1), 0), 0); },
               vec3{0, 1, 5}, {{0, 0, 2}, {0, 0, 0.25}, {0, 0, -0.03125}});
  check_points("WH5 sqrt", [](auto x) { return max(sqrt(x), 1e-6); }, vec2{0, 4},
               {{1e-6, 2}, {0, 0.25}, {0, -0.03125}});
  check_points("WH5 log", [](auto x) { return log(max(x, 1e-12)); }, vec2{0, 2},
               {{std::log(1e-12), std::log(2.0)}, {0, 0.5}, {0, -0.25}});
  // The neighbours: whatever else is singular at 0.
  check_points("rsqrt", [](auto x) { return where(x > 0, rsqrt(x), 0); }, vec2{0, 4},
               {{0, 0.5}, {0, -0.0625}, {0, 0.0234375}});
  check_points("cbrt", [](auto x) { return where(x > 0, cbrt(x), 0); }, vec2{0, 8},
               {{0, 2}, {0, 1 / 12.0}, {0, -1 / 144.0}});
  check_points("power", [](auto x) { return where(x > 0, pow(x, 0.5), 0); }, vec2{0, 4},
               {{0, 2}, {0, 0.25}, {0, -0.03125}});
  check_points("asin", [](auto x) { return where(x < 1, asin(x), 0); }, vec2{1, 0},
               {{0, 0}, {0, 1}, {0, 0}});
  check_points("acosh", [](auto x) { return where(x > 1, acosh(x), 0); }, vec2{1, 1.25},
               {{0, std::acosh(1.25)}, {0, 4 / 3.0}, {0, -80 / 27.0}});
  check_points("erf_inv", [](auto x) { return where(x < 1, erf_inv(x), 0); }, vec2{1, 0},
               {{0, 0}, {0, 0.88622692545275801}, {0, 0}});
  check_points("logit", [](auto x) { return where(x > 0, logit(x), 0); }, vec2{0, 0.5},
               {{0, 0}, {0, 4}, {0, 0}});
  check_points("lgamma", [](auto x) { return where(x > 0, lgamma(x), 0); }, vec2{0, 1},
               {{0, 0}, {0, -0.57721566490153287}, {0, 1.6449340668482264}});
  check_points("xlogy", [](auto x) { return where(x > 0, xlogy(x, x), 0); }, vec2{0, 1},
               {{0, 0}, {0, 1}, {0, 1}});
  check_gradient("WH6",
                 [](auto x) { return sum((iota_like(x, 0, dtype::f64) * -1 + 1) * sqrt(x)); },
                 vec2{4, 0}, {2}, {0.25, 0});
  const auto sum_of_both = [](auto v) { return sqrt(v(0)) + square(v(1)); };
  CHECK(compiled_values([=](auto v, auto t) { return jvp(sum_of_both)(v, t).second; }, vec2{0, 3},
                        vec2{0, 1}) == numbers{6});  // WH7
  check_gradient("WH8", [](auto x) { return sum(where(x > 0, x * sqrt(x), 0)); }, vec2{0, 4}, {8},
                 {0, 3}, {0, 0, 0, 0.375});
  const auto quotient = [](auto n, auto d) { return sum(where(d > 0, n / d, 0)); };
  CHECK(compiled_values(quotient, vec2{1, 2}, vec2{0, 4}) == numbers{0.5});  // WH9
  CHECK(compiled_values(grad(quotient), vec2{1, 2}, vec2{0, 4}) == numbers{0, 0.25});
  CHECK(compiled_values(grad(quotient, argnums<1>), vec2{1, 2}, vec2{0, 4}) == numbers{0, -0.125});
  check_points("WH10", [](auto x) { return x * stop_gradient(x); }, vec1{3}, {{9}, {3}, {0}});
}

TEST_CASE("norm: a length of 0 has gradient 0, however it is spelled", "[property]") {
  const numbers hessian = {0.128, -0.096, -0.096, 0.072};
  const auto check = [&](const char* id, auto f) {
    check_gradient(id, f, vec2{3, 4}, {5}, {0.6, 0.8}, hessian);
    check_gradient(id, f, vec2{0, 0}, {0}, {0, 0});
  };
  check("NO2", [](auto x) { return norm(x); });
  check("NO3", [](auto x) { return sqrt(sum(x * x)); });
  check("NO3 square", [](auto x) { return sqrt(sum(square(x))); });
  check("NO3 power", [](auto x) { return sqrt(sum(power(x, 2))); });
  check("NO3 dot", [](auto x) { return sqrt(dot(x, x)); });
  check("hypot", [](auto x) { return hypot(x(0), x(1)); });
  check("power", [](auto x) { return power(sum(x * x), 0.5); });
  check_gradient("NO1", [](auto x) { return power(norm(x), 2); }, vec2{0, 0}, {0}, {0, 0});
  check_gradient("NO1", [](auto x) { return power(norm(x), 2); }, vec2{3, 4}, {25}, {6, 8},
                 {2, 0, 0, 2});
  check_gradient("norms of rows", [](auto x) { return sum(norm(x, 1)); },
                 tensor<f64, 2, 2>{3, 4, 0, 0}, {5}, {0.6, 0.8, 0, 0});
  check_gradient("NO5", [](auto x) { return norm(x - stop_gradient(x)); }, vec2{1, 2}, {0}, {0, 0});
  check_gradient("NO5 by hand", [](auto x) { return sqrt(sum(square(x - stop_gradient(x)))); },
                 vec2{1, 2}, {0}, {0, 0});
  check_gradient("std", [](auto x) { return std_(x); }, vec2{2, 2}, {0}, {0, 0});
  const expectation size{{0, 3, 3}, {0, -1, 1}, {0, 0, 0}};
  check_points(
      "NO4", [](auto x) { return sqrt(x * x); }, vec3{0, -3, 3}, size);
  check_points(
      "NO4", [](auto x) { return sqrt(square(x)); }, vec3{0, -3, 3}, size);
  check_points(
      "NO4", [](auto x) { return sqrt(power(x, 2)); }, vec3{0, -3, 3}, size);
  check_points(
      "NO4", [](auto x) { return abs(x); }, vec3{0, -3, 3}, size);
}

TEST_CASE("power: the class of the exponent decides, to any order", "[property]") {
  const expectation squares{{0, 9}, {0, -6}, {2, 2}};
  check_points(
      "PW1", [](auto x) { return power(x, 2); }, vec2{0, -3}, squares);
  check_points(
      "PW1", [](auto x) { return power(x, 2.0); }, vec2{0, -3}, squares);
  check_points(
      "PW1", [](auto x) { return square(x); }, vec2{0, -3}, squares);
  check_points(
      "PW1", [](auto x) { return x * x; }, vec2{0, -3}, squares);
  check_points(
      "PW1 in a tensor", [](auto x) { return power(x, full_like(x, 2)); }, vec2{0, -3}, squares);
  check_points(
      "PW1 computed", [](auto x) { return power(x, stop_gradient(x) * 0 + 2.0); }, vec2{0, -3},
      squares);
  using cubic = decltype([](auto x) { return power(x, 3); });
  using computed_cubic = decltype([](auto x) { return power(x, stop_gradient(x) * 0 + 3.0); });
  check_points("PW2", reverse_of<cubic>{}, vec2{0, -3}, {{0, 27}, {0, -18}, {6, 6}});
  check_points("PW2", reverse_of<computed_cubic>{}, vec2{0, -3}, {{0, 27}, {0, -18}, {6, 6}});
  check_points("PW3", [](auto x) { return power(x, 1.0); }, vec2{0, 2}, {{0, 2}, {1, 1}, {0, 0}});
  check_points("PW3", [](auto x) { return power(x, 0.0); }, vec2{0, 2}, {{1, 1}, {0, 0}, {0, 0}});
  check_points("PW3 computed", [](auto x) { return power(x, stop_gradient(x) * 0 + 1.0); },
               vec2{0, 2}, {{0, 2}, {1, 1}, {0, 0}});
  check_points("PW3 computed", [](auto x) { return power(x, stop_gradient(x) * 0); }, vec2{0, 2},
               {{1, 1}, {0, 0}, {0, 0}});
  check_points("PW4", [](auto x) { return power(x, 0.5); }, vec1{0}, {{0}, {inf}, {}});
  check_points("PW4", [](auto x) { return power(x, 1.5); }, vec1{0}, {{0}, {0}, {inf}});
  check_points("PW4", [](auto x) { return power(x, -1); }, vec1{0}, {{inf}, {-inf}, {}});
  check_points("PW4", [](auto x) { return power(x, -1.0); }, vec1{0}, {{inf}, {-inf}, {}});
  check_points("PW5", [](auto x) { return power(x, 3); }, vec2{-3, 0},
               {{-27, 0}, {27, 0}, {-18, 0}});
  check_points("PW5", [](auto x) { return power(x, -1); }, vec1{-2}, {{-0.5}, {-0.25}, {-0.25}});
  check_points("PW8", [](auto x) { return power(x, 1.0 / 3); }, vec1{-8},
               {{no_number}, {no_number}, {}});
  const auto pair = [](auto v) { return power(v(0), v(1)); };
  check_gradient("PW6", pair, vec2{0, 2}, {0}, {0, 0});
  check_gradient("PW7", pair, vec2{2, 3}, {8}, {12, 5.545177444479562},
                 {12, 12.317766166719344, 12.317766166719344, 3.843624111345611});
}

TEST_CASE("prod, cumprod: nothing is divided by a factor", "[property]") {
  const auto product = [](auto x) { return prod(x); };
  check_gradient("PR1", product, vec3{0, 2, 3}, {0}, {6, 0, 0}, {0, 3, 2, 3, 0, 0, 2, 0, 0});
  check_gradient("PR1", product, vec3{-1, 2, -3}, {6}, {-6, 3, -2});
  check_gradient("PR2", product, vec3{0, 0, 3}, {0}, {0, 0, 0}, {0, 3, 0, 3, 0, 0, 0, 0, 0});
  check_gradient("all 0", product, vec3{0, 0, 0}, {0}, {0, 0, 0}, numbers(9, 0));
  const auto running = [](auto x) { return sum(cumprod(x)); };
  check_gradient("PR3", running, vec3{0, 2, 3}, {0}, {9, 0, 0}, {0, 4, 2, 4, 0, 0, 2, 0, 0});
  check_gradient("PR3", running, vec3{2, 3, 0}, {8}, {4, 2, 6});
  check_gradient("PR4", [](auto x) { return sum(prod(x, 1)); }, tensor<f64, 2, 2>{0, 2, 3, 0}, {0},
                 {2, 0, 0, 3});
}

TEST_CASE("softmax, logsumexp: huge, equal and masked logits", "[property]") {
  const double log2 = std::log(2.0);
  check_gradient("SM1", [](auto x) { return logsumexp(x); }, vec2{1000, 1000}, {1000 + log2},
                 {0.5, 0.5}, {0.25, -0.25, -0.25, 0.25});
  check_gradient("SM1 by hand", [](auto x) { return log(sum(exp(x))); }, vec2{1000, 1000},
                 {1000 + log2}, {0.5, 0.5}, {0.25, -0.25, -0.25, 0.25});
  check_gradient("SM2", [](auto x) { return logsumexp(x); }, vec2{-inf, 0}, {0}, {0, 1});
  check_gradient("SM2", [](auto x) { return logsumexp(x); }, vec2{-inf, -inf}, {-inf}, {0, 0});
  const tensor<f64, 2, 2> rows{-inf, -inf, 0, 0};
  check_gradient("SM3", [](auto x) { return sum(softmax(x) * (iota_like(x, 1, dtype::f64) + 1)); },
                 rows, {1.5}, {0, 0, -0.25, 0.25});
  // SM4: attention of 3 queries over 2 keys, of which the query in the middle may see none.
  constexpr auto attend = [](auto q, auto seen) {
    const auto keys = reshape(iota(q, {4}, 0, dtype::f64), {2, 2}) * 0.3;
    const auto scores = where(seen, matmul(q, transpose(keys)), -infinity);
    return matmul(softmax(scores), keys + 1.0);
  };
  const tensor<f64, 3, 2> q{1, -1, 0.5, 2, -0.25, 0.75};
  const tensor<boolean, 3, 2> seen{true, true, false, false, true, true};
  const tensor<f64, 2, 2> q_seen{1, -1, -0.25, 0.75};
  const tensor<boolean, 2, 2> all_seen{true, true, true, true};
  constexpr auto loss = [](auto x, auto mask) { return sum(square(decltype(attend){}(x, mask))); };
  const auto middle_left_out = [](const numbers& x) {
    return numbers{x[0], x[1], 0, 0, x[2], x[3]};
  };
  CHECK(are_near(compiled_values(attend, q, seen),
                 middle_left_out(compiled_values(attend, q_seen, all_seen))));
  CHECK(are_near(compiled_values(grad(loss), q, seen),
                 middle_left_out(compiled_values(grad(loss), q_seen, all_seen))));
  check_gradient("SM5", [](auto x) { return logsumexp(x) - x(1); }, vec3{1000, 0, -1000}, {1000},
                 {1, -1, 0});
  check_gradient("SM5", [](auto x) { return -log_softmax(x)(1); }, vec3{1000, 0, -1000}, {1000},
                 {1, -1, 0});
  check_gradient("SM6", [](auto x) { return logsumexp(x); }, vec2{0, 0}, {log2}, {0.5, 0.5},
                 {0.25, -0.25, -0.25, 0.25});
  check_gradient("SM7", [](auto x) { return log(softmax(x))(0); }, vec2{-1000, 1000}, {-2000},
                 {1, -1});
  check_gradient("SM7 by hand", [](auto x) { return log(exp(x) / sum(exp(x)))(0); },
                 vec2{-1000, 1000}, {-2000}, {1, -1});
  check_gradient("SM8", [](auto p) { return -sum(p * log(p)); }, vec2{0, 1}, {0}, {inf, -1});
  check_gradient("SM8", [](auto p) { return sum(where(p > 0, -p * log(p), 0)); }, vec2{0, 1}, {0},
                 {0, -1});
  check_points("SM8", [](auto x) { return xlogy(x, 0.0); }, vec1{0}, {{0}, {anything}, {}});
}

TEST_CASE("saturation: no digit is lost, by the library's function and by hand", "[property]") {
  const double tiny = 4.248354255291589e-18;
  const expectation soft{{1000, tiny, std::log(2.0)}, {1, tiny, 0.5}, {0, tiny, 0.25}};
  check_points(
      "SA1, SA2", [](auto x) { return softplus(x); }, vec3{1000, -40, 0}, soft);
  check_points(
      "SA1, SA2", [](auto x) { return log(1 + exp(x)); }, vec3{1000, -40, 0}, soft);
  check_points(
      "SA1, SA2", [](auto x) { return log(exp(x) + 1.0); }, vec3{1000, -40, 0}, soft);
  check_points(
      "SA1, SA2", [](auto x) { return log1p(exp(x)); }, vec3{1000, -40, 0}, soft);
  check_points(
      "SA1, SA2", [](auto x) { return logaddexp(x, 0.0); }, vec3{1000, -40, 0}, soft);
  const expectation of_log{{-1000, 0}, {1, 0}, {0, 0}};
  check_points(
      "SA3", [](auto x) { return log_sigmoid(x); }, vec2{-1000, 1000}, of_log);
  check_points(
      "SA3", [](auto x) { return log(sigmoid(x)); }, vec2{-1000, 1000}, of_log);
  check_points(
      "SA3", [](auto x) { return log(1 / (1 + exp(-x))); }, vec2{-1000, 1000}, of_log);
  check_points("SA4", [](auto x) { return sigmoid(x); }, vec3{-40, 800, -800},
               {{tiny, 1, 0}, {tiny, 0, 0}, {tiny, 0, 0}});
  const double slope = 8.24461445576739e-9;
  check_points(
      "SA5", [](auto x) { return tanh(x); }, vec3{10, -10, 0},
      {{anything, anything, 0}, {slope, slope, 1}, {-2 * slope, 2 * slope, 0}}, 1e-8);
  check_points(
      "SA5", [](auto x) { return tanh(x); }, vec2{10, -10},
      {{anything, anything}, {slope, slope}, {}}, 1e-13);
  check_points(
      "SA5 by hand", [](auto x) { return 1 - square(tanh(x)); }, vec2{10, 0},
      {{slope, 1}, {anything, 0}, {anything, -2}}, 1e-13);
  check_points("SA6", [](auto x) { return log1p(x); }, vec1{1e-20}, {{1e-20}, {1}, {-1}});
  check_points("SA6", [](auto x) { return expm1(x); }, vec1{1e-10},
               {{1.00000000005e-10}, {1 + 1e-10}, {}});
  check_points("SA8", [](auto x) { return expm1(x) / x; }, vec2{0, 2},
               {{1, std::expm1(2.0) / 2}, {0.5, anything}, {1 / 3.0, anything}});
  check_points("SA8", [](auto x) { return tanh(x) / x; }, vec1{0}, {{1}, {0}, {-2 / 3.0}});
  check_points("SA8", [](auto x) { return sin(x) / x; }, vec1{0}, {{1}, {0}, {-1 / 3.0}});
  check_points("SA8", [](auto x) { return log1p(x) / x; }, vec1{0}, {{1}, {-0.5}, {2 / 3.0}});
  check_points("SA10", [](auto x) { return (x + 1e20) - 1e20; }, vec1{1}, {{0}, {1}, {0}});
}

TEST_CASE("ties: equal operands share evenly, and kinks have one convention", "[property]") {
  check_points("TI1", [](auto x) { return max(x, x); }, vec1{3.14}, {{3.14}, {1}, {0}});
  check_points("TI1", [](auto x) { return max(x, 0) + min(x, 0); }, vec1{0}, {{0}, {1}, {0}});
  check_points("TI2", [](auto x) { return max(x, 0); }, vec3{-1, 0, 1},
               {{0, 0, 1}, {0, 0.5, 1}, {0, 0, 0}});
  check_points("TI2", [](auto x) { return relu(x); }, vec3{-1, 0, 1},
               {{0, 0, 1}, {0, 0, 1}, {0, 0, 0}});
  check_points("TI2", [](auto x) { return where(x > 0, x, 0); }, vec1{0}, {{0}, {0}, {0}});
  check_gradient("TI3", [](auto x) { return max(x); }, vec4{1, 3, 3, 2}, {3}, {0, 0.5, 0.5, 0});
  check_gradient("TI3", [](auto x) { return max(x); }, vec3{4, 4, 4}, {4},
                 {1 / 3.0, 1 / 3.0, 1 / 3.0});
  const auto largest = [](auto x) { return max(x); };
  CHECK(compiled_values([=](auto x, auto t) { return jvp(largest)(x, t).second; }, vec4{1, 3, 3, 2},
                        vec4{0, 1, 3, 0}) == numbers{2});
  check_gradient("TI4", [](auto x) { return min(x); }, vec3{2, 2, 5}, {2}, {0.5, 0.5, 0});
  check_points("TI5", [](auto x) { return clip(x, 0, 1); }, vec5{-1, 0, 0.5, 1, 2},
               {{0, 0, 0.5, 1, 1}, {0, 1, 1, 1, 0}, {0, 0, 0, 0, 0}});
  check_points("TI5", [](auto x) { return min(max(x, 0), 1); }, vec5{-1, 0, 0.5, 1, 2},
               {{0, 0, 0.5, 1, 1}, {0, 0.5, 1, 0.5, 0}, {0, 0, 0, 0, 0}});
  check_points("TI6", [](auto x) { return max(x, -x); }, vec1{0}, {{0}, {0}, {0}});
  check_points("TI6", [](auto x) { return round(x); }, vec3{0.5, 1.5, 2.5},
               {{0, 2, 2}, {0, 0, 0}, {0, 0, 0}});
  check_points("TI6", [](auto x) { return floor(x) + sign(x) + ceil(x) + trunc(x); }, vec2{0, 0.5},
               {{0, 2}, {0, 0}, {0, 0}});
  check_gradient("TI8", [](auto x) { return x(argmax(x)); }, vec3{3, 5, 5}, {5}, {0, 1, 0});
}

TEST_CASE("kernels: special values in the vector part and in the tail", "[property]") {
  constexpr auto f = [](auto x) {
    return std::tuple{max(1, x),           max(x, 1), reduce_max(x, 1), x / x, exp(x * 88),
                      softplus(x * 88.8F), log(x)};
  };
  tensor<f32, 2, 19> x;  // a row is longer than a vector, and no multiple of it
  for (int i = 0; i < 38; ++i) x.data()[i] = 1;
  x(0, 3) = x(1, 18) = std::numeric_limits<f32>::quiet_NaN();
  x(0, 17) = -1;
  x(0, 2) = 0;
  const auto [left, right, most, ratio, power, soft, logarithm] = jit(f)(x);
  for (const auto& y : {left, right}) {  // TI7
    CHECK(std::isnan(y(0, 3)));
    CHECK(std::isnan(y(1, 18)));
    CHECK(y(0, 17) == 1);
  }
  CHECK(std::isnan(most(0)));
  CHECK(std::isnan(most(1)));
  CHECK(std::isnan(ratio(0, 2)));  // WH11: 0 / 0
  CHECK(std::isnan(logarithm(0, 17)));
  CHECK(std::isfinite(power(0, 0)));
  CHECK(soft(0, 0) == 88.8F);  // SA7
  constexpr auto g = [](auto y) { return exp(y); };
  const auto ends = jit(g)(tensor<f32, 2>{88.72F, 88.73F});
  CHECK(std::isfinite(ends(0)));
  CHECK(std::isinf(ends(1)));
}
