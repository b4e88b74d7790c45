// expect-error: ops_broadcast.cpp:10: add: f32[8,16] and f32[8]: axis 1 (16) against 8: sizes must be equal or 1; reshape the second to f32[8,1]
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return x + expand_dims(y, 1); };
#else
constexpr auto f = [](auto x, auto y) { return x + y; };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 8>>) > 0);
