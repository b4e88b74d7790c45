// expect-error: sharding_axis_twice.cpp:11: with_sharding_constraint: P(data,data): mesh axis data is used for axis 0 and axis 1
#include "atled/ops/sharding.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
#ifdef ATLED_FIXED
constexpr auto spec = P<"data", "model">;
#else
constexpr auto spec = P<"data", "data">;
#endif
constexpr auto placed = [](auto x) { return with_sharding_constraint(x, spec); };

int main() {
  const mesh<axis<"data", 4>, axis<"model", 2>> devices;
  static_cast<void>(jit(placed, devices)(tensor<f32, 8, 16>()));
}
