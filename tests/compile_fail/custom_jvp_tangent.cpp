// expect-error: custom_jvp_tangent.cpp:9: custom_jvp: tangent leaf 0 is f32[8], leaf 0 of the result is f32[]: their types must be equal
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/custom_jvp.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f = custom_jvp([](auto x) { return sum(x); },
                              [](auto primals, auto tangents) {
                                const auto [x] = primals;
                                const auto [dx] = tangents;
#ifdef ATLED_FIXED
                                return std::pair(sum(x), sum(dx));
#else
                                return std::pair(sum(x), dx);
#endif
                              });

int main() {
  static_cast<void>(grad(f)(tensor<f32, 8>()));
}
