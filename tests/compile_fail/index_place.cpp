// expect-error: index_place.cpp:10: index: f32[4,3] at 3 of axis 1: the place must be from -3 to 2
#include "atled/ops/indexing.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return x(0, 2); };
#else
constexpr auto f = [](auto x) { return x(0, 3); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 4, 3>>) > 0);
