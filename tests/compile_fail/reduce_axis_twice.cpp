// expect-error: reduce_axis_twice.cpp:10: mean: f32[8,16]: axis 1 is given twice: each axis once
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return mean(x, {0, 1}); };
#else
constexpr auto f = [](auto x) { return mean(x, {1, -1}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
