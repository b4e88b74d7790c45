// expect-error: reduce_axis.cpp:10: sum: f32[8,16] along axis 2: the axis must be from -2 to 1
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return sum(x, 1); };
#else
constexpr auto f = [](auto x) { return sum(x, 2); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 8, 16>>) > 0);
