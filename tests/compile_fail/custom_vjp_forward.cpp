// expect-error: custom_vjp_forward.cpp:10: custom_vjp: its rule is for reverse mode: forward mode (jvp, linearize, a jvp inside grad) needs custom_jvp
#include "atled/ops/elementwise.hpp"
#include "atled/transform/custom_vjp.hpp"
#include "atled/transform/grad.hpp"
#include "atled/transform/jvp.hpp"

using namespace atled;

constexpr auto f =
    custom_vjp([](auto x) { return exp(x); }, [](auto x) { return std::pair(exp(x), exp(x)); },
               [](auto y, auto ct) { return ct * y; });

int main() {
#ifdef ATLED_FIXED
  static_cast<void>(grad(f)(tensor<f32>()));
#else
  static_cast<void>(jvp(f, tensor<f32>(), tensor<f32>()));
#endif
}
