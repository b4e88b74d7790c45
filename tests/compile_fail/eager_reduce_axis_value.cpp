// expect-error: atled: the axis of a plain tensor must be known to the compiler: write axis<1>
#include "atled/loops/eager_reduce.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 8, 16> a;
const auto b = sum(a, axis<1>);
#else
const tensor<f32, 8, 16> a;
const auto b = sum(a, 1);
#endif
