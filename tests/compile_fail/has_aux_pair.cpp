// expect-error: has_aux: the function returns one tree: it must return a pair of the value and the rest
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return std::pair(sum(x * x), x);
#else
  return sum(x * x);
#endif
};

int main() {
  static_cast<void>(grad(f, has_aux)(tensor<f64, 3>()));
}
