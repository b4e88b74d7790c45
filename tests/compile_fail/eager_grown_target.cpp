// expect-error: tensor: f32[2,4] as f32[4]: types must be equal; reshape or broadcast it
// expect-lines: 16
#include "atled/loops/eager.hpp"

using namespace atled;

#ifdef ATLED_FIXED
void grow(tensor<f32, 2, 4>& a, const tensor<f32, 4>& b) {
  a += b;
}
#else
void grow(tensor<f32, 4>& a, const tensor<f32, 2, 4>& b) {
  a += b;
}
#endif
