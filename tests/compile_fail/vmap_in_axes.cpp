// expect-error: vmap: in_axes has 3 entries, the call 2 arguments: one for each, or one for all
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

using namespace atled;

constexpr auto weighted = [](auto x, auto w) { return sum(x * w); };

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(vmap(weighted, in_axes<0, none>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#else
  static_cast<void>(vmap(weighted, in_axes<0, none, 0>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#endif
}
