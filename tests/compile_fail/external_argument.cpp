// expect-error: external_argument.cpp:16: external_call: argument 0 is f32[8], the host function takes f64[8]: types must be equal; convert it with astype
#include "atled/ops/elementwise.hpp"
#include "atled/ops/external.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

tensor<f64> first(const tensor_view<const f64, 8>& x) {
  return x(0);
}

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return external_call<first>(astype<f64>(x));
#else
  return external_call<first>(exp(x));
#endif
};

int main() {
  static_cast<void>(jit(f)(tensor<f32, 8>()));
}
