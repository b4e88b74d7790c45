// expect-error: cond_types.cpp:15: cond: leaf 0 is f64[] in one branch and f64[3] in another: they must be equal
#include "atled/ops/control.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto p, auto x) {
  const auto twice = [&] { return 2.0 * x; };
#ifdef ATLED_FIXED
  const auto other = [&] { return x; };
#else
  const auto other = [&] { return sum(x); };
#endif
  return cond(p, twice, other);
};

int main() {
  static_cast<void>(jit(f)(tensor<boolean>(), tensor<f64, 3>()));
}
