// expect-error: reduce_nothing.cpp:10: max: f32[0,3]: the reduced axes hold no element, and a maximum of nothing is undefined
#include "atled/ops/reduce.hpp"
#include "atled/transform/jit.hpp"

using namespace atled;

#ifdef ATLED_FIXED
constexpr auto f = [](auto x) { return sum(x, axis<0>); };
#else
constexpr auto f = [](auto x) { return max(x, axis<0>); };
#endif
static_assert(sizeof(decltype(jit(f))::program<tensor<f32, 0, 3>>) > 0);
