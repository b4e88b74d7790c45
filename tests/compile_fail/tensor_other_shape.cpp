// expect-error: tensor: f32[4] as f32[3]: types must be equal; reshape or broadcast it
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 4> a;
const tensor<f32, 4> b = a;
#else
const tensor<f32, 4> a;
const tensor<f32, 3> b = a;
#endif
