// expect-error: transpose: each axis must be given once
#include "atled/loops/eager_shape.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 2, 3> a;
const auto b = transpose<1, 0>(a);
#else
const tensor<f32, 2, 3> a;
const auto b = transpose<1, 1>(a);
#endif
