// expect-error: broadcast_to: f32[3] to f32[3,2]: sizes must be equal or 1, aligned at the last
// axis
#include "atled/loops/eager_shape.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 3> a;
const auto b = broadcast_to<2, 3>(a);
#else
const tensor<f32, 3> a;
const auto b = broadcast_to<3, 2>(a);
#endif
