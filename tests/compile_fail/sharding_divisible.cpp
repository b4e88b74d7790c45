// expect-error: sharding_divisible.cpp:11: with_sharding_constraint: f32[6,16] as P(data,model) on mesh{data:4,model:2}: axis 0 (6) must be divisible by data (4)
#include "atled/ops/sharding.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
#ifdef ATLED_FIXED
constexpr auto spec = P<none, "model">;
#else
constexpr auto spec = P<"data", "model">;
#endif
constexpr auto placed = [](auto x) { return with_sharding_constraint(x, spec); };

int main() {
  const mesh<axis<"data", 4>, axis<"model", 2>> devices;
  static_cast<void>(jit(placed, devices)(tensor<f32, 6, 16>()));
}
