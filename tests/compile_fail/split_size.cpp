// expect-error: split_size.cpp:10: split: f32[8,16]: axis 1 (16) must be divisible by 3
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return split<4>(x, 1); };
#else
constexpr auto f = [](auto x) { return split<3>(x, 1); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
