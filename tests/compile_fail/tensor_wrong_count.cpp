// expect-error: tensor: the number of values must equal its size
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 2, 3> a{1, 2, 3, 4, 5, 6};
#else
const tensor<f32, 2, 3> a{1, 2, 3, 4, 5};
#endif
