// expect-error: sharding_conflict.cpp:10: add: lhs P(data,-) and rhs P(model,-): axis 0 is sharded two ways; put with_sharding_constraint on one of them
#include "atled/ops/sharding.hpp"
#include "atled/transform/sharded.hpp"

using namespace atled;
constexpr auto sum_of = [](auto x, auto y) {
#ifdef ATLED_FIXED
  return x + with_sharding_constraint(y, P<"data">);
#else
  return x + y;
#endif
};

int main() {
  const mesh<axis<"data", 2>, axis<"model", 2>> devices;
  const auto f = jit(sum_of, devices, in_specs<P<"data">, P<"model">>);
  static_cast<void>(f(tensor<f32, 4, 16>(), tensor<f32, 4, 16>()));
}
