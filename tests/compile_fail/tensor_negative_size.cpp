// expect-error: tensor: a size is negative: sizes must be 0 or more
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 1> a;
#else
const tensor<f32, -1> a;
#endif
