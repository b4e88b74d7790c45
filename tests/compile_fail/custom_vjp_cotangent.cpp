// expect-error: custom_vjp_cotangent.cpp:10: custom_vjp: bwd: the cotangent leaf 0 is f32[], leaf 0 of the arguments is f32[8]: their types must be equal
#include "atled/ops/elementwise.hpp"
#include "atled/ops/reduce.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"

using namespace atled;

constexpr auto f =
    custom_vjp([](auto x) { return sum(x); }, [](auto x) { return std::pair(sum(x), x); },
#ifdef ATLED_FIXED
               [](auto x, auto ct) { return ct + 0 * x; });
#else
               [](auto, auto ct) { return ct; });
#endif

int main() {
  static_cast<void>(grad(f)(tensor<f32, 8>()));
}
