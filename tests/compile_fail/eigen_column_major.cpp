// expect-error: from_eigen: the matrix is column-major: map its transpose(), which is row-major
#include "atled/core/eigen_map.hpp"

using namespace atled;

#ifdef ATLED_FIXED
Eigen::MatrixXf a(2, 3);
const auto b = from_eigen<3, 2>(a.transpose());
#else
Eigen::MatrixXf a(2, 3);
const auto b = from_eigen<2, 3>(a);
#endif
