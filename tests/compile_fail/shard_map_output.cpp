// expect-error: shard_map_output.cpp:9: shard_map: output 0 differs between the ranks of data, which its spec does not name: use psum or pmean over data, or name it in out_specs
#include "atled/ops/collective.hpp"
#include "atled/transform/shard_map.hpp"

constexpr auto total = [](auto x) {
#ifdef ATLED_FIXED
  return psum(x * x, atled::axis<"data">);
#else
  return x * x;
#endif
};

int main() {
  using namespace atled;
  const mesh<axis<"data">> devices;
  const auto f = shard_map(total, devices, in_specs<P<"data">>, out_specs<P<>>);
  static_cast<void>(f(tensor<f32, 8>()));
}
