// expect-error: psum_axis.cpp:10: psum: axis lanes: no vmap around this call names it by axis_name; named are batch
#include "atled/ops/collective.hpp"
#include "atled/transform/vmap.hpp"

#ifdef ATLED_FIXED
constexpr auto lanes = atled::axis<"batch">;
#else
constexpr auto lanes = atled::axis<"lanes">;
#endif
constexpr auto centred = [](auto x) { return x - psum(x, lanes); };

int main() {
  using namespace atled;
  static_cast<void>(vmap(centred, axis_name<"batch">)(tensor<f32, 8, 3>()));
}
