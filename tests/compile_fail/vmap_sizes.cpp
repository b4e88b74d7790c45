// expect-error: vmap: argument 0 axis 0 is 8, argument 1 axis 0 is 4: mapped sizes must agree
#include "atled/ops/reduce.hpp"
#include "atled/transform/vmap.hpp"

using namespace atled;

constexpr auto weighted = [](auto x, auto w) { return sum(x * w); };

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(vmap(weighted)(tensor<f32, 8, 3>(), tensor<f32, 8, 3>()));
#else
  static_cast<void>(vmap(weighted)(tensor<f32, 8, 3>(), tensor<f32, 4, 3>()));
#endif
}
