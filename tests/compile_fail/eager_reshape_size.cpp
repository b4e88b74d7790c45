// expect-error: reshape: f32[2,3] to f32[5]: 6 elements must equal 5
#include "atled/loops/eager_shape.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 2, 3> a;
const auto b = reshape<6>(a);
#else
const tensor<f32, 2, 3> a;
const auto b = reshape<5>(a);
#endif
