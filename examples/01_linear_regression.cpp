// 01_linear_regression.cpp: a line through points that Eigen holds, found by gradient descent.
// Next: 02_grad_of_grad.cpp.
// SPDX-License-Identifier: MIT
#include "atled/atled.hpp"
#include "atled/core/eigen_map.hpp"

#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

using namespace atled;

/// What is learned: y = x slope + offset. K says whether the leaves are tensors or, in a trace,
/// expressions.
template <class K>
struct line {
  typename K::template leaf<f32, 3> slope;
  typename K::template leaf<f32> offset;
  ATLED_TREE(line, slope, offset)

  constexpr expr operator()(const expr& x) const { return matmul(x, slope) + offset; }
};

constexpr auto loss = [](auto model, auto x, auto y) { return mean(square(model(x) - y)); };

/// One step downhill: the loss before it, and the line after it.
constexpr auto descend = [](auto model, auto x, auto y) {
  const auto [value, gradient] = value_and_grad(loss)(model, x, y);
  const auto better = tree_map([](auto p, auto g) { return p - 0.2 * g; }, model, gradient);
  return std::pair(value, better);
};

int main() {
  // Data as an Eigen program has it: 200 points on y = 2 a - 3 b + 0.5 c + 1.
  using row_major = Eigen::Matrix<f32, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const row_major points = row_major::Random(200, 3);
  const Eigen::Vector3f true_slope(2, -3, 0.5F);
  const Eigen::VectorXf heights = (points * true_slope).array() + 1;

  // The same memory seen as tensors: nothing is copied.
  const auto x = from_eigen<200, 3>(points);
  const auto y = from_eigen<200>(heights);

  constexpr auto step = jit(descend);  // compiled with this program, not on the first call
  line<values> model;                  // zeros
  tensor<f32> value;
  for (int i = 0; i <= 100; ++i) {
    std::tie(value, model) = step(std::move(model), x, y);  // in place: the old line is given up
    if (i % 20 == 0) std::printf("step %3d  loss %.8f\n", i, static_cast<double>(value.item()));
  }
  const auto slope = to_eigen(model.slope);
  std::printf("y = %.3f a %+.3f b %+.3f c %+.3f\n", static_cast<double>(slope(0)),
              static_cast<double>(slope(1)), static_cast<double>(slope(2)),
              static_cast<double>(model.offset.item()));

  const bool is_right =
      (slope - true_slope).norm() < 1e-3F && std::abs(model.offset.item() - 1) < 1e-3F;
  return is_right ? 0 : 1;
}
