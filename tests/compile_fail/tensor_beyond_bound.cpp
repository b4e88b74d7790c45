// expect-error: tensor: there are more values than its bound
#include "atled/core/bounded_tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, upto<3>> x{1, 2, 3};
#else
const tensor<f32, upto<3>> x{1, 2, 3, 4};
#endif
