// expect-error: tensor: item() needs a tensor of one element
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const f32 value = tensor<f32, 1>().item();
#else
const f32 value = tensor<f32, 2>().item();
#endif
