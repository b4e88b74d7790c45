// expect-error: atled: a bounded tensor has a size known at the call only: compute with it inside a function given to jit
// expect-lines: 64
#include "atled/core/bounded_tensor.hpp"
#include "atled/loops/eager.hpp"

using namespace atled;

auto twice(const tensor<f32, upto<8>>& x) {
#ifdef ATLED_FIXED
  return x.size();
#else
  return x + x;
#endif
}
