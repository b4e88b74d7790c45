// expect-error: cond_types.cpp:12: cond: leaf 0 is f64[] in one branch and f64[3] in another: they must be equal
#include "atled/ops/control.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto p, auto x) {
#ifdef ATLED_FIXED
  return cond(
      p, [&] { return 2.0 * x; }, [&] { return x; });
#else
  return cond(
      p, [&] { return 2.0 * x; }, [&] { return sum(x); });
#endif
};

int main() {
  static_cast<void>(jit(f)(tensor<boolean>(), tensor<f64, 3>()));
}
