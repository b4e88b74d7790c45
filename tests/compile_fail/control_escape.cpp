// expect-error: control_escape.cpp:19: jit: output 0 is a value inside of a loop or branch: return it from the body
#include "atled/ops/scan.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto c, auto x) {
  auto kept = c;
  const auto step = [&](auto carry, auto row) {
    const auto product = carry * row;
#ifdef ATLED_FIXED
    return std::pair(product, product);
#else
    kept = product;
    return std::pair(carry * row, product);
#endif
  };
  const auto last = scan(step, c, x).first;
  return kept * last;
};

int main() {
  static_cast<void>(jit(f)(tensor<f64>(), tensor<f64, 4>()));
}
