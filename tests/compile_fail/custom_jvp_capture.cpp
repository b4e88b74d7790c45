// expect-error: custom_jvp_capture.cpp:13: custom_jvp: the function uses a differentiated value that is none of its arguments: pass it as an argument
#include "atled/ops/elementwise.hpp"
#include "atled/transform/custom_jvp.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return custom_jvp([](auto u) { return u * u; },
                    [](auto, auto t) { return std::pair(0, std::get<0>(t)); })(x);
#else
  return custom_jvp([x](auto u) { return u * x; },
                    [](auto, auto t) { return std::pair(0, std::get<0>(t)); })(x);
#endif
};

int main() {
  static_cast<void>(grad(f)(tensor<f32>()));
}
