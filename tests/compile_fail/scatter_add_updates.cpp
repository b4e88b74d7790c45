// expect-error: scatter_add_updates.cpp:10: scatter_add: f32[8,16] with updates f32[8,16] at indices i32[3]: updates must be f32[3,16]
#include "atled/ops/index.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x, auto i) { return scatter_add(x, i, take(x, i, 0)); };
#else
constexpr auto f = [](auto x, auto i) { return scatter_add(x, i, x); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>, tensor<i32, 3>>) > 0);
