// expect-error: take_indices.cpp:11: take: indices f32[3]: they must be integers
#include "atled/ops/elementwise.hpp"
#include "atled/ops/index.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto i) { return take(x, astype<i32>(i), 0); };
#else
constexpr auto f = [](auto x, auto i) { return take(x, i, 0); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<f32, 3>>) > 0);
