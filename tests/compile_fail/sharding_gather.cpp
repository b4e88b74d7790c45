// expect-error: sharding_gather.cpp:10: jit: output 0 is f32[8,16] as P(data,-), and P(-,-) would move it between ranks; say so with reshard
#include "atled/ops/sharding.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
constexpr auto twice = [](auto x) {
#ifdef ATLED_FIXED
  return reshard<P<>>(x * 2.0f);
#else
  return x * 2.0f;
#endif
};

int main() {
  const mesh<axis<"data", 2>> devices;
  const auto f = jit(twice, devices, in_specs<P<"data">>, out_specs<P<>>);
  static_cast<void>(f(tensor<f32, 4, 16>()));
}
