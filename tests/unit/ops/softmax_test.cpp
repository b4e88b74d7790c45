// unit/ops/softmax_test.cpp: huge logits, masked rows, and what they leave to the rows beside them.
// SPDX-License-Identifier: MIT
#include "atled/ops/softmax.hpp"

#include "atled/ops/elementwise.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using vec2 = tensor<f64, 2>;
using vec3 = tensor<f64, 3>;
using rows = tensor<f64, 2, 3>;

static_assert(types_of<tensor<bf16, 2, 3>, tensor<i32, 2, 3>>([](auto x, auto y) {
                return std::tuple{softmax(x),           softmax(y),
                                  log_softmax(x, 0),    logsumexp(x, 0),
                                  logsumexp(y, axes{}), logsumexp(x, 1, keepdims),
                                  softmax(x, {0, 1})};
              }).view() == "bf16[2,3] f32[2,3] bf16[2,3] bf16[3] f32[] bf16[2,1] bf16[2,3]");
}  // namespace

TEST_CASE("logsumexp: safe for huge logits", "[ops]") {
  const auto f = [](auto x) { return logsumexp(x); };
  CHECK(are_near(values_of(f, vec2{1000, 1000}), {1000.6931471805599}));
  CHECK(gradient_of(f, vec2{1000, 1000}) == numbers{0.5, 0.5});
  CHECK(values_of(f, vec2{infinity, 0}) == numbers{infinity});
}

TEST_CASE("logsumexp: -inf is an absent term, and of absent terms only the result is -inf",
          "[ops]") {
  const auto f = [](auto x) { return logsumexp(x); };
  CHECK(values_of(f, vec2{-infinity, 0}) == numbers{0});
  CHECK(gradient_of(f, vec2{-infinity, 0}) == numbers{0, 1});
  CHECK(values_of(f, vec2{-infinity, -infinity}) == numbers{-infinity});
  CHECK(gradient_of(f, vec2{-infinity, -infinity}) == numbers{0, 0});
  CHECK(second_of(f, vec2{-infinity, -infinity}) == numbers{0, 0});
}

TEST_CASE("logsumexp: its Hessian is that of the softmax", "[ops]") {
  const auto first = [](auto x) {
    return gradient_function([](auto y) { return logsumexp(y); })(x);
  };
  const auto weighted = [&](auto x, auto w) { return first(x) * w; };
  CHECK(gradient_of(weighted, vec2{0, 0}, vec2{1, 0}) == numbers{0.25, -0.25});
  CHECK(gradient_of(weighted, vec2{0, 0}, vec2{0, 1}) == numbers{-0.25, 0.25});
}

TEST_CASE("softmax: a masked row is 0 and leaves the other rows alone", "[ops]") {
  const rows x{-infinity, -infinity, -infinity, 1, -infinity, 1};
  const rows w{1, 2, 3, 4, 5, 6};
  const auto f = [](auto y, auto v) { return softmax(y) * v; };
  CHECK(values_of([](auto y) { return softmax(y); }, x) == numbers{0, 0, 0, 0.5, 0, 0.5});
  CHECK(gradient_of(f, x, w) == numbers{0, 0, 0, -0.5, 0, 0.5});
  CHECK(second_of(f, x, w) == numbers{0, 0, 0, 0, 0, 0});
  CHECK(values_of([](auto y) { return softmax(y, 0); }, rows{0, 1, -infinity, 0, 1, -infinity}) ==
        numbers{0.5, 0.5, 0, 0.5, 0.5, 0});
}

TEST_CASE("log_softmax: exact for far logits, -inf with gradient 0 in a masked row", "[ops]") {
  const auto f = [](auto x) { return log_softmax(x); };
  CHECK(values_of(f, tensor<f32, 3>{1000, 0, -1000}) == numbers{0, -1000, -2000});
  const auto loss = [](auto x, auto y) { return -sum(log_softmax(x) * y); };
  const tensor<f32, 3> label{0, 1, 0};
  CHECK(values_of(loss, tensor<f32, 3>{1000, 0, -1000}, label) == numbers{1000});
  CHECK(gradient_of(loss, tensor<f32, 3>{1000, 0, -1000}, label) == numbers{1, -1, 0});
  const rows x{-infinity, -infinity, -infinity, 0, 0, 0};
  CHECK(are_near(values_of(f, x),
                 {-infinity, -infinity, -infinity, -std::log(3), -std::log(3), -std::log(3)}));
  CHECK(are_near(gradient_of([](auto y, auto w) { return where(w > 0, log_softmax(y), 0); }, x,
                             rows{1, 1, 1, 1, 0, 0}),
                 {0, 0, 0, 2.0 / 3, -1.0 / 3, -1.0 / 3}));
}

TEST_CASE("softmax: what a mask leaves out is 0 and gets no gradient", "[ops]") {
  const rows x{1, 2, 3, 4, 5, 1000};
  const tensor<boolean, 2, 3> held{true, false, true, false, false, false};
  const auto f = [](auto y, auto m) { return softmax(y, -1, m); };
  const double high = 1 / (1 + std::exp(-2.0));
  CHECK(are_near(values_of(f, x, held), {1 - high, 0, high, 0, 0, 0}));
  const auto weighted = [&](auto y, auto m, auto w) { return f(y, m) * w; };
  const double slope = high * (1 - high);
  CHECK(are_near(gradient_of(weighted, x, held, rows{0, 5, 1, 1, 2, 3}),
                 {-slope, 0, slope, 0, 0, 0}));
  CHECK(are_near(values_of([](auto y, auto m) { return logsumexp(y, -1, m); }, x, held),
                 {3 + std::log1p(std::exp(-2.0)), -infinity}));
  CHECK(gradient_of([](auto y, auto m) { return logsumexp(y, 1, m); }, x, held)[3] == 0);
  CHECK(are_near(values_of([](auto y, auto m) { return log_softmax(y, -1, m); }, x, held),
                 {std::log(1 - high), -infinity, std::log(high), -infinity, -infinity, -infinity}));
}

TEST_CASE("softmax: the gradient is the central difference", "[ops]") {
  const rows x{0.3, -0.5, 1.2, 2, 0.1, -1};
  const rows w{1, -2, 3, 0.5, 2, -1};
  const auto f = [](auto y, auto v) {
    return sum(softmax(y) * v) + sum(log_softmax(y, 0) * v) + sum(logsumexp(y, 0));
  };
  CHECK(are_near(gradient_of(f, x, w), difference_of(f, x, w), 1e-8));
  const auto slope = [&](auto y, auto v) { return gradient_function(f)(y, v) * v; };
  CHECK(are_near(gradient_of(slope, x, w), difference_of(slope, x, w), 1e-6));
}

TEST_CASE("softmax: the graph has no more nodes than it needs", "[ops]") {
  // One exponential and two reductions a row, no reshape between them.
  CHECK(count_of<op::exp, rows>([](auto x) { return softmax(x); }) == 1);
  CHECK(count_of<op::reshape, rows>([](auto x) { return softmax(x); }) == 0);
}

TEST_CASE("softmax: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<rows>([](auto x) { return softmax(x, 2); }) ==
        "softmax: f64[2,3] along axis 2: the axis must be from -2 to 1");
  CHECK(sentence_of<tensor<f32, 2, 0>>([](auto x) { return softmax(x); }) ==
        "softmax: f32[2,0]: the reduced axes hold no element, and a maximum of nothing is "
        "undefined");
}
