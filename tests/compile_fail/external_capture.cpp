// expect-error: external_call: the host function captures variables: it must be stateless; pass them as arguments
#include "atled/ops/external.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

constexpr auto f = [](auto x) {
#ifdef ATLED_FIXED
  return external_call(
      [](const tensor_view<const f64, 8>& u, f64 scale) { return tensor<f64>(u(0) * scale); }, x,
      2);
#else
  const double scale = x.rank();
  return external_call(
      [scale](const tensor_view<const f64, 8>& u) { return tensor<f64>(u(0) * scale); }, x);
#endif
};

int main() {
  static_cast<void>(jit(f)(tensor<f64, 8>()));
}
