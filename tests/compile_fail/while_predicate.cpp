// expect-error: while_predicate.cpp:15: while_loop: predicate boolean[3]: it must be one boolean
#include "atled/ops/control.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  const auto goes_on = [](auto y) { return any(y < 100.0); };
#else
  const auto goes_on = [](auto y) { return y < 100.0; };
#endif
  const auto twice = [](auto y) { return 2.0 * y; };
  return while_loop(goes_on, twice, x);
};

int main() {
  static_cast<void>(jit(f)(tensor<f64, 3>()));
}
