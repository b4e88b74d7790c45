// expect-error: slice_range.cpp:10: slice_in_dim: f32[8,16]: axis 0 from 2 to 9 in steps of 1: it must go up from 0 or more to 8 or less
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return slice_in_dim(x, 2, 8); };
#else
constexpr auto f = [](auto x) { return slice_in_dim(x, 2, 9); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
