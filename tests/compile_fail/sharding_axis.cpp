// expect-error: sharding_axis.cpp:11: with_sharding_constraint: P(batch,-) on mesh{data:4,model:2}: no mesh axis batch; it has data, model
#include "atled/ops/sharding.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
#ifdef ATLED_FIXED
constexpr auto spec = P<"data", none>;
#else
constexpr auto spec = P<"batch", none>;
#endif
constexpr auto placed = [](auto x) { return with_sharding_constraint(x, spec); };

int main() {
  const mesh<axis<"data", 4>, axis<"model", 2>> devices;
  static_cast<void>(jit(placed, devices)(tensor<f32, 8, 16>()));
}
