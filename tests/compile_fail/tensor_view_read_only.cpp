// expect-error: tensor_view: it shows memory that may only be read
#include "atled/core/tensor.hpp"

using namespace atled;

#ifdef ATLED_FIXED
void write(tensor_view<f32, 4> out, const tensor<f32, 4>& x) {
  out.assign(x);
}
#else
void write(tensor_view<const f32, 4> out, const tensor<f32, 4>& x) {
  out.assign(x);
}
#endif
