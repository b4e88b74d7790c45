// unit/transform/debug_nans_test.cpp: which operation made a NaN.
// SPDX-License-Identifier: MIT
#include "atled/transform/debug_nans.hpp"

#include "atled/ops/activation.hpp"
#include "atled/ops/control.hpp"
#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jit.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"
#include <limits>
#include <string>

using namespace atled;

namespace {
using vec3 = tensor<f64, 3>;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// What a call throws, without the file in front.
template <class Fn, class... Args>
std::string sentence_of(Fn fn, const Args&... args) {
  try {
    static_cast<void>(fn(args...));
  } catch (const error& e) {
    const std::string all = e.what();
    const auto file = all.find("debug_nans_test.cpp:");
    return file == std::string::npos ? all : all.substr(file + 20);
  }
  return "nothing";
}

// clang-format off
constexpr auto roots = [](auto x, auto scale) {
  const auto shifted = x - 2.0;
  const auto y = sqrt(shifted);
  return sum(exp(y) * scale);
};
constexpr int root_line = __LINE__ - 3;
constexpr auto halved = [](auto x) {
  return fori_loop(0, 3, [](auto, auto c) { return c + log(c - 1.0); }, x) * 2.0;
};
constexpr int loop_line = __LINE__ - 2;
// clang-format on
constexpr auto masked = [](auto x) { return where(x > 0.0, log(x), 0.0); };
constexpr auto slope = [](auto x) { return grad([](auto u) { return sum(masked(u)); })(x); };
}  // namespace

TEST_CASE("debug_nans: the first operation that made a NaN is named, with its line",
          "[transform]") {
  constexpr auto f = jit(roots, debug_nans);
  CHECK(sentence_of(f, vec3{3, 1, 6}, 2.0) ==
        std::to_string(root_line) +
            ": sqrt: result f64[3] holds a NaN, its operands f64[3] hold none");
  CHECK(f(vec3{2, 3, 6}, 1.0).item() == Approx(1 + std::exp(1.0) + std::exp(2.0)));
  constexpr auto by_steps = jit(roots, debug_nans, by_kernels);
  CHECK(sentence_of(by_steps, vec3{3, 1, 6}, 2.0) == sentence_of(f, vec3{3, 1, 6}, 2.0));
}

TEST_CASE("debug_nans: a NaN that was given, and one from a body", "[transform]") {
  CHECK(sentence_of(jit(roots, debug_nans), vec3{3, 4, 5}, no_number) ==
        "debug_nans: argument leaf 1 f64[] holds a NaN");
  const std::string inside = sentence_of(jit(halved, debug_nans), 0.5);
  CHECK(inside ==
        std::to_string(loop_line) + ": fori_loop: result f64[] holds a NaN, made in its body");
}

TEST_CASE("debug_nans: what a where leaves out is no NaN, and safe forms have none",
          "[transform]") {
  CHECK(array_equal(jit(masked, debug_nans)(vec3{-1, 0, 1}), vec3{0, 0, 0}));
  CHECK(array_equal(jit(slope, debug_nans)(vec3{-1, 0, 2}), vec3{0, 0, 0.5}));
  constexpr auto quotient = [](auto x) { return expm1(x) / x; };
  CHECK(array_equal(jit(quotient, debug_nans)(vec3{0, 0, 0}), vec3{1, 1, 1}));
  constexpr auto plain = [](auto x, auto y) { return x / y; };
  CHECK(sentence_of(jit(plain, debug_nans), 0.0, 0.0)
            .find("result f64[] holds a NaN, its operands f64[] and f64[] hold none") !=
        std::string::npos);
}
