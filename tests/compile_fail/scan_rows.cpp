// expect-error: scan_rows.cpp:17: scan: leaf 1 of xs is f64[5]: axis 0 must be 4, as before
#include "atled/ops/scan.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr int num_rows = 4;
#else
constexpr int num_rows = 5;
#endif

constexpr auto f = [](auto c, auto x, auto y) {
  const auto step = [](auto carry, auto rows) {
    return std::pair(carry + rows.first * rows.second, std::tuple<>{});
  };
  return scan(step, c, std::pair(x, y)).first;
};

int main() {
  static_cast<void>(jit(f)(tensor<f64>(), tensor<f64, 4>(), tensor<f64, num_rows>()));
}
