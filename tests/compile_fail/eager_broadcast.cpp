// expect-error: add: f32[8,16] and f32[8]: axis 1 (16) against 8: sizes must be equal or 1; reshape
// the second to f32[8,1]
#include "atled/loops/eager.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 8, 16> a;
const tensor<f32, 8, 1> b;
const auto c = a + b;
#else
const tensor<f32, 8, 16> a;
const tensor<f32, 8> b;
const auto c = a + b;
#endif
