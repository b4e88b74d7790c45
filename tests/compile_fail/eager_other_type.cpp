// expect-error: tensor: f32[4] as f64[4]: types must be equal; convert with astype
#include "atled/loops/eager.hpp"

using namespace atled;

#ifdef ATLED_FIXED
const tensor<f32, 4> a;
const tensor<f64, 4> b = astype<f64>(a * 2);
#else
const tensor<f32, 4> a;
const tensor<f64, 4> b = a * 2;
#endif
