// expect-error: external_call: a host function has no derivative: call it inside a custom_vjp or custom_jvp, or stop_gradient its arguments
#include "atled/ops/elementwise.hpp"
#include "atled/ops/external.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

tensor<f64> first(const tensor_view<const f64, 8>& x) {
  return x(0);
}

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return external_call<first>(stop_gradient(x));
#else
  return external_call<first>(x);
#endif
};

int main() {
  static_cast<void>(grad(f)(tensor<f64, 8>()));
}
