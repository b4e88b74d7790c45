// expect-error: concatenate_shapes.cpp:10: concatenate: f32[8,16] and f32[8,4]: all but axis 0 must be equal
#include "atled/ops/slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto y) { return concatenate({x, y}, 1); };
#else
constexpr auto f = [](auto x, auto y) { return concatenate({x, y}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 8, 4>>) > 0);
