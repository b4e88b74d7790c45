// expect-error: tensor: each row must have as many values as axis 1
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 2, 2> a{{1, 2}, {3, 4}};
#else
const tensor<f32, 2, 2> a{{1, 2}, {3}};
#endif
