// expect-error: shard_map: P(batch) on mesh{data:?,model:2}: no mesh axis batch; it has data, model
#include "atled/transform/shard_map.hpp"

constexpr auto twice = [](auto x) { return x + x; };

int main() {
  using namespace atled;
  const mesh<axis<"data">, axis<"model", 2>> devices;
#ifdef ATLED_FIXED
  const auto f = shard_map(twice, devices, in_specs<P<"data">>, out_specs<P<"data">>);
#else
  const auto f = shard_map(twice, devices, in_specs<P<"batch">>, out_specs<P<"batch">>);
#endif
  static_cast<void>(f(tensor<f32, 8>()));
}
