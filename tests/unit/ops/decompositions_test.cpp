// unit/ops/decompositions_test.cpp: factors give their matrix again, and their derivatives.
// SPDX-License-Identifier: MIT
#include "atled/ops/decompositions.hpp"

#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"

#include "support/catch.hpp"
#include "unit/ops/traced.hpp"

using namespace atled;
using namespace atled::test;

namespace {
using matrix = tensor<f64, 3, 3>;
using tall = tensor<f64, 4, 2>;
using wide = tensor<f64, 2, 4>;
const matrix some{4, 1, -1, 2, 5, 0.5, -2, 1, 3};
const tall some_tall{1, 2, 3, -1, 0.5, 2, 4, 1};
const wide some_wide{1, 2, 3, -1, 0.5, 2, 4, 1};

static_assert(types_of<tensor<bf16, 2, 3, 3>, wide>([](auto x, auto y) {
                const auto [p, l, u] = linalg::lu(y);
                const auto [w, v] = linalg::eigh(x);
                const auto [left, s, right] = linalg::svd(y);
                return std::tuple{linalg::cholesky(x), p, l, u, w, v, left, s, right};
              }).view() ==
              "f32[2,3,3] f64[2,2] f64[2,2] f64[2,4] f32[2,3] f32[2,3,3] "
              "f64[2,2] f64[2] f64[2,4]");

/// The largest size of an element.
template <class F, class... T>
double largest_of(F f, const T&... x) {
  double most = 0;
  for (const double value : values_of(f, x...)) {
    most = std::abs(value) <= most ? most : std::abs(value);  // a NaN is taken
  }
  return most;
}
/// The gradient of the sum is the limit of differences.
template <class F, class... T>
bool has_right_gradient(F f, const T&... x) {
  const auto gradient = gradient_of(f, x...);
  const auto differences = difference_of(f, x...);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (!(std::abs(gradient[i] - differences[i]) <= 1e-7 * (1 + std::abs(gradient[i]))))
      return false;
  }
  return true;
}
}  // namespace

TEST_CASE("cholesky: L L^T is the symmetric part; NaN where that is not positive", "[ops]") {
  const auto rest = [](auto a) {
    const auto l = linalg::cholesky(a);
    return matmul(l, matrix_transpose(l)) - 0.5 * (a + matrix_transpose(a));
  };
  CHECK(largest_of(rest, some) < 1e-14);
  CHECK(has_right_gradient([](auto a) { return sin(linalg::cholesky(a)); }, some));
  const auto not_positive =
      values_of([](auto a) { return linalg::cholesky(-a); }, tensor<f64, 2, 2>{1, 0, 0, 1});
  CHECK(are_near(not_positive, numbers{not_a_number, 0, not_a_number, not_a_number}));
}

TEST_CASE("cholesky: the logarithm of a determinant", "[ops]") {  // CASES LA2
  const auto log_det = [](auto a) {
    return 2.0 * sum(log(sum(linalg::cholesky(a) * eye(a, 2, dtype::f64), 1)));
  };
  const tensor<f64, 2, 2> a{2, 1, 1, 2};
  CHECK(are_near(values_of(log_det, a), {1.0986122886681098}));
  CHECK(are_near(gradient_of(log_det, a), {2.0 / 3, -1.0 / 3, -1.0 / 3, 2.0 / 3}, 1e-14));
}

TEST_CASE("solve_triangular: the triangle that is asked for; leading axes broadcast", "[ops]") {
  const auto rest = [](auto a, auto b) {
    const auto x = linalg::solve_triangular(a, b, {.lower = true});
    const auto y = linalg::solve_triangular(a, b, {.transposed = true});
    const auto z = linalg::solve_triangular(a, b, {.lower = true, .unit_diagonal = true});
    const auto unit = tril(a, -1) + eye(a, 3, dtype::f64);
    return abs(matmul(tril(a), x) - b) + abs(matmul(matrix_transpose(triu(a)), y) - b) +
           abs(matmul(unit, z) - b);
  };
  CHECK(largest_of(rest, some, tensor<f64, 3>{1, 2, 3}) < 1e-14);
  CHECK(largest_of(rest, some, tensor<f64, 2, 3, 2>{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}) < 1e-13);
  const auto f = [](auto a, auto b) { return sin(linalg::solve_triangular(a, b)); };
  CHECK(has_right_gradient(f, some, tensor<f64, 2, 3, 1>{1, 2, 3, 4, 5, 6}));
  CHECK(has_right_gradient([f](auto b, auto a) { return f(a, b); }, tensor<f64, 3>{1, 2, 3}, some));
}

TEST_CASE("lu: P L U is the matrix; factors of any shape", "[ops]") {
  const auto rest = [](auto a) {
    const auto [p, l, u] = linalg::lu(a);
    return matmul(p, matmul(l, u)) - a;
  };
  CHECK(largest_of(rest, some) < 1e-14);
  CHECK(largest_of(rest, some_tall) < 1e-14);
  CHECK(largest_of(rest, some_wide) < 1e-14);
  const auto f = [](auto a) {
    const auto [p, l, u] = linalg::lu(a);
    return sum(sin(l)) + sum(cos(u));
  };
  CHECK(has_right_gradient(f, some));
  CHECK(has_right_gradient(f, some_tall));
  CHECK(has_right_gradient(f, some_wide));
}

TEST_CASE("qr: Q R is the matrix; factors of any shape", "[ops]") {
  const auto rest = [](auto a) {
    const auto [q, r] = linalg::qr(a);
    return matmul(q, r) - a;
  };
  CHECK(largest_of(rest, some) < 1e-14);
  CHECK(largest_of(rest, some_tall) < 1e-14);
  CHECK(largest_of(rest, some_wide) < 1e-14);
  const auto f = [](auto a) {
    const auto [q, r] = linalg::qr(a);
    return sum(sin(q)) + sum(cos(r));
  };
  CHECK(has_right_gradient(f, some));
  CHECK(has_right_gradient(f, some_tall));
  CHECK(has_right_gradient(f, some_wide));
}

TEST_CASE("eigh: values ascend; the gradient of the largest", "[ops]") {  // CASES LA4
  const auto largest = [](auto a) { return max(linalg::eigvalsh(a)); };
  CHECK(are_near(values_of(largest, tensor<f64, 2, 2>{2, 1, 1, 2}), {3}, 1e-14));
  CHECK(are_near(gradient_of(largest, tensor<f64, 2, 2>{2, 1, 1, 2}), {0.5, 0.5, 0.5, 0.5}, 1e-14));
  const auto rest = [](auto a) {
    const auto [w, v] = linalg::eigh(a);
    return matmul(v * expand_dims(w, 0), matrix_transpose(v)) - 0.5 * (a + matrix_transpose(a));
  };
  CHECK(largest_of(rest, some) < 1e-13);
  const auto f = [](auto a) {
    const auto [w, v] = linalg::eigh(a);
    return sum(sin(w)) + sum(square(v * v));
  };
  CHECK(has_right_gradient(f, some));
}

TEST_CASE("eigh: equal eigenvalues give no NaN", "[ops]") {  // CASES LA5
  const auto f = [](auto a) { return sum(square(linalg::eigh(a).first)); };
  CHECK(are_near(values_of(f, tensor<f64, 2, 2>{2, 0, 0, 2}), {8}, 1e-14));
  CHECK(are_near(gradient_of(f, tensor<f64, 2, 2>{2, 0, 0, 2}), {4, 0, 0, 4}, 1e-14));
  for (const double value : second_of(f, tensor<f64, 2, 2>{2, 0, 0, 2})) {
    CHECK(std::isfinite(value));
  }
}

TEST_CASE("svd: U diag(s) V^T is the matrix; factors of any shape", "[ops]") {
  const auto rest = [](auto a) {
    const auto [u, s, vt] = linalg::svd(a);
    return matmul(u * expand_dims(s, 0), vt) - a;
  };
  CHECK(largest_of(rest, some) < 1e-13);
  CHECK(largest_of(rest, some_tall) < 1e-13);
  CHECK(largest_of(rest, some_wide) < 1e-13);
  const auto f = [](auto a) {
    const auto [u, s, vt] = linalg::svd(a);
    return sum(sin(s)) + sum(square(u * u)) + sum(square(vt * vt));
  };
  CHECK(has_right_gradient(f, some));
  CHECK(has_right_gradient(f, some_tall));
  CHECK(has_right_gradient(f, some_wide));
  const auto nuclear = [](auto a) { return sum(linalg::svdvals(a)); };
  CHECK(are_near(gradient_of(nuclear, tensor<f64, 2, 2>{1, 0, 0, 1}), {1, 0, 0, 1}, 1e-14));
}

TEST_CASE("decompositions: what is ill-formed is one sentence", "[ops]") {
  CHECK(sentence_of<tall>([](auto a) { return linalg::cholesky(a); }) ==
        "cholesky: f64[4,2]: the matrix must be square");
  CHECK(sentence_of<tensor<f32, 3>>([](auto a) { return linalg::qr(a); }) ==
        "qr: f32[3]: it takes matrices, of two axes or more");
  CHECK(sentence_of<matrix, tensor<f64, 4>>([](auto a, auto b) {
          return linalg::solve_triangular(a, b);
        }) == "solve_triangular: a f64[3,3] and b f64[4]: b must have 3 rows");
  CHECK(sentence_of<tensor<f32, 2, 3, 3>, tensor<f32, 4, 3, 1>>([](auto a, auto b) {
          return linalg::solve_triangular(a, b);
        }) == "solve_triangular: a f32[2,3,3] and b f32[4,3,1]: leading axes must be equal or 1");
}
