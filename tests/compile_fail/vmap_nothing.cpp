// expect-error: vmap: no argument is mapped: in_axes must give an axis to one of them
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

using namespace atled;

constexpr auto weighted = [](auto x, auto w) { return sum(x * w); };

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(vmap(weighted, in_axes<0, none>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#else
  static_cast<void>(vmap(weighted, in_axes<none, none>)(tensor<f32, 8, 3>(), tensor<f32, 3>()));
#endif
}
