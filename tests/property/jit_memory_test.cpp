// property/jit_memory_test.cpp: where kernels read and write: operands without memory, results in
// the place of operands, and rows of one element. Reads: property/compiled.hpp.
// SPDX-License-Identifier: MIT
#include "property/compiled.hpp"

using namespace atled;
using namespace atled::test;

TEST_CASE("jit: constants and indices are in memory where a kernel reads it", "[property]") {
  constexpr auto f = [](auto x, auto y) {
    const auto written = dynamic_update_slice(x, reshape(y, {1, 2}), {0, 1});
    const auto counted = take(x, iota_like(x, 0), 0);
    const auto inner = matmul(ones_like(x), transpose(x));
    return std::tuple(written, counted, inner, cumsum(iota_like(x, 1), 1));
  };
  CHECK(compiled_distance(f, numbers_for<tensor<f64, 2, 3>>(1), numbers_for<tensor<f64, 2>>(2)) <
        1e-15);
}

TEST_CASE("jit: a result does not take the place of what is still to be read", "[property]") {
  constexpr auto f = [](auto x, auto y) {
    const auto taken = take(x, argmax(x), 0);  // read after exp(y) was stored
    const auto e = exp(y);
    const auto rows = take(x, iota_like(y, 0) * 2, 0);
    return std::tuple(e, sum(rows * e), rows * e + taken);
  };
  CHECK(compiled_distance(f, numbers_for<tensor<f64, 6>>(1), numbers_for<tensor<f64, 3>>(2)) <
        1e-14);
}

TEST_CASE("jit: a reduction beside an axis of one element", "[property]") {
  constexpr auto f = [](auto x) {
    const auto wide = reshape(x * 2.0, {3, 2, 1});
    return std::tuple(sum(wide, 1), max(wide, {0}), sum(wide, {0, 1}), sum(reshape(x, {1, 6, 1})));
  };
  CHECK(compiled_distance(f, numbers_for<tensor<f64, 6>>(1)) < 1e-15);
}
