// expect-error: scan_carry_type.cpp:15: scan: carry leaf 0 begins as f64[] and is f64[3] after a trip: it must keep its type
#include "atled/ops/reduce.hpp"
#include "atled/ops/scan.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  const auto step = [](auto c, auto row) { return std::pair(c + sum(row), c); };
#else
  const auto step = [](auto c, auto row) { return std::pair(c + row, c); };
#endif
  const auto begin = sum(x);
  return scan(step, begin, x).first;
};

int main() {
  static_cast<void>(jit(f)(tensor<f64, 4, 3>()));
}
