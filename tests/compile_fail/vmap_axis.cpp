// expect-error: vmap: argument 1 is f32[3], to be mapped along axis 1: the axis must be from -1 to 0
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

using namespace atled;

constexpr auto weighted = [](auto x, auto w) { return sum(x * w); };

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(vmap(weighted, in_axes<1, 0>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#else
  static_cast<void>(vmap(weighted, in_axes<1, 1>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#endif
}
