// expect-error: external_call: the types of the host function are not declared: give each parameter its type, tensor_view<const f64, 3>
#include "atled/ops/external.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return external_call([](const tensor_view<const f64, 8>& u) { return tensor<f64>(u(0)); }, x);
#else
  return external_call([](const auto& u) { return tensor<f64>(u(0)); }, x);
#endif
};

int main() {
  static_cast<void>(jit(f)(tensor<f64, 8>()));
}
