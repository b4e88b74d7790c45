// unit/core/eigen_map_test.cpp: both directions map, none copies.
// Reads: atled/core/eigen_map.hpp.
// SPDX-License-Identifier: MIT
#include "atled/core/eigen_map.hpp"

#include "support/catch.hpp"
#include "support/near.hpp"

namespace {

using namespace atled;
using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class X>
concept maps = requires(X make()) {
  to_eigen(make());
};
static_assert(maps<tensor<f32, 3>&> && maps<const tensor<f32, 3>&>);
static_assert(!maps<tensor<f32, 3>> && !maps<const tensor<f32, 30, 30>>);

}  // namespace

TEST_CASE("eigen_map: a tensor is a row-major matrix", "[core]") {
  tensor<f64, 2, 3> a{{1, 2, 3}, {4, 5, 6}};
  auto matrix = to_eigen(a);
  CHECK((matrix.rows() == 2 && matrix.cols() == 3));
  CHECK(matrix(1, 0) == 4);
  matrix(0, 2) = 30;
  CHECK(a(0, 2) == 30);

  tensor<f64, 100, 70> large;
  to_eigen(large).setConstant(2);
  CHECK(large(99, 69) == 2);
  CHECK(to_eigen(std::as_const(large)).sum() == 14000);
}

TEST_CASE("eigen_map: a tensor of rank 1 is a vector, a single column a matrix", "[core]") {
  const tensor<f32, 3> v{1, 2, 2};
  CHECK(to_eigen(v).norm() == 3);
  const tensor<f32, 3, 1> column{1, 2, 3};
  CHECK(to_eigen(column)(2, 0) == 3);
  const tensor<f32, 1, 3> row{1, 2, 3};
  CHECK(to_eigen(row)(0, 2) == 3);
}

TEST_CASE("eigen_map: a row-major matrix is a tensor view", "[core]") {
  row_major m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  const tensor_view<double, 2, 3> view = from_eigen<2, 3>(m);
  view(1, 2) = 60;
  CHECK(m(1, 2) == 60);
  const row_major& reading = m;
  CHECK(from_eigen<2, 3>(reading)(0, 1) == 2);
  CHECK(same_bits(from_eigen<2, 3>(m), tensor<f64, 2, 3>{1, 2, 3, 4, 5, 60}));
}

TEST_CASE("eigen_map: a column-major matrix is seen through its transpose", "[core]") {
  Eigen::MatrixXd m(2, 3);
  m << 1, 2, 3, 4, 5, 6;
  const auto view = from_eigen<3, 2>(m.transpose());
  CHECK(same_bits(view, tensor<f64, 3, 2>{1, 4, 2, 5, 3, 6}));
}

TEST_CASE("eigen_map: vectors, maps and round trips keep the memory", "[core]") {
  Eigen::Vector3f v(1, 2, 3);
  CHECK(from_eigen<3>(v).data() == v.data());
  tensor<f32, 4, 4> a;
  CHECK(from_eigen<4, 4>(to_eigen(a)).data() == a.data());
}

TEST_CASE("eigen_map: other sizes and gaps are refused", "[core]") {
  row_major m = row_major::Zero(4, 4);
  CHECK_THROWS_WITH(
      (from_eigen<4, 3>(m)),
      "from_eigen: a matrix of 4 rows and 4 columns as f64[4,3]: sizes must be equal");
  CHECK_THROWS_WITH((from_eigen<2, 2>(m.block(0, 0, 2, 2))),
                    "from_eigen: rows or elements have gaps between them: copy it first");
}
