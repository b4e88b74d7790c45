// expect-error: dynamic_slice_window.cpp:10: dynamic_slice: f32[8,16] with a window [9,16]: axis 0 (8) must hold 9
#include "atled/ops/dynamic_slice.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto i) { return dynamic_slice(x, {i, 0}, {2, 16}); };
#else
constexpr auto f = [](auto x, auto i) { return dynamic_slice(x, {i, 0}, {9, 16}); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, i32>) > 0);
