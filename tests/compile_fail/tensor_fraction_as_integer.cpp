// expect-error: tensor: a floating value for an integer element: convert it first
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<i32, 2> a{1, 2};
#else
const tensor<i32, 2> a{1, 2.5};
#endif
