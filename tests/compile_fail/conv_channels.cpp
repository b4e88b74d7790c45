// expect-error: conv_channels.cpp:10: conv: image f32[1,4,8,8] and weights f32[2,3,3,3]: 4 channels must be 1 groups of the 3 that the weights take
#include "atled/ops/conv.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto w) { return conv(slice_in_dim(x, 0, 3, 1, 1), w); };
#else
constexpr auto f = [](auto x, auto w) { return conv(x, w); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 1, 4, 8, 8>, tensor<f32, 2, 3, 3, 3>>) >
              0);
