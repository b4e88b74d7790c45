// expect-error: broadcast_to_size.cpp:10: broadcast_to: f32[8,16] to [4,16]: axis 0 (8) must be 1 or 4
#include "atled/ops/reshape.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return broadcast_to(x, {4, 8, 16}); };
#else
constexpr auto f = [](auto x) { return broadcast_to(x, {4, 16}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
