// unit/transform/saved_residuals_test.cpp: what a derivative keeps, with and without checkpoints.
// SPDX-License-Identifier: MIT
#include "atled/transform/saved_residuals.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/linalg.hpp"
#include "atled/transform/checkpoint.hpp"

#include "support/catch.hpp"

using namespace atled;

namespace {

constexpr auto layer = [](auto x, auto w) {
  const auto inner = sin(matmul(x, w.first));
  return matmul(inner, w.second);
};
using batch = tensor<f32, 256, 16>;
using weights = std::pair<tensor<f32, 16, 64>, tensor<f32, 64, 16>>;

}  // namespace

TEST_CASE("saved_residuals: values, their sizes and the lines that made them", "[transform]") {
  CHECK(saved_residuals(layer, batch(), weights()) ==
        "f32[256,16]  16384 bytes  argument 0\n"
        "f32[16,64]  4096 bytes  argument 1 leaf 0\n"
        "f32[64,16]  4096 bytes  argument 1 leaf 1\n"
        "f32[256,64]  65536 bytes  sin at saved_residuals_test.cpp:16\n"
        "f32[256,64]  65536 bytes  cos at saved_residuals_test.cpp:16\n"
        "155648 bytes in 5 values\n");
}

TEST_CASE("saved_residuals: a checkpoint keeps its arguments", "[transform]") {
  constexpr auto checked = [](auto x, auto w) { return checkpoint(layer)(x, w); };
  CHECK(saved_residuals(checked, batch(), weights()) ==
        "f32[256,16]  16384 bytes  argument 0\n"
        "f32[16,64]  4096 bytes  argument 1 leaf 0\n"
        "f32[64,16]  4096 bytes  argument 1 leaf 1\n"
        "24576 bytes in 3 values\n");
}
