// expect-error: grad: argument 0 is i32[8]: it must be of a floating type; choose others with argnums
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = [](auto n, auto x) { return sum(x * n); };

int main() {
  const tensor<i32, 8> n;
  const tensor<f32, 8> x;
#ifdef ATLED_FIXED
  static_cast<void>(grad(f, argnums<1>)(n, x));
#else
  static_cast<void>(grad(f)(n, x));
#endif
}
