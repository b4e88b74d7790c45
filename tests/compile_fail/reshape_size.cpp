// expect-error: reshape_size.cpp:10: reshape: f32[8,16] to f32[4,4]: 128 elements must equal 16
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return reshape<4, 32>(x); };
#else
constexpr auto f = [](auto x) { return reshape<4, 4>(x); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
