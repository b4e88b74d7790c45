// expect-error: while_gradient.cpp:13: while_loop: the number of trips has no bound: a gradient in reverse keeps values of each trip; give one with max_trips<N>
#include "atled/ops/control.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
  const auto goes_on = [](auto y) { return y < 100.0; };
  const auto next = [](auto y) { return y * y; };
#ifdef ATLED_FIXED
  return while_loop(goes_on, next, x, max_trips<8>);
#else
  return while_loop(goes_on, next, x);
#endif
};

int main() {
  static_cast<void>(grad(f)(tensor<f64>(3.0)));
}
