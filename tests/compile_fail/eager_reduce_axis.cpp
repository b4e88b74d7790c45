// expect-error: sum: f32[8,16] along axis 2: the axis must be from -2 to 1
#include "atled/loops/eager_reduce.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 8, 16> a;
const auto b = sum(a, axis<1>);
#else
const tensor<f32, 8, 16> a;
const auto b = sum(a, axis<2>);
#endif
