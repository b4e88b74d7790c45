// expect-error: tensor: one index for each axis is needed
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 2, 2> a;
const f32 value = a(1, 0);
#else
const tensor<f32, 2, 2> a;
const f32 value = a(1);
#endif
