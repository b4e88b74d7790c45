// unit/ops/conv_test.cpp: convolutions whose result is plain, and what is ill-formed. Numbers are
// compared in reference/conv_test.cpp.
// SPDX-License-Identifier: MIT
#include "atled/ops/conv.hpp"

#include "atled/core/creation.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

static_assert(types_of<tensor<f32, 2, 3, 32, 32>, tensor<bf16, 8, 3, 3, 3>>([](auto x, auto w) {
                return std::tuple{conv(x, w), conv(x, w, {.strides = {2, 2}, .padding = same}),
                                  conv_transpose(x, w, {.strides = {2, 2}, .padding = same})};
              }).view() == "f32[2,8,30,30] f32[2,8,16,16] f32[2,8,64,64]");

TEST_CASE("conv: along one axis the weights are not turned round", "[ops]") {
  const auto f = [](auto x, auto w) { return conv(x, w); };
  CHECK(values_of(f, tensor<f64, 1, 1, 4>{1, 2, 3, 4}, tensor<f64, 1, 1, 2>{1, 10}) ==
        numbers{21, 32, 43});
  CHECK(gradient_of(f, tensor<f64, 1, 1, 4>{1, 2, 3, 4}, tensor<f64, 1, 1, 2>{1, 10}) ==
        numbers{1, 11, 11, 10});
}

TEST_CASE("conv: a window of many elements", "[ops]") {
  const auto ones = full<f64, 1, 9, 9, 1>(1);
  const auto weights = full<f64, 9, 9, 1, 1>(2);
  CHECK(values_of([](auto x, auto w) { return conv(x, w, {.layout = channels_last}); }, ones,
                  weights) == numbers{162});
}

TEST_CASE("conv: what is ill-formed is one sentence", "[ops]") {
  using image = tensor<f32, 1, 4, 8, 8>;
  CHECK(sentence_of<image, tensor<f32, 2, 3, 3, 3>>([](auto x, auto w) { return conv(x, w); }) ==
        "conv: image f32[1,4,8,8] and weights f32[2,3,3,3]: 4 channels must be 1 groups of the 3 "
        "that the weights take");
  CHECK(sentence_of<image, tensor<f32, 2, 4, 9, 3>>([](auto x, auto w) { return conv(x, w); }) ==
        "conv: image f32[1,4,8,8] and weights f32[2,4,9,3]: the window must fit into the padded "
        "image");
  CHECK(sentence_of<image, tensor<f32, 2, 4, 3, 3>>(
            [](auto x, auto w) { return conv(x, w, {.strides = {2}}); }) ==
        "conv: image f32[1,4,8,8] and weights f32[2,4,3,3]: strides and dilations must be 1 or "
        "more, one for each spatial axis");
}
