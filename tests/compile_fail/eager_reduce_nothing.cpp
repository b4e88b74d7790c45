// expect-error: max: f32[0,3]: the reduced axes hold no element, and a max of nothing is undefined
#include "atled/loops/eager_reduce.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 0, 3> a;
const auto b = max(a, axis<1>);
#else
const tensor<f32, 0, 3> a;
const auto b = max(a, axis<0>);
#endif
