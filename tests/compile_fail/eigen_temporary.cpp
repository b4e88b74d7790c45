// expect-error: from_eigen: the matrix is temporary: the view would outlive it; name it first
#include "atled/core/eigen_map.hpp"

using namespace atled;

#ifdef ATLED_FIXED
Eigen::VectorXf v(3);
const auto b = from_eigen<3>(v);
#else
const auto b = from_eigen<3>(Eigen::VectorXf(3));
#endif
