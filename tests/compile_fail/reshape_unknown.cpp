// expect-error: reshape_unknown.cpp:10: reshape: f32[8,16] to [3,-1]: 128 elements must be divisible by 3
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return reshape(x, {4, -1}); };
#else
constexpr auto f = [](auto x) { return reshape(x, {3, -1}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
