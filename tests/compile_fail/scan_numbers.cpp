// expect-error: atled: a loop begins with plain numbers only: a carry or a stack of rows must be an expression
// expect-lines: 256
#include "atled/ops/creation.hpp"
#include "atled/ops/scan.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
  const auto step = [&](auto c) { return std::pair(c * x, c); };
#ifdef ATLED_FIXED
  const auto begin = zeros_like(x);
#else
  const double begin = 0.0;
#endif
  return scan(step, begin, length<3>).first;
};

int main() {
  static_cast<void>(jit(f)(tensor<f64>()));
}
