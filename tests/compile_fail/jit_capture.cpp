// expect-error: atled::jit: the function captures variables: it must be stateless; pass them as arguments, or give a constexpr object as a template argument
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

int main() {
  using namespace atled;
  [[maybe_unused]] const float scale = 2.0F + static_cast<float>(__builtin_LINE());
#ifdef ATLED_FIXED
  const auto f = jit([](auto x, auto by) { return sum(x) * by; });
  static_cast<void>(f(tensor<f32, 3>{1, 2, 3}, scale));
#else
  const auto f = jit([scale](auto x) { return sum(x) * scale; });
  static_cast<void>(f(tensor<f32, 3>{1, 2, 3}));
#endif
}
