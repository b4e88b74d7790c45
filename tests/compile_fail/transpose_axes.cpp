// expect-error: transpose_axes.cpp:10: transpose: f32[8,16]: axis 1 is given twice: each axis once
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return transpose(x, {1, 0}); };
#else
constexpr auto f = [](auto x) { return transpose(x, {1, 1}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
