// expect-error: vmap: output 0 differs between lanes: out_axes must give it an axis, not none
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

using namespace atled;

constexpr auto weighted = [](auto x, auto w) { return sum(x * w); };

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(vmap(weighted, out_axes<0>)(tensor<f32, 8, 3>(), tensor<f32, 8, 3>()));
#else
  static_cast<void>(vmap(weighted, out_axes<none>)(tensor<f32, 8, 3>(), tensor<f32, 8, 3>()));
#endif
}
