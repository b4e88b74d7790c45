// property/index_points_test.cpp: repeated, sorted and outside indices; nested transformations;
// shapes, dtypes and rounding. Reads: property/modes.hpp. Each TEST_CASE is one kind.
// SPDX-License-Identifier: MIT
#include "property/modes.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using scalar = tensor<f64>;
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using vec5 = tensor<f64, 5>;
using ids2 = tensor<i32, 2>;
using ids3 = tensor<i32, 3>;

/// The gradient of <cotangent, f(x, ...)> by x.
template <class F, class C, class T, class... Rest>
numbers pulled_back(F, const C& cotangent, const T& x, const Rest&... rest) {
  return compiled_values(
      [](auto ct, auto y, auto... more) {
        return grad([](auto at, auto w, auto... others) { return sum(F{}(at, others...) * w); })(
            y, ct, more...);
      },
      cotangent, x, rest...);
}

/// The element type of a result, as its name.
template <class... Args, class F>
std::string type_of_result(F f) {
  return std::string(types_of<Args...>(f).view());
}

template <std::int64_t... Dims>
tensor<f16, Dims...> numbers_in_f16(std::uint32_t seed) {
  tensor<f16, Dims...> out;
  for (auto& x : out) {
    seed = seed * 1664525U + 1013904223U;
    x = f16(static_cast<float>(seed >> 8) / static_cast<float>(1 << 23) - 1.0F);
  }
  return out;
}
}  // namespace

TEST_CASE("indices: the mode of the call holds for value, gradient and lanes", "[property]") {
  const auto taken = [](auto x, auto i) { return take(x, i, 0); };
  CHECK(pulled_back(taken, vec3{1, 10, 100}, vec3{1, 2, 3}, ids3{0, 2, 2}) ==
        numbers{1, 0, 110});  // IX1
  CHECK(pulled_back([](auto x, auto i) { return x(i); }, vec3{1, 10, 100}, vec3{1, 2, 3},
                    ids3{0, 2, 2}) == numbers{1, 0, 110});
  const auto segments = [](auto x, auto i) { return segment_sum(x, i, 2); };
  CHECK(compiled_values(segments, vec2{5, 6}, ids2{2, 3}) == numbers{0, 0});  // IX2
  CHECK(pulled_back(segments, vec2{1, 1}, vec2{5, 6}, ids2{2, 3}) == numbers{0, 0});
  const auto clipped = [](auto x, auto i) { return take(x, i, 0, index_mode::clip); };
  const auto filled = [](auto x, auto i) { return take(x, i, 0, index_mode::fill, -1); };
  const vec3 x{10, 20, 30};
  CHECK(compiled_values(clipped, x, ids2{0, 5}) == numbers{10, 30});  // IX3
  CHECK(compiled_values(filled, x, ids2{0, 5}) == numbers{10, -1});
  CHECK(pulled_back(clipped, vec2{1, 10}, x, ids2{0, 5}) == numbers{1, 0, 10});
  CHECK(pulled_back(filled, vec2{1, 10}, x, ids2{0, 5}) == numbers{1, 0, 0});
  const auto dropped = [](auto u, auto i) { return at(zeros(u, {3}, dtype::f64), i).add(u); };
  const auto kept = [](auto u, auto i) {
    return at(zeros(u, {3}, dtype::f64), i).add(u, index_mode::clip);
  };
  CHECK(compiled_values(dropped, vec2{7, 8}, ids2{0, 5}) == numbers{7, 0, 0});  // IX4
  CHECK(compiled_values(kept, vec2{7, 8}, ids2{0, 5}) == numbers{7, 0, 8});
  CHECK(pulled_back(dropped, vec3{1, 2, 3}, vec2{7, 8}, ids2{0, 5}) == numbers{1, 0});
  CHECK(pulled_back(kept, vec3{1, 2, 3}, vec2{7, 8}, ids2{0, 5}) == numbers{1, 3});
  const auto window = [](auto y) { return dynamic_slice(y, {4}, {2}); };
  CHECK(compiled_values(window, vec5{1, 2, 3, 4, 5}) == numbers{4, 5});  // IX5
  CHECK(pulled_back(window, vec2{1, 1}, vec5{1, 2, 3, 4, 5}) == numbers{0, 0, 0, 1, 1});
  const auto written = [](auto y, auto u) { return dynamic_update_slice(y, u, {4}); };
  const vec5 ct{1, 2, 3, 4, 5};
  CHECK(compiled_values(written, ct, vec2{8, 9}) == numbers{1, 2, 3, 8, 9});  // IX6
  CHECK(pulled_back(written, ct, ct, vec2{8, 9}) == numbers{1, 2, 3, 0, 0});
  CHECK(pulled_back([](auto u, auto y) { return dynamic_update_slice(y, u, {4}); }, ct, vec2{8, 9},
                    ct) == numbers{4, 5});
  check_gradient("IX7",
                 [](auto y) { return sum(sort(y) * power(10.0, iota_like(y, 0, dtype::f64))); },
                 vec3{3, 1, 2}, {321}, {100, 1, 10});
  check_gradient("IX8", [](auto y) { return sum(top_k(y, 2).first); }, tensor<f64, 4>{5, 1, 5, 2},
                 {10}, {1, 0, 1, 0});
  const tensor<f64, 3, 2> rows{1, 1, 2, 2, 4, 4};
  CHECK(pulled_back(taken, rows, tensor<f64, 3, 2>{}, ids3{2, 2, 0}) ==
        numbers{4, 4, 0, 0, 3, 3});  // IX9
  CHECK(compiled_values([](auto i) { return one_hot(i, 3, dtype::f64); }, tensor<i32>(5)) ==
        numbers{0, 0, 0});  // IX10
  // VM9: in lanes, either or both mapped.
  const auto pick = [](auto y, auto i) { return y(i); };
  CHECK(compiled_values([=](auto y, auto i) { return vmap(pick, in_axes<none, 0>)(y, i); }, x,
                        ids2{2, 0}) == numbers{30, 10});
  CHECK(compiled_values(
            [=](auto y, auto i) {
              return vmap(pick)(stack({y, y * 2}), i);
            },
            x, ids2{2, 0}) == numbers{30, 20});
  CHECK(compiled_values([=](auto y, auto i) { return vmap(grad(pick), in_axes<none, 0>)(y, i); }, x,
                        ids2{2, 7}) == numbers{0, 0, 1, 0, 0, 0});
}

TEST_CASE("nesting: inner variables do not mix with outer ones, and all nestings agree",
          "[property]") {
  const auto mixed = [](auto x) {
    return x * grad([](auto y, auto z) { return z + y; })(ones_like(x), x);
  };
  CHECK(compiled_values(grad(mixed), scalar(1.0)) == numbers{1});  // HO1
  check_points("HO2", [](auto x) { return sin(x * x); }, tensor<f64, 1>{1},
               {{std::sin(1.0)}, {2 * std::cos(1.0)}, {-2.285279327495307}});
  check_gradient("HO3", [](auto v) { return square(v(0)) * power(v(1), 3); }, vec2{2, 3}, {108},
                 {108, 108}, {54, 108, 108, 72});
  using slope = forward_of<decltype([](auto x) { return tanh(x); })>;
  check_points("HO4", reverse_of<slope>{}, tensor<f64, 1>{0}, {{0}, {-2}, {0}});
  using second = reverse_of<forward_of<decltype([](auto x) { return exp(x * 2); })>>;
  check_points("HO4", second{}, tensor<f64, 1>{0}, {{4}, {8}, {16}});
  // HO7: reading an intermediate value changes nothing.
  const auto reads = [](auto x) {
    const auto y = tanh(x);
    if (y.rank() != 0 || y.element() != dtype::f64) return x;
    return y * y;
  };
  const auto plain = [](auto x) { return tanh(x) * tanh(x); };
  CHECK(compiled_values(grad(grad(reads)), scalar(0.5)) ==
        compiled_values(grad(grad(plain)), scalar(0.5)));
  // HO8: rank 0 in f32.
  const auto y = jit(grad([](auto x) { return log(exp(tanh(x)) + 1.0F); }))(tensor<f32>(0.5F));
  const double t = std::tanh(0.5);
  CHECK(are_near({static_cast<double>(y.item())}, {(1 - t * t) / (1 + std::exp(-t))}, 2e-6));
  CHECK(compiled_values(  // VM5
            [](auto u, auto v) {
              return vmap(vmap([](auto a, auto b) { return a * b; }, in_axes<none, 0>),
                          in_axes<0, none>)(u, v);
            },
            vec2{1, 2}, vec3{3, 4, 5}) == numbers{3, 4, 5, 6, 8, 10});
}

TEST_CASE("shapes and dtypes: a gradient has the type of its argument", "[property]") {
  const auto sum_of_both = [](auto x, auto y) { return sum(x + y); };
  const tensor<f32, 3, 1> column{1, 2, 3};
  const tensor<f32, 1, 4> row{1, 2, 3, 4};
  CHECK(compiled_values(grad(sum_of_both), column, row) == numbers(3, 4));  // SH1
  CHECK(compiled_values(grad(sum_of_both, argnums<1>), column, row) == numbers(4, 3));
  const auto scaled = [](auto s, auto x) { return sum(x * s); };
  tensor<f32, 3, 4> ones;
  for (auto& x : ones) x = 1;
  CHECK(compiled_values(grad(scaled), tensor<f32>(2.0F), ones) == numbers{12});  // SH2
  CHECK(compiled_values(grad(scaled), tensor<f32, 1>{2}, ones) == numbers{12});
  using f = tensor<f32>;
  using h = tensor<bf16>;
  using i = tensor<i32>;
  CHECK(type_of_result<f>([](auto x) { return x + 1.0; }) == "f32[]");  // SH3
  CHECK(type_of_result<h>([](auto x) { return x * 2.0; }) == "bf16[]");
  CHECK(type_of_result<i>([](auto x) { return x * 2.5; }) == "f32[]");
  CHECK(type_of_result<i, f>([](auto x, auto y) { return x + y; }) == "f32[]");
  CHECK(type_of_result<h, f>([](auto x, auto y) { return x + y; }) == "f32[]");
  using q = tensor<f16>;
  CHECK(type_of_result<q>([](auto x) { return x * 2.0; }) == "f16[]");
  CHECK(type_of_result<q, i>([](auto x, auto y) { return x + y; }) == "f16[]");
  CHECK(type_of_result<q, h>([](auto x, auto y) { return x + y; }) == "f32[]");
  CHECK(type_of_result<q, f>([](auto x, auto y) { return x + y; }) == "f32[]");
  CHECK(type_of_result<tensor<boolean, 3>>([](auto x) { return sum(x); }) == "i32[]");
  const auto quotients = [](auto x, auto y) {  // SH5
    return stack({floor_divide(x, y), remainder(x, y), div(x, y), rem(x, y)});
  };
  CHECK(compiled_values(quotients, i(-7), i(2)) == numbers{-4, 1, -3, -1});
  CHECK(compiled_values(quotients, i(7), i(-2)) == numbers{-4, -1, -3, 1});
  CHECK(compiled_values([](auto x) { return sum(x, 0); }, tensor<f32, 0, 3>{}) ==
        numbers{0, 0, 0});  // SH7
  CHECK(compiled_values([](auto x) { return prod(x, 0); }, tensor<f32, 0, 3>{}) ==
        numbers{1, 1, 1});
  const auto there_and_back = [](auto x) { return astype<f32>(astype<bf16>(x)) * 3.0; };
  CHECK(type_of_result<f>(grad(there_and_back)) == "f32[]");  // SH8
  CHECK(compiled_values(grad(there_and_back), f(1.5F)) == numbers{3});
}

TEST_CASE("rounding: kernels wrap, truncate and round as documented", "[property]") {
  constexpr auto f = [](auto x, auto y, auto z) {
    return std::tuple(x + 1, div(x, y), rem(x, y), astype<f32>(astype<bf16>(z)));
  };
  constexpr i32 low = std::numeric_limits<i32>::min();
  constexpr i32 high = std::numeric_limits<i32>::max();
  const tensor<f32, 5> z{1.00390625F, 1.01171875F, 257, 0.1F,
                         std::numeric_limits<f32>::quiet_NaN()};
  const auto [next, quotient, rest, rounded] =
      jit(f)(tensor<i32, 5>{high, low, 5, -7, 7}, tensor<i32, 5>{1, -1, 0, 2, -2}, z);
  CHECK(next(0) == low);  // SH6
  CHECK(quotient(1) == low);
  CHECK(quotient(2) == -1);  // all bits set, as JAX
  CHECK(rest(2) == 5);
  CHECK(quotient(3) == -3);
  CHECK(rest(3) == -1);
  CHECK(rounded(0) == 1.0F);  // SH4
  CHECK(rounded(1) == 1.015625F);
  CHECK(rounded(2) == 256);
  CHECK(rounded(3) == 0.10009765625F);
  CHECK(std::isnan(rounded(4)));
  constexpr auto g = [](auto x) {  // SH11
    return std::tuple(astype<f32>(sum(x)), astype<f32>(dot(x, x)));
  };
  tensor<bf16, 1000> ones;
  for (auto& x : ones) x = bf16(1.0F);
  const auto [total, product] = jit(g)(ones);
  CHECK(total.item() == 1000);
  CHECK(product.item() == 1000);
}

TEST_CASE("rounding: f16 is rounded to even, overflows to inf, and is summed in f32",
          "[property]") {
  constexpr auto f = [](auto z) { return astype<f32>(astype<f16>(z)); };
  const tensor<f32, 8> z{
      1.00048828125F, 1.00146484375F, 2049,     0.1F,
      65519,          65520,          0x1p-25F, std::numeric_limits<f32>::quiet_NaN()};
  const auto rounded = jit(f, by_kernels)(z);
  const numbers expected{1, 1.001953125, 2048, 0.0999755859375, 65504, HUGE_VAL, 0};
  for (int i = 0; i < 7; ++i)
    CHECK(static_cast<f64>(rounded(i)) == expected[static_cast<std::size_t>(i)]);
  CHECK(std::isnan(rounded(7)));
  CHECK(compiled_values(grad([](auto x) { return astype<f32>(astype<f16>(x)) * 3.0; }),
                        tensor<f32>(1.5F)) == numbers{3});
  constexpr auto g = [](auto x) {
    return std::tuple(astype<f32>(sum(x)), astype<f32>(dot(x, x)), astype<f32>(mean(x)));
  };
  tensor<f16, 5000> ones;  // a sum in f16 would stop at 2048
  for (auto& x : ones) x = f16(1.0F);
  const auto [total, product, average] = jit(g)(ones);
  CHECK(total.item() == 5000);
  CHECK(product.item() == 5000);
  CHECK(average.item() == 1);
}

TEST_CASE("f16: kernels give what single operations in f16 give", "[property]") {
  constexpr auto f = [](auto x, auto w, auto ids) {
    const auto narrow = [](auto y) { return astype<f32>(y); };
    const auto d_w = grad([x](auto v) { return sum(tanh(matmul(x, v)) * 0.25); })(w);
    return std::tuple(narrow(matmul(x, w)), narrow(softmax(x) * 2.0 + x), narrow(cumsum(x, 1)),
                      narrow(sort(x, -1)), narrow(x(range(), ids)), narrow(max(x, 0)),
                      narrow(at(x, ids).add(x(ids))), argmax(x, 1), narrow(mean(x, 0)),
                      narrow(d_w));
  };
  const auto x = numbers_in_f16<5, 7>(1);
  const auto w = numbers_in_f16<7, 3>(2);
  const tensor<i32, 3> ids{4, 0, 4};
  const auto kernels = jit(f, by_kernels)(x, w, ids);
  const auto expected = all_values(f, x, w, ids);
  std::size_t at = 0;
  for_each_leaf(
      [&](const auto& leaf) {
        INFO("result " << at);
        // a kernel rounds a product of a matrix once, and single operations the sums of
        // exponentials
        for (std::size_t i = 0; i < expected[at].size(); ++i) {
          CHECK(std::abs(static_cast<double>(leaf.data()[i]) - expected[at][i]) <=
                0x1p-9 * std::max(1.0, std::abs(expected[at][i])));
        }
        ++at;
      },
      kernels);
}

TEST_CASE("power: whole exponents in tensors, of every sign", "[property]") {
  constexpr auto f = [](auto x, auto y) { return power(x, y); };
  const tensor<i32, 6> x{3, -2, 2, 1, -1, 0};
  const tensor<i32, 6> y{4, 3, -1, -5, -5, 0};
  const auto z = jit(f)(x, y);
  CHECK(numbers(z.begin(), z.end()) == numbers{81, -8, 0, 1, -1, 1});
  CHECK(compiled_values(f, x, y) == numbers{81, -8, 0, 1, -1, 1});
}
