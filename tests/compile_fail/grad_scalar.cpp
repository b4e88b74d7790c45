// expect-error: grad_scalar.cpp:12: grad: output 0 is f32[8]: it must be a scalar; use vjp, or sum it
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return sum(tanh(x));
#else
  return tanh(x);
#endif
};

int main() {
  static_cast<void>(grad(f)(tensor<f32, 8>()));
}
